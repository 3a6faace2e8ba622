#include "experiments/study/expected.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

#include "device/base/csv.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/options/options.hpp"
#include "sim/data/hash.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kWanted = "the file must be a runs.csv of 'onebit compare'";

/// One row of a file, with cells accessed by the names in its header.
class Row {
 public:
  Row(const std::vector<std::string>& header, const std::vector<std::string>& cells, std::string where)
      : header_(header), cells_(cells), where_(std::move(where)) {}

  const std::string& text(const std::string& column) const {
    const auto found = std::ranges::find(header_, column);
    if (found == header_.end()) throw ConfigError("missing column", where_ + ": " + column, kWanted);
    const auto place = static_cast<std::size_t>(found - header_.begin());
    if (place >= cells_.size()) throw ConfigError("row with too few cells", where_, kWanted);
    return cells_[place];
  }

  template <class Number>
  Number number(const std::string& column) const {
    const std::string& digits = text(column);
    Number value{};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size())
      throw ConfigError("not a number", where_ + ": " + column + " " + digits, kWanted);
    return value;
  }

 private:
  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
  std::string where_;
};

ExpectedRun run_of(const Row& row) {
  return {.arm = text_of_csv(row.text("arm")),
          .seed = row.number<std::uint32_t>("seed"),
          .status = row.text("status"),
          .steps = row.number<Index>("steps"),
          .freeze_step = row.number<Index>("freeze_step"),
          .final_loss = row.number<double>("final_loss"),
          .bytes = row.number<double>("bytes_per_worker")};
}

/// Returns whether a rule froze at a slightly different step, as rounding can make it do.
bool moved_freeze(const ExpectedRun& expected, const analysis::Summary& run) {
  constexpr double share = 0.05;
  const Index moved = std::abs(run.freeze_step - expected.freeze_step);
  return moved > 0 && expected.freeze_step > 0 && run.freeze_step > 0 &&
         static_cast<double>(moved) <= share * static_cast<double>(expected.freeze_step);
}

/// Describes a difference that rounding cannot explain; empty if there is none. The step at which a run diverges is
/// a matter of chance and is not compared.
std::string other_run(const ExpectedRun& expected, const analysis::Summary& run) {
  const std::string seed = "seed " + std::to_string(run.seed) + ": ";
  const std::string status = sim::name_of(run.status);
  const auto counted = [&](const std::string& what, Index before, Index now) {
    return seed + what + " " + std::to_string(now) + ", expected " + std::to_string(before);
  };
  if (status != expected.status) return seed + status + ", expected " + expected.status;
  if (run.status == sim::RunStatus::diverged) return "";
  if (run.steps != expected.steps) return counted("steps", expected.steps, run.steps);
  if (moved_freeze(expected, run)) return "";
  if (run.freeze_step != expected.freeze_step) return counted("freeze step", expected.freeze_step, run.freeze_step);
  if (run.bytes != expected.bytes)
    return seed + "bytes " + shortest(run.bytes) + ", expected " + shortest(expected.bytes);
  return "";
}

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

