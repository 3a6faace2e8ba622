#pragma once
// A run compared with the theory of 1-bit Adam and of error feedback: constants measured by its probes, and both sides
// of the bounds.

#include <limits>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// A constant as measured over a run; NaN if the log lacks it. `known` is the model's exact value (docs/convex.md).
struct Measured {
  double value = std::numeric_limits<double>::quiet_NaN();
  double least = std::numeric_limits<double>::quiet_NaN();
  double most = std::numeric_limits<double>::quiet_NaN();
  double known = std::numeric_limits<double>::quiet_NaN();
};

struct TheoryConstants {
  Measured path_smoothness;  ///< L along the path; value: the largest
  Measured smoothness;       ///< L by power iteration; value: the largest
  Measured noise;            ///< sigma of a worker's gradient over its batch; value: root of the mean square
  Measured heterogeneity;    ///< zeta between workers; value: root of the mean square, 0 if the estimate is negative
  Measured worker_delta;     ///< 1 - (||y - C[y]|| / ||y||)^2 on the run's own vectors; value: the mean
  Measured server_delta;
  Measured worker_error;  ///< root mean square over workers of ||e_w||; value: the largest
  Measured server_error;  ///< ||e||; value: the largest
  Measured least_denominator;
  double epsilon =
      std::numeric_limits<double>::quiet_NaN();  ///< twice the largest error norm of any worker or the servers; NaN
                                                 ///< without the workers' norms (log.workers-every)
};

/// Both sides of Theorem 1 of 1-bit Adam up to a step of the compression stage, as secondary sources state it. In it,
/// g is the learning rate, b beta1, e epsilon, s sigma, n the number of workers, T the number of steps since the
/// freeze, and v stands for the denominators d = sqrt(v) + eps of the update:
///   (1 - g L/v - 2 g^2 L^2/((1-b)^2 v^2)) sum ||grad f||_V^2
///     <= 2 (f(x0) - f*)/g + 6 g^2 L^2 e^2 T/((1-b)^2 v^3) + L g s^2 T/(n v) + 2 g^2 L^2 s^2 T/(n (1-b)^2 v^2)
/// The constants 6, 2, 2 and the powers of v in the noise terms are uncertain, so both sides are reported without a
/// verdict.
struct BoundRow {
  Index step = 0;
  double factor = 0;  ///< factor of the sum on the left; if not positive, the learning rate is too high for the theorem
  double left = 0;    ///< factor times the sum of the scaled squared gradients since the freeze
  double start = 0;   ///< 2 (f(x0) - f*)/g
  double errors = 0;  ///< the term with epsilon
  double noise = 0;   ///< L g s^2 T/(n v)
  double momentum = 0;  ///< 2 g^2 L^2 s^2 T/(n (1-b)^2 v^2)
  double right() const { return start + errors + noise + momentum; }
};

/// Error feedback's bound E||e||^2 <= 4 (1 - delta) G^2 / delta^2 (Karimireddy et al. 2019, Lemma 3; G^2 is the mean
/// square of the input), in the units of the exchanged vectors. It applies to workers if the optimizer feeds their own
/// gradients into the exchange and delta is in (0, 1]; otherwise the values are NaN. It does not apply to a momentum
/// that went through a codec, because such a momentum contains the codec's errors.
struct ErrorBound {
  double error_square = std::numeric_limits<double>::quiet_NaN();  ///< largest mean square of the errors over workers
  double bound = std::numeric_limits<double>::quiet_NaN();
  double delta = std::numeric_limits<double>::quiet_NaN();         ///< smallest measured delta
  double input_square = std::numeric_limits<double>::quiet_NaN();  ///< largest measured G^2
};

/// Largest violation of error feedback's telescoping identity over all probes, as ||residual|| / ||inputs plus old
/// errors||.
struct Telescoping {
  double worst = std::numeric_limits<double>::quiet_NaN();
  Index step = 0;
  Index probes = 0;
};

struct TheoryView {
  TheoryConstants constants;
  std::vector<BoundRow> bound;  ///< one row per probe of the compression stage
  ErrorBound error;
  Telescoping telescoping;
};

/// Evaluates the theory on a run. Throws ConfigError if the log has no probes, IoError as the reader does.
TheoryView view_theory(const sim::LogReader& log);

}  // namespace onebit::analysis
