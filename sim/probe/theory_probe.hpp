#pragma once
// Measures the quantities of the theory: gradients without their noise, the noise, curvature, and the effect of
// freezing the variance. Computes its own gradients, two before a step and one after it (more for the curvature), and
// does not change the run.

#include "device/comm/dense_sum.hpp"
#include "sim/cluster/replica.hpp"
#include "sim/log/schema.hpp"
#include "sim/run/config.hpp"

namespace onebit::sim {

/// The probe of one device. Its results are the same on every device; its calls are collective.
///
/// Gradients are those of the workers' mean training loss at the weights x before the step (the mean weights, if
/// workers have their own). They are computed twice: from the step's own examples, and from an equal number of further
/// examples.
class TheoryProbe {
 public:
  /// Makes the probe's buffers. group: number of workers whose gradients are held at the same time.
  TheoryProbe(const RunConfig& config, const Replica& replica, std::shared_ptr<const DataSource> data, Index group);

  bool due(Index step) const { return step % config_.probe.every == 0; }

  /// Computes the gradients at x; called before the step.
  void before(Replica& replica, Index step);
  /// Measures and returns the row; called after the step.
  ProbeRow after(Replica& replica, Index step);

  void visit_state(device::StateVisitor& visitor);

 private:
  using Floats = device::Buffer<float>;
  void set_point(const Replica& replica, Floats& point) const;
  void pass(Replica& replica, Index step, Range group, const Floats& point, Index first_part, Floats& rows);
  void mean_gradient(Replica& replica, Index step, const Floats& point, Floats& mean);
  void measure_noise(const Replica& replica, const std::vector<double>& own, ProbeRow& row) const;
  void measure_gradient(const optim::StateView& state, ProbeRow& row) const;
  void measure_path(Replica& replica, Index step, ProbeRow& row);
  double largest_curvature(Replica& replica, Index step);
  void measure_variance(const optim::StateView& state, ProbeRow& row);
  double norm(const Floats& values) const;
  double distance(const Floats& a, const Floats& b) const;
  template <class Term>
  std::vector<double> sums_of(Index rows, const Term& term) const;

  RunConfig config_;
  std::shared_ptr<const DataSource> data_;
  device::Shard shard_;
  Index parameters_, group_;
  device::Chunks whole_;
  device::DenseSum first_sum_, second_sum_;
  Floats second_rows_;             ///< second gradients, [workers of a group][parameters]
  Floats point_, first_, second_;  ///< x, and the two mean gradients at x
  Floats moved_point_, scratch_;   ///< another point, and the gradient there
  std::vector<double> pairs_;      ///< sums of GradientPairTerm, for this device's workers
  Floats old_variance_;            ///< variance at the previous probe
  double old_correction_ = 0;      ///< bias correction of its square root; 0 before the first probe
};

}  // namespace onebit::sim
