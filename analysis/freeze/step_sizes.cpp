#include "analysis/freeze/step_sizes.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/log/log_options.hpp"
#include "analysis/log/loss_window.hpp"
#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Returns the rows of /tensors after checking that each has a value per tensor.
std::vector<sim::TensorRow> wide_rows(const sim::LogReader& log) {
  std::vector<sim::TensorRow> rows = log.tensors();
  const std::size_t tensors = log.header().tensors.size();
  const bool wide = std::ranges::all_of(rows, [&](const sim::TensorRow& row) {
    return row.momentum_l2.size() == tensors && row.least_denominator.size() == tensors &&
           row.low_denominator.size() == tensors && row.median_denominator.size() == tensors;
  });
  if (!wide)
    throw IoError("cannot read log: rows of /tensors do not have one value per tensor", log.path(),
                  "it may be damaged: train the run again");
  return rows;
}

/// Returns the root mean square of the momenta that share a tensor's scale.
double scale_of(const sim::TensorRow& row, const std::vector<compress::Tensor>& tensors, std::size_t tensor,
                bool fused) {
  if (!fused) return row.momentum_l2[tensor] / std::sqrt(static_cast<double>(tensors[tensor].size));
  double squares = 0, count = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    squares += row.momentum_l2[t] * row.momentum_l2[t];
    count += static_cast<double>(tensors[t].size);
  }
  return std::sqrt(squares / count);
}

}  // namespace

StepSizes view_step_sizes(const sim::LogReader& log) {
  if (!log.header().per_tensor)
    throw ConfigError("the log has no rows of /tensors", log.path(), "log runs with --log.tensors-every K");
  const std::vector<sim::TensorRow> rows = wide_rows(log);
  const std::vector<compress::Tensor>& tensors = log.header().tensors;
  const Index freeze = freeze_step_of(log.events());
  const bool fused = option_of(log.header(), "optimizer.granularity") == "fused";
  StepSizes sizes;
  for (const compress::Tensor& tensor : tensors) sizes.tensors.push_back({tensor.name, tensor.size, {}, {}, {}});
  bool known = false;
  for (const sim::TensorRow& row : rows) {
    if (freeze == 0 || row.step <= freeze) sizes.freeze_row = sizes.steps.size();
    sizes.steps.push_back(row.step);
    double longest = nan;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const double scale = scale_of(row, tensors, t, fused);
      sizes.tensors[t].longest.push_back(scale / row.least_denominator[t]);
      sizes.tensors[t].high.push_back(scale / row.low_denominator[t]);
      sizes.tensors[t].typical.push_back(scale / row.median_denominator[t]);
      longest = std::fmax(longest, sizes.tensors[t].longest.back());
    }
    sizes.longest.push_back(longest);
    known = known || !std::isnan(longest);
  }
  if (!known) throw ConfigError("the log does not record denominators of tensors", log.path());
  return sizes;
}

CompressionSeries view_compression(const sim::LogReader& log) {
  CompressionSeries series;
  const Index freeze = freeze_step_of(log.events());
  const std::vector<sim::StepRow> rows = log.steps();
  if (freeze == 0 || rows.empty()) return series;
  const auto delta = [](double error) { return 1 - error * error; };
  for (const sim::StepRow& row : rows) {
    if (row.step <= freeze || std::isnan(row.worker_codec_error)) continue;
    series.steps.push_back(row.step);
    series.worker_delta.push_back(delta(row.worker_codec_error));
    series.server_delta.push_back(delta(row.server_codec_error));
    series.error_share.push_back(row.worker_error_norm / row.momentum_norm);
  }
  const LossChange change = loss_change(rows, freeze);
  series.loss_before = change.before;
  series.loss_after = change.at_end;
  return series;
}

}  // namespace onebit::analysis
