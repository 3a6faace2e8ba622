#pragma once
// The optimizer of N workers. Gradient rows come in groups and are consumed in place; finish() runs the exchange,
// updates the parameters, and reports what happened.

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compress/channels/compressed_mean.hpp"
#include "device/comm/state.hpp"
#include "device/launch/event.hpp"
#include "device/memory/buffer.hpp"
#include "device/memory/future.hpp"
#include "netmodel/wire/traffic.hpp"
#include "optim/config.hpp"

namespace onebit::optim {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// The phase that a step belongs to. The log's phase column contains these numbers.
enum class Phase : int { dense = 0, warmup = 1, compression = 2, dry_run = 3, local = 4 };

std::string_view name(Phase phase);

/// An event, which becomes a row of /events in the log.
struct Event {
  std::string kind;
  std::string text;
};

/// Time that the parts of an optimizer's step took on this device.
struct StageSeconds {
  device::Seconds encode = 0;    ///< time at workers: error feedback and compression, or the dense sum over workers
  device::Seconds exchange = 0;  ///< time for moving bytes between devices
  device::Seconds server = 0;    ///< time at servers: mean, second compression, and decoding unless the update does it
  device::Seconds update = 0;    ///< time for updating the parameters
  double codec() const { return encode + exchange + server; }
};

struct StepReport {
  Phase phase = Phase::dense;
  netmodel::TrafficList traffic;
  device::Number grad_norm = kNotMeasured;  ///< norm of the mean gradient; in compressed steps, the root mean square of
                                            ///< the workers' norms, if clipping computes them
  device::Number clip_share = 0.0;          ///< share of gradients that were clipped; 0 or 1 in dense steps
  device::Number update_norm = kNotMeasured;  ///< ||x_t - x_{t-1}||_2; local weights: root mean square over workers
  Stability stability;                        ///< stability of ||v||_1; NaN unless v was updated in this step and in
                                              ///< each of the `lag` steps before it
  bool synchronised = true;                   ///< whether all workers have the same weights now
  double uploads = kNotMeasured;              ///< CADA: share of the workers that sent their gradient
  Index masked = 0;                           ///< number of coordinates with v = 0 at the freeze
  StageSeconds seconds;
  std::vector<Event> events;
};

/// Numbers that an optimizer logs for each tensor; empty if it has none.
struct TensorNumbers {
  std::vector<double> trust_ratio;          ///< LAMB: ||x|| / ||update||, clamped; 1-bit LAMB: the coefficient used
  std::vector<double> frozen_coefficient;   ///< 1-bit LAMB: c_avg
  std::vector<double> coefficient_factor;   ///< 1-bit LAMB: r
  std::vector<double> scaling_coefficient;  ///< 1-bit LAMB: a_l
};

/// Denominator by which an update divides the momentum: d = sqrt(v) * correction + eps.
struct Denominator {
  const device::Buffer<float>* variance = nullptr;  ///< variance [parameters]; null if the workers share none, or
                                                    ///< the optimizer does not report it (0/1 Adam, CADA)
  float correction = 1;
  float eps = 0;
};

/// Read-only view of the state for probes. Members are null or empty if an optimizer has no such state.
struct StateView {
  /// Momentum [parameters]; if workers have different ones, a row for each worker of this device.
  const device::Buffer<float>* momentum = nullptr;
  const device::Buffer<float>* variance = nullptr;
  const compress::CompressedMean* exchange = nullptr;  ///< null until it is made
  bool exchanged = false;                              ///< whether the last step went through `exchange`
  const TensorNumbers* tensors = nullptr;
  Denominator denominator = {};  ///< denominator of the last update
  /// Denominator that the last update would have had if the variance had never been frozen; before the freeze, equal to
  /// `denominator`. Its variance is null if it is unknown, as for 0/1 Adam and its twin.
  Denominator shadow = {};
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Starts a step (1, 2, ...) with its learning rate.
  void begin(Index step, double lr);
  /// A second point at which an optimizer needs gradients on the same samples; `data` is null if this step needs none.
  /// The weights of this device's worker w are at data + w * stride.
  struct Point {
    const float* data = nullptr;
    Index stride = 0;
  };
  virtual bool wants_extra_gradients() const { return false; }
  virtual Point extra_point() const { return {}; }
  /// Takes the gradients at the extra point. Called right before absorb() for the same group.
  virtual void absorb_extra(Range, const float*, Index) {}

  /// Whether every worker has its own weights: `parameters` are then [workers of this device][P], otherwise [P].
  virtual bool local_weights() const { return false; }

  /// Consumes the gradients of a group of this device's workers; row g is at gradients + g * stride. Groups come in
  /// worker order.
  void absorb(Range group, const float* gradients, Index stride);
  /// Runs the exchange and updates `parameters`. Collective.
  StepReport finish(device::Buffer<float>& parameters);

  /// Waits for the last step. Throws NumericError if a vector was not finite and could not be exchanged; the parameters
  /// are then meaningless. The message names the worker and the tensor, or states that the vector is a server's mean.
  void require_finite() const;

  virtual StateView state() const = 0;

  /// Visits everything that the next step depends on. Called between two steps.
  virtual void visit_state(device::StateVisitor& visitor) = 0;

  /// Returns why a finished run did not do what its options required; empty if it did.
  virtual std::string failed_expectation() const { return ""; }

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

/// The codecs that an optimizer accepts.
enum class Codecs { any, its_own, none };

/// Number of steps of one kind. Steps are of the same kind if they belong to the same phase and either all synchronise
/// (StepReport::synchronised) or all do not. They have the same exchanges.
struct StepCount {
  Phase phase = Phase::dense;
  bool synchronised = true;
  Index steps = 0;
};

/// An optimizer's own schedule, which determines what each step of a run exchanges.
struct StepSchedule {
  /// Counts the steps of each kind in a run of `steps` steps. The kinds are in the order of their first steps. Takes
  /// time proportional to `steps`. Throws ConfigError for a hyper-parameter out of range.
  std::vector<StepCount> (*count)(const OptimizerConfig& config, Index steps);
  /// Returns the length of a run in which the given share of the steps (above 0) comes before the freeze of the
  /// variance. For a schedule without a freeze, returns the length of one period.
  Index (*usual_steps)(const OptimizerConfig& config, double share);
};

struct OptimizerEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Optimizer> (*make)(const Problem&, const OptimizerConfig&);
  std::string_view codec = "";  ///< its own default codec; empty: the general default
  Codecs codecs = Codecs::any;
  const StepSchedule* schedule = nullptr;  ///< null: what a step exchanges depends on its phase alone
};

const std::vector<OptimizerEntry>& optimizers();

/// Returns the schedule of an optimizer; null if it has none, or for an unknown name.
const StepSchedule* schedule_of(std::string_view optimizer);

/// Name of the codec that the configured optimizer uses: the optimizer's own default, if it has one and if either no
/// other codec is allowed (Codecs::its_own) or the user chose none; otherwise exchange.up.name. chosen: whether the
/// user set the codec.
std::string codec_of(const OptimizerConfig& config, bool chosen);

/// The codecs that the configured optimizer accepts. its_own: codecs, feedback and channel are part of the algorithm;
/// none: it compresses nothing.
Codecs codecs_of(const OptimizerConfig& config);

/// Makes an optimizer. Throws ConfigError for an unknown name (listing the nearest ones) or a hyper-parameter out of
/// range.
std::unique_ptr<Optimizer> make_optimizer(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
