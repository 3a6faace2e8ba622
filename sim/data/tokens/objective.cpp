#include "sim/data/tokens/objective.hpp"

#include <algorithm>
#include <cmath>

#include "device/math/philox.hpp"

namespace onebit::sim {
namespace {

constexpr double kMaskedShare = 0.15;

/// Returns `share` times 2^32: a random word is below the result with probability `share`.
constexpr std::uint32_t below(double share) {
  return static_cast<std::uint32_t>(share * 0x1p32);
}

/// Random numbers of one row, four words per place.
class RowNoise {
 public:
  RowNoise(const Batch& batch, Index row)
      : key_{batch.place.seed, device::Purpose::masking},
        at_{.step = batch.place.step,
            .worker = batch.place.first_worker + row / batch.batch,
            .element = (batch.place.first_draw + row % batch.batch) << 32} {}

  auto words(Index place) const { return device::philox(key_, {at_.step, at_.worker, at_.element + place}); }

 private:
  device::RandomKey key_;
  device::RandomCounter at_;
};

/// Returns what a chosen token is replaced by, according to two random words.
std::int32_t replacement(std::int32_t token, Index vocabulary, std::uint32_t kind, std::uint32_t drawn) {
  const auto mask = static_cast<std::uint64_t>(vocabulary - 1);
  if (kind < below(0.8)) return static_cast<std::int32_t>(mask);
  if (kind < below(0.9)) return static_cast<std::int32_t>((drawn * mask) >> 32);
  return token;
}

/// Masks a row. Word 0 of a place chooses the place with probability (places still to be chosen) / (places left), so
/// that exactly the wanted number is chosen and every set is equally likely (Knuth's algorithm S).
void mask(std::span<std::int32_t> tokens, std::span<std::int32_t> labels, Index vocabulary, const RowNoise& noise) {
  auto left = static_cast<std::uint64_t>(tokens.size());
  auto wanted = static_cast<std::uint64_t>(std::max(1l, std::lround(kMaskedShare * static_cast<double>(left))));
  for (std::size_t place = 0; place < tokens.size(); ++place, --left) {
    const auto words = noise.words(static_cast<Index>(place));
    const bool chosen = (words[0] * left) >> 32 < wanted;
    labels[place] = chosen ? tokens[place] : kNoLabel;
    if (!chosen) continue;
    --wanted;
    tokens[place] = replacement(tokens[place], vocabulary, words[1], words[2]);
  }
}

template <class T>
std::span<T> row_of(std::vector<T>& values, Index row, Index rows) {
  const std::size_t size = values.size() / static_cast<std::size_t>(rows);
  return std::span(values).subspan(static_cast<std::size_t>(row) * size, size);
}

}  // namespace

Index vocabulary_of(Target target, Index tokens) {
  return target == Target::masked ? tokens + 1 : tokens;
}

Index targets_of(Target target, Index context) {
  return target == Target::next ? 1 : context;
}

void set_labels(Target target, Index vocabulary, std::int32_t next, Index row, Batch& out) {
  const std::span<std::int32_t> tokens = row_of(out.tokens, row, out.rows());
  const std::span<std::int32_t> labels = row_of(out.labels, row, out.rows());
  if (target == Target::masked) {
    mask(tokens, labels, vocabulary, RowNoise(out, row));
  } else {
    // All labels but the last are tokens of the row.
    std::copy(tokens.end() - static_cast<std::ptrdiff_t>(labels.size()) + 1, tokens.end(), labels.begin());
    labels.back() = next;
  }
}

}  // namespace onebit::sim
