// What a model of tokens predicts: the next token, the next token at every position, or masked tokens.
#include "sim/data/tokens/objective.hpp"

#include <algorithm>
#include <array>

#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

constexpr Index kContext = 20;
constexpr std::int32_t kMask = 256;

/// Bytes 1, 2, ...: every byte determines the next one.
std::string ramp(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(i + 1);
  return text;
}

std::unique_ptr<DataSource> source_of(const tests::Folder& folder, Target target, std::uint32_t seed = 1) {
  return make_data({.name = "text",
                    .paths = {folder.write("ramp", ramp(250))},
                    .holdout = 0.2,
                    .seed = seed,
                    .context = kContext,
                    .target = target});
}

/// Returns the first token of an example; the ramp determines the others. If it is masked, any token or label that is
/// left determines it.
std::int32_t first_token(const Batch& batch, std::size_t row) {
  for (std::size_t i = 0; i < kContext; ++i) {
    const std::int32_t label = batch.labels[row * kContext + i];
    if (label == kNoLabel) return batch.tokens[row * kContext + i] - static_cast<std::int32_t>(i);
  }
  return kNoLabel;
}

bool same(const Batch& a, const Batch& b) {
  return a.tokens == b.tokens && a.labels == b.labels;
}

}  // namespace

TEST_CASE("objective: causal labels are the tokens that follow") {
  const tests::Folder folder;
  const auto source = source_of(folder, Target::causal), next = source_of(folder, Target::next);
  CHECK(source->targets() == kContext);
  CHECK(source->vocabulary() == 256);
  CHECK(source->train_size() == next->train_size());
  Batch out, last;
  source->sample(3, {2, 4}, 5, out);
  next->sample(3, {2, 4}, 5, last);
  CHECK(out.tokens == last.tokens);
  REQUIRE(out.labels.size() == 20 * kContext);
  for (std::size_t i = 0; i < out.labels.size(); ++i) CHECK(out.labels[i] == out.tokens[i] + 1);
  for (std::size_t row = 0; row < 20; ++row) CHECK(out.labels[row * kContext + kContext - 1] == last.labels[row]);
}

TEST_CASE("objective: fifteen hundredths of an example's tokens are masked, swapped or left, and asked for") {
  const tests::Folder folder;
  const auto source = source_of(folder, Target::masked);
  CHECK(source->targets() == kContext);
  CHECK(source->vocabulary() == 257);
  CHECK(source->classes() == 257);
  Batch out;
  constexpr std::size_t rows = 4000;
  source->sample(3, {0, 4}, rows / 4, out);
  std::array<int, 3> kinds{};  // masked, swapped, unchanged
  std::array<int, kContext> at{};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t first = first_token(out, row);
    Index labels = 0;
    for (std::size_t i = 0; i < kContext; ++i) {
      const std::int32_t token = out.tokens[row * kContext + i], label = out.labels[row * kContext + i];
      const std::int32_t stood = first + static_cast<std::int32_t>(i);
      REQUIRE((label == kNoLabel ? token : label) == stood);
      if (label == kNoLabel) continue;
      ++labels;
      ++at[i];
      ++kinds[token == kMask ? 0 : token == stood ? 2 : 1];
      REQUIRE((token >= 0 && token <= kMask));
    }
    REQUIRE(labels == 3);
  }
  // 12,000 chosen places: four standard deviations are 175 of 9,600, 131 of 1,200 and 91 of 600.
  CHECK(kinds[0] == Approx(9600).margin(175));
  CHECK(kinds[1] == Approx(1200).margin(131));
  CHECK(kinds[2] == Approx(1200).margin(131));
  for (const int count : at) CHECK(count == Approx(600).margin(91));
}

TEST_CASE("objective: a short example has one masked token") {
  for (const Index context : {1, 2, 9, 10}) {
    Batch batch;
    batch.workers = batch.batch = 1;
    batch.targets = context;
    batch.tokens.assign(static_cast<std::size_t>(context), 7);
    batch.labels.resize(batch.tokens.size());
    set_labels(Target::masked, 257, 0, 0, batch);
    CHECK(std::count(batch.labels.begin(), batch.labels.end(), 7) == (context < 10 ? 1 : 2));
  }
}

TEST_CASE("objective: masks change with seed, step, worker and draw, and with nothing else") {
  const tests::Folder folder;
  const auto masks = [](const DataSource& source, Index step, Index worker, Index draw) {
    Batch out;
    source.sample(step, {worker, 1}, 1, out, draw);
    std::vector<bool> result;
    for (const std::int32_t label : out.labels) result.push_back(label != kNoLabel);
    return result;
  };
  const auto source = source_of(folder, Target::masked);
  const std::vector<bool> one = masks(*source, 3, 2, 5);
  CHECK(masks(*source, 3, 2, 5) == one);
  CHECK(masks(*source_of(folder, Target::masked, 9), 3, 2, 5) != one);
  CHECK(masks(*source, 4, 2, 5) != one);
  CHECK(masks(*source, 3, 1, 5) != one);
  CHECK(masks(*source, 3, 2, 4) != one);
  Batch group, alone;
  source->sample(3, {0, 4}, 6, group);
  source->sample(3, {2, 1}, 1, alone, 5);
  const auto row = static_cast<std::ptrdiff_t>((2 * 6 + 5) * kContext);
  CHECK(std::equal(alone.tokens.begin(), alone.tokens.end(), group.tokens.begin() + row));
  CHECK(std::equal(alone.labels.begin(), alone.labels.end(), group.labels.begin() + row));
}

TEST_CASE("objective: a held-out example is masked the same way whenever it is asked for") {
  const tests::Folder folder;
  const auto source = source_of(folder, Target::masked), other = source_of(folder, Target::masked, 9);
  Batch all, again, part;
  source->holdout(0, 30, all);
  source->sample(5, {0, 2}, 3, again);
  other->holdout(0, 30, again);
  CHECK(same(all, again));
  source->holdout(7, 2, part);
  CHECK(std::equal(part.tokens.begin(), part.tokens.end(), all.tokens.begin() + 7 * kContext));
  CHECK(std::equal(part.labels.begin(), part.labels.end(), all.labels.begin() + 7 * kContext));
}

}  // namespace onebit::sim
