#pragma once
// Trains an optimizer on a stream of gradients, one step at a time.

#include <algorithm>
#include <numeric>

#include "device/base/error.hpp"
#include "optim/optimizer.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::tests {

using FloatRows = std::vector<std::vector<float>>;

/// Gradients of a noisy problem: a slowly changing slope for every coordinate, and independent noise for every worker.
struct GradientStream {
  Index workers = 1;
  Index parameters = 1;
  std::uint32_t seed = 1;
  std::vector<Index> silent = {};  ///< coordinates whose gradient is always zero

  FloatRows operator()(Index step) const {
    const std::vector<float> slope = oracle::normals(parameters, seed);
    const std::vector<float> phase = oracle::normals(parameters, seed + 1000);
    FloatRows rows;
    for (Index w = 0; w < workers; ++w) {
      std::vector<float> row = oracle::normals(parameters, seed, step, w + 1);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = 0.5f * row[i] + slope[i] * std::cos(0.05f * static_cast<float>(step) + phase[i]);
      }
      for (const Index i : silent) row[static_cast<std::size_t>(i)] = 0;
      rows.push_back(row);
    }
    return rows;
  }
};

struct TrainingOptions {
  optim::OptimizerConfig config;
  std::vector<Index> tensors = {1};
  Index workers = 1;
  Index total_steps = 1000;
  Index lr_warmup = 0;
  int threads = 1;
  Index group = 0;  ///< workers absorbed at once; 0: all
  std::string backend = "cpu";
};

/// If no codec is chosen, it is the optimizer's own, as on the command line.
inline TrainingOptions with_own_codec(TrainingOptions options) {
  std::string& codec = options.config.exchange.up.name;
  codec = optim::codec_of(options.config, codec != compress::CodecConfig{}.name);
  return options;
}

class Training {
 public:
  Training(const TrainingOptions& training_options, const std::vector<float>& x0)
      : options(with_own_codec(training_options)),
        device(device_of(options.backend, options.threads)),
        optimizer(optim::make_optimizer({device::whole(device, options.workers), compress::unnamed(options.tensors),
                                         options.total_steps, options.lr_warmup},
                                        options.config)),
        columns(static_cast<Index>(x0.size())),
        x(on(device, repeated(x0, optimizer->local_weights() ? options.workers : 1))) {}
  explicit Training(const TrainingOptions& training_options)
      : Training(training_options, std::vector<float>(static_cast<std::size_t>(std::accumulate(
                                       training_options.tensors.begin(), training_options.tensors.end(), Index{0})))) {}

  optim::StepReport step(const FloatRows& gradients) {
    optimizer->begin(++steps, options.config.lr);
    const Index group = options.group > 0 ? options.group : options.workers;
    for (Index first = 0; first < options.workers; first += group) {
      const Index count = std::min(group, options.workers - first);
      std::vector<float> flat;
      for (Index w = first; w < first + count; ++w) {
        const std::vector<float>& row = gradients[static_cast<std::size_t>(w)];
        flat.insert(flat.end(), row.begin(), row.end());
      }
      const device::Buffer<float> rows = on(device, flat);
      if (optimizer->extra_point().data != nullptr) optimizer->absorb_extra({first, count}, rows.data(), columns);
      optimizer->absorb({first, count}, rows.data(), columns);
    }
    return optimizer->finish(x);
  }

  /// Returns the parameters of worker 0.
  std::vector<float> parameters() const {
    std::vector<float> all = x.to_host();
    all.resize(static_cast<std::size_t>(columns));
    return all;
  }
  /// Returns the parameters of every worker, one after the other, if they have their own.
  std::vector<float> all_parameters() const { return x.to_host(); }

  TrainingOptions options;
  device::Device device;
  std::unique_ptr<optim::Optimizer> optimizer;
  Index columns;
  device::Buffer<float> x;
  Index steps = 0;

 private:
  static std::vector<float> repeated(const std::vector<float>& row, Index rows) {
    std::vector<float> all;
    for (Index r = 0; r < rows; ++r) all.insert(all.end(), row.begin(), row.end());
    return all;
  }
};

inline oracle::Rows wide(const FloatRows& rows) {
  oracle::Rows result;
  for (const std::vector<float>& row : rows) result.emplace_back(row.begin(), row.end());
  return result;
}

/// Returns the largest relative difference, over `steps` steps, of the displacement from x0 to an oracle's.
template <class Oracle>
double worst_displacement(Training& training, Oracle& oracle, const GradientStream& gradients, Index steps) {
  const std::vector<float> x0 = training.parameters();
  double worst = 0;
  for (Index step = 1; step <= steps; ++step) {
    const FloatRows rows = gradients(step);
    training.step(rows);
    oracle.step(training.options.config.lr, wide(rows));
    const double moved = oracle::distance(oracle.x, x0);
    const double difference = oracle::distance(training.parameters(), oracle.x);
    if (moved == 0 && difference == 0) continue;
    worst = std::max(worst, std::isfinite(difference) ? difference / moved : 1e9);
  }
  return worst;
}

/// Returns the message of the ConfigError that an action must throw.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace onebit::tests
