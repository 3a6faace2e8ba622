#include "sim/data/clicks/clicks.hpp"

#include <cstddef>
#include <utility>

#include "device/base/text.hpp"
#include "sim/data/clicks/ceiling.hpp"
#include "sim/data/clicks/click_rows.hpp"
#include "sim/data/clicks/streams.hpp"
#include "sim/data/clicks/teacher.hpp"
#include "sim/data/split.hpp"

namespace onebit::sim {
namespace {

constexpr double most_zipf = 3.0;

/// Draws all examples. Returns their logits.
std::vector<double> fill(ClickRows& rows, const DataConfig& config) {
  ClickDraws draws(rows.features(), rows.tables(), config.zipf, config.drift);
  const ClickTeacher teacher(draws);
  std::vector<double> logits;
  Index day = 0;
  for (Index example = 0; example < config.examples; ++example) {
    for (; config.drift > 0.0 && day < example * click_days / config.examples; ++day) draws.next_day();
    draws.draw(example, rows.features(example), rows.bags(example));
    const double logit = teacher.logit(rows.features(example), rows.bags(example));
    const auto word = device::philox(click_key, {stream_label, 0, example})[0];
    rows.label(example) = word * 0x1p-32 < click_probability(logit) ? 1 : 0;
    logits.push_back(logit);
  }
  return logits;
}

}  // namespace

std::unique_ptr<DataSource> make_clicks(const DataConfig& config) {
  check_range(config.zipf, 0.0, most_zipf, "--data.zipf");
  check_range(config.drift, 0.0, 1.0, "--data.drift");
  ClickRows rows("clicks", config, config.bag == 0 ? 1 : config.bag, ClickDraws::kBytesPerRow);
  const std::vector<double> logits = fill(rows, config);
  DenseExamples examples = rows.examples();
  const Index holdout = holdout_count(config.examples, config.holdout, "examples of clicks");
  const auto first = static_cast<std::size_t>(holdout > 0 ? config.examples - holdout : 0);
  const ClickCeiling ceiling =
      click_ceiling(std::span(logits).subspan(first), std::span(examples.labels).subspan(first));
  examples.facts.ceiling = "ceiling: on the " + std::to_string(logits.size() - first) +
                           (holdout > 0 ? " held-out" : " training") + " examples, the teacher has ";
  examples.facts.ceiling.append(describe(ceiling));
  examples.facts.provenance[0].append("; Zipf exponent ").append(shortest(config.zipf));
  examples.facts.provenance[0].append(", drift ").append(shortest(config.drift));
  examples.facts.provenance.push_back(examples.facts.ceiling);
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
