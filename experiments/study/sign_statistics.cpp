#include "experiments/study/sign_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::experiments {
namespace {

/// Mean of the numbers that are not NaN.
class Mean {
 public:
  void add(double number) {
    if (std::isnan(number)) return;
    sum_ += number;
    ++count_;
  }
  double value() const { return sum_ / count_; }

 private:
  double sum_ = 0, count_ = 0;
};

/// Returns the sign changes of one step, over all elements; NaN in the first step.
double changes_of(const sim::GradientTrace& trace, Index step) {
  const std::vector<double> shares = trace.numbers_of_tensors("sign_changes", step);
  double changes = 0, elements = 0;
  for (std::size_t t = 0; t < shares.size(); ++t) {
    const auto size = static_cast<double>(trace.tensor_sizes()[t]);
    if (size == 0) continue;
    changes += size * shares[t];
    elements += size;
  }
  return changes / elements;
}

/// Returns the error of a sign codec on one step's gradient: sqrt(1 - sum(l1^2 / size) / sum(l2^2)), over the tensors.
double error_of(const sim::GradientTrace& trace, Index step) {
  const std::vector<double> l1 = trace.numbers_of_tensors("gradient_l1", step);
  const std::vector<double> squares = trace.numbers_of_tensors("gradient_squares", step);
  double kept = 0, all = 0;
  for (std::size_t t = 0; t < l1.size(); ++t) {
    const auto size = static_cast<double>(trace.tensor_sizes()[t]);
    if (size == 0) continue;
    kept += l1[t] * l1[t] / size;
    all += squares[t];
  }
  const double left = 1 - kept / all;
  return left < 0 ? 0 : std::sqrt(left);  // below 0 only by rounding
}

}  // namespace

std::optional<SignStatistics> sign_statistics(const sim::GradientTrace& trace) {
  if (!trace.compact()) return {};
  const bool any =
      !trace.numbers_of_tensors("sign_changes", 0).empty() || !trace.numbers_of_tensors("gradient_l1", 0).empty();
  if (!any) return {};
  Mean changes, error;
  for (Index step = 0; step < trace.steps(); ++step) {
    changes.add(changes_of(trace, step));
    error.add(error_of(trace, step));
  }
  return SignStatistics{changes.value(), error.value()};
}

}  // namespace onebit::experiments
