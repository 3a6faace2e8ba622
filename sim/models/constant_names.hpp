#pragma once

#include <string_view>

#include "sim/models/constants.hpp"

namespace onebit::sim {

/// A constant and its name in logs and summaries.
struct NamedConstant {
  std::string_view name;
  double Constants::*value;
};
inline constexpr NamedConstant kConstants[] = {{"smoothness", &Constants::smoothness},
                                               {"convexity", &Constants::convexity},
                                               {"noise", &Constants::noise},
                                               {"heterogeneity", &Constants::heterogeneity},
                                               {"optimum_loss", &Constants::optimum_loss}};

}  // namespace onebit::sim