double relative_difference(double expected, double value) {
  if (same_bits(expected, value)) return 0;
  const double difference = std::fabs(value - expected) / std::fabs(expected);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

/// Whether rounding, which training amplifies, can explain how losses differ. It can if the differences are too small
/// to matter, or if they have no consistent sign over the seeds and the mean loss lies within the recorded interval.
/// The mean difference has to lie within three half-widths of its 95% interval around 0: with a single half-width,
/// chance alone would reject one arm in twenty.
bool by_rounding(const ArmAgreement& arm, const std::vector<double>& expected, const std::vector<double>& now) {
  constexpr double negligible = 1e-3;
  if (arm.largest <= negligible) return true;
  const analysis::Difference shift = analysis::paired_difference(expected, now);
  return std::fabs(shift.mean) <= 1.5 * (shift.high - shift.low) &&
         std::fabs(arm.measured.mean - arm.expected.mean) <= arm.expected.half_width;
}

/// Checks an arm's runs one by one.
class ArmCheck {
 public:
  explicit ArmCheck(const std::string& arm) { result_.arm = arm; }

  void add(const ExpectedRun& expected, const analysis::Run& now) {
    const analysis::Summary& run = now.summary;
    differs(other_run(expected, run));
    const bool other_curve = !expected.curve.empty() && expected.curve != curve_of(now.evaluations);
    const bool other_counts =
        expected.steps != run.steps || expected.freeze_step != run.freeze_step || !same_bits(expected.bytes, run.bytes);
    if (other_curve || other_counts || !same_bits(expected.final_loss, run.final_loss)) same_ = false;
    if (std::isnan(expected.final_loss) && std::isnan(run.final_loss)) return;
    before_.push_back(expected.final_loss);
    now_.push_back(run.final_loss);
    result_.largest = std::max(result_.largest, relative_difference(expected.final_loss, run.final_loss));
  }

  /// Records a difference; the first reason counts.
  void differs(const std::string& reason) {
    if (result_.reason.empty()) result_.reason = reason;
  }

  ArmAgreement result() {
    result_.expected = analysis::mean_interval(before_);
    result_.measured = analysis::mean_interval(now_);
    if (!by_rounding(result_, before_, now_))
      differs(std::isfinite(result_.expected.half_width)
                  ? "the losses are shifted by " + percent_text(analysis::paired_difference(before_, now_).mean)
                  : "the loss differs; a single seed cannot show whether rounding alone explains this");
    if (!result_.reason.empty()) {
      result_.agreement = Agreement::differs;
    } else {
      result_.agreement = same_ ? Agreement::same : Agreement::close;
    }
    return result_;
  }

 private:
  ArmAgreement result_;
  std::vector<double> before_, now_;
  bool same_ = true;
};

ArmAgreement agreement(const std::string& arm, const std::vector<ExpectedRun>& expected,
                       const std::vector<analysis::Run>& runs) {
  ArmCheck check(arm);
  std::set<std::uint32_t> recorded;
  for (const ExpectedRun& one : expected) {
    if (one.arm != arm) continue;
    recorded.insert(one.seed);
    const auto seed_of = [](const analysis::Run& run) { return run.summary.seed; };
    const auto found = std::ranges::find(runs, one.seed, seed_of);
    if (found == runs.end()) {
      check.differs("seed " + std::to_string(one.seed) + " was not run");
    } else {
      check.add(one, *found);
    }
  }
  for (const analysis::Run& run : runs) {
    const std::uint32_t seed = run.summary.seed;
    if (!recorded.contains(seed)) check.differs("seed " + std::to_string(seed) + " was not recorded");
  }
  return check.result();
}

}  // namespace

std::string curve_of(const std::vector<sim::EvaluationRow>& evaluations) {
  sim::Fnv1a hash;
  const auto add = [&](double value) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // one bit pattern for all NaNs
    hash.add(&value, sizeof value);
  };
  for (const sim::EvaluationRow& row : evaluations) {
    for (const double value : {static_cast<double>(row.step), row.loss, row.auc}) add(value);
  }
  return hash.hex();
}

ExpectedRun expected_of(const std::string& arm, const analysis::Run& run) {
  const analysis::Summary& summary = run.summary;
  return {.arm = arm,
          .seed = summary.seed,
          .status = sim::name_of(summary.status),
          .steps = summary.steps,
          .freeze_step = summary.freeze_step,
          .final_loss = summary.final_loss,
          .bytes = summary.bytes,
          .curve = curve_of(run.evaluations)};
}

std::vector<ExpectedRun> read_expected(const std::string& path) {
  std::istringstream file(files::read_text(path, "expected runs", kWanted));
  const auto next = [&](std::string& line) {
    if (!std::getline(file, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  };
  std::string line;
  if (!next(line)) throw ConfigError("no runs in the file", path, kWanted);
  const std::vector<std::string> header = split(line, ',');
  std::vector<ExpectedRun> runs;
  for (Index number = 2; next(line); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line, ',');
    runs.push_back(run_of(Row(header, cells, path + ":" + std::to_string(number))));
  }
  if (runs.empty()) throw ConfigError("no runs in the file", path, kWanted);
  return runs;
}

std::vector<ArmAgreement> agreements(const std::vector<ExpectedRun>& expected, const std::vector<analysis::Arm>& arms) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const ExpectedRun& run : expected) add(run.arm);
  for (const analysis::Arm& arm : arms) add(arm.name);
  std::vector<ArmAgreement> result;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(arms, name, &analysis::Arm::name);
    result.push_back(agreement(name, expected, found == arms.end() ? std::vector<analysis::Run>() : found->runs));
  }
  return result;
}

}  // namespace onebit::experiments
