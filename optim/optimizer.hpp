#pragma once
// The optimizer over N workers. Gradient rows come in groups and are consumed where they were made; finish() exchanges,
// updates the parameters, and reports what happened.

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compress/channel.hpp"
#include "device/buffer.hpp"
#include "netmodel/traffic.hpp"
#include "optim/freeze.hpp"

namespace onebit::optim {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// `paper`: the published algorithm in its sane variant (DESIGN 6). `deepspeed`: the released code with its quirks.
enum class Semantics { paper, deepspeed };

/// Which stage a step belongs to. Numbers are what the log's phase column holds.
enum class Phase : int { dense = 0, warmup = 1, compression = 2, dry_run = 3 };

std::string_view name(Phase phase);

/// Hyper-parameters as the user gave them; an optimizer uses every one that its table row names.
struct OptimizerConfig {
  std::string name = "adam";
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;      ///< decoupled
  bool bias_correction = true;  ///< paper semantics; the released code has none
  double clip = 0;              ///< global gradient norm; 0: no clipping
  Semantics semantics = Semantics::paper;
  compress::Granularity granularity = compress::Granularity::tensor;
  std::string codec = "sign-l2";
  std::string codec_down;  ///< empty: as codec
  bool error_feedback = true;
  FreezeConfig freeze;
};

/// What an optimizer is made for. With several devices each has an optimizer of its own, which holds the rows of its
/// workers and a copy of what all workers share; their channels are collective.
struct Problem {
  device::Shard shard;
  std::vector<Index> tensor_sizes;
  Index total_steps = 1;
  Index lr_warmup = 0;  ///< steps of learning-rate warm-up
};

/// Something worth a line in the log.
struct Event {
  std::string kind;
  std::string text;
};

/// Where the time of an optimizer's step went, on this device.
struct StageSeconds {
  double encode = 0;    ///< workers: feedback and compression, or the dense sum over them
  double exchange = 0;  ///< moving bytes between devices
  double server = 0;    ///< mean, second compression, decoding
  double update = 0;    ///< of the parameters
  double codec() const { return encode + exchange + server; }
};

struct StepReport {
  Phase phase = Phase::dense;
  netmodel::TrafficList traffic;
  double grad_norm = kNotMeasured;    ///< of the mean gradient; compressed steps: root mean square over workers, where
                                      ///< clipping needs it
  double clip_share = 0;              ///< share of the clipped gradients: 0 or 1 in dense steps
  double update_norm = kNotMeasured;  ///< ||x_t - x_{t-1}||_2
  double variance_ratio = kNotMeasured;  ///< StabilityRatio of ||v||_1
  Index masked = 0;                      ///< coordinates with v = 0 at the freeze
  StageSeconds seconds;
  std::vector<Event> events;
};

/// Read-only view of the state for probes; null or empty where an optimizer has none.
struct StateView {
  const device::Buffer<float>* momentum = nullptr;       ///< [parameters]
  const device::Buffer<float>* variance = nullptr;       ///< [parameters]
  const device::Buffer<float>* worker_errors = nullptr;  ///< [workers of this device][error_stride]
  Index error_stride = 0;
  const device::Buffer<float>* server_error = nullptr;  ///< chunks of this device's servers
  const compress::ServerMean* channel = nullptr;        ///< of the compressed exchange, once it is used
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Starts step 1, 2, ... with a learning rate.
  void begin(Index step, double lr);
  /// Consumes the gradients of a group of this device's workers; row g at gradients + g * stride. Groups come in worker
  /// order.
  void absorb(Range group, const float* gradients, Index stride);
  /// Exchanges and updates `parameters` [P]. Collective.
  StepReport finish(device::Buffer<float>& parameters);

  virtual StateView state() const = 0;

  /// Whether the run, now over, did what its name promises; a text that says why not, or empty.
  virtual std::string unfulfilled() const { return ""; }

 protected:
  virtual void do_begin() {}
  virtual void do_absorb(Range group, const float* gradients, Index stride) = 0;
  virtual StepReport do_finish(device::Buffer<float>& parameters) = 0;

  Index step() const { return step_; }
  double lr() const { return lr_; }

 private:
  Index step_ = 0;
  double lr_ = 0;
};

struct OptimizerEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Optimizer> (*make)(const Problem&, const OptimizerConfig&);
};

const std::vector<OptimizerEntry>& optimizers();

/// Throws ConfigError for an unknown name (with the nearest ones) or a hyper-parameter out of range.
std::unique_ptr<Optimizer> make_optimizer(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
