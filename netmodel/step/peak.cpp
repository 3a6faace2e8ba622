#include "netmodel/step/peak.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::netmodel {

double peak_rate(std::string_view gpu) {
  constexpr std::pair<std::string_view, double> peaks[] = {
      {"v100-pcie", 112e12}, {"v100", 125e12}, {"a100", 312e12}, {"h100", 989e12}, {"b200", 2250e12}};
  const auto found = std::ranges::find(peaks, gpu, &std::pair<std::string_view, double>::first);
  if (found == std::end(peaks)) throw ConfigError("no peak rate is known for this GPU", std::string(gpu));
  return found->second;
}

}  // namespace onebit::netmodel
