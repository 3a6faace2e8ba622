#pragma once
// Options for what the workers send each other in model parallelism.

#include <string>

#include "compress/channels/exchange_config.hpp"

namespace onebit::sim {

/// How activations and their gradients cross a boundary between workers.
struct BoundaryConfig {
  /// A codec; `fp32` means no compression. `dct-mp` is DCT's model-parallel compressor (Gupta et al. 2021): it selects
  /// the codec dct, with a threshold that is renewed in every step by default, and backward = mask (backward = dense at
  /// a boundary where no gradients return).
  compress::CodecConfig codec = {.name = "fp32", .k = 0.05, .renew = 1, .options = "boundary"};
  std::string scope = "batch";     ///< what shares a scale or a threshold: batch | sample | neuron
  std::string forward = "codec";   ///< activations: codec | dense
  std::string backward = "codec";  ///< gradients: codec | mask (only of values that were sent forward) | dense

  bool compresses() const { return codec.name != "fp32"; }
};

inline constexpr double kTableRate = 1, kAdagradRate = 0.01;

/// How the embedding tables of a model are divided and trained.
struct TablesConfig {
  Index width = 0;                ///< numbers per row; 0: the model's default
  std::string split = "table";    ///< table | row | column
  std::string optimizer = "sgd";  ///< sgd | adagrad (row-wise)
  /// Learning rate before the schedule. 0: the run's learning rate if the run's optimizer is a form of SGD. Rates of
  /// other optimizers are on a different scale; with these, 0 means kTableRate (sgd) or kAdagradRate (adagrad).
  double lr = 0;
  double eps = 1e-8;   ///< adagrad: added to the square root
  Index capacity = 0;  ///< bytes of tables that a worker can hold; 0: no limit
};

}  // namespace onebit::sim
