#include <algorithm>

#include "sim/data/worker_split.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// A rule, up to the first control character; the rest are labels.
ONEBIT_FUZZ(split, input) {
  const Index workers = 1 + input.byte() % 8;
  const sim::Bytes file = input.file();
  const auto end = std::find_if(file.text().begin(), file.text().end(), [](unsigned char c) { return c < ' '; });
  const std::string rule(file.text().begin(), end);
  const auto labels = file.view().subspan(rule.size());
  std::vector<std::int32_t> classes(labels.data(), labels.data() + labels.size());
  for (std::int32_t& label : classes) label %= 3;
  const auto train = static_cast<Index>(classes.size());
  if (train == 0) return;
  const sim::WorkerSplit split = sim::split_among(rule, workers, train, classes);
  Index sum = 0;
  for (Index w = 0; w < workers; ++w) {
    const Index example = split.draw({}, {.worker = w}, train);
    fuzz::require(example >= 0 && example < train);
    fuzz::require((split.size(w) > 0) == (rule != "iid"));
    sum += split.size(w);
  }
  fuzz::require(rule == "iid" || sum == train);
}
