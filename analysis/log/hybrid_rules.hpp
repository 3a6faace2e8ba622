#pragma once
// Rules for pricing a step with embedding tables.

#include <string>

#include "netmodel/step/tables.hpp"

namespace onebit::analysis {

/// Value of HybridRules::codec if nothing is compressed at the boundary.
inline constexpr const char* kNoCodec = "fp32";

struct HybridRules {
  netmodel::TableSplit split = netmodel::TableSplit::table_wise;
  /// Codec of pooled embeddings and their gradients: fp32 (none), dct-mp (DCT's thresholding for model parallelism:
  /// gradients are sent only for the values that were sent, without indices), or one of compress::codecs().
  std::string codec = kNoCodec;
  double density = 0.05;   ///< dct-mp and sparse codecs: share of the values that are sent
  double value_bytes = 4;  ///< dct-mp: bytes of a value
  /// Assumed factors by which the bytes of the tables' exchanges (model_ratio) and of the optimizer's exchanges
  /// (data_ratio) are divided. This saving is assumed to cost nothing.
  double model_ratio = 1, data_ratio = 1;
  /// Whether dense Adam, the baseline of the jobs, uses the same codec and model_ratio; if not, dense Adam sends its
  /// embeddings uncompressed.
  bool same_boundary = false;
};

}  // namespace onebit::analysis
