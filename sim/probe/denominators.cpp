#include "sim/probe/denominators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onebit::sim {
namespace {

constexpr Index kPiece = Index{1} << 20;   ///< elements read at a time, because a vector may fill the memory
constexpr Index kSample = Index{1} << 16;  ///< largest sample of a tensor, in coordinates
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The smallest of the values above 0, and a sample of them.
struct Positive {
  float least = std::numeric_limits<float>::infinity();
  std::vector<float> sample = {};
};

Positive positive_of(const device::Buffer<float>& values, Range tensor, std::vector<float>& host) {
  Positive positive;
  const Index stride = (tensor.count + kSample - 1) / kSample;
  Index next = 0;  // the sample's next coordinate
  for (Index first = 0; first < tensor.count; first += kPiece) {
    const auto part = std::span(host).first(static_cast<std::size_t>(std::min(kPiece, tensor.count - first)));
    values.download(part, tensor.first + first);
    for (const float value : part) {
      if (value > 0) positive.least = std::min(positive.least, value);
    }
    for (; next < first + static_cast<Index>(part.size()); next += stride) {
      const float value = part[static_cast<std::size_t>(next - first)];
      if (value > 0) positive.sample.push_back(value);
    }
  }
  return positive;
}

/// Returns the quantile parts / of of a sample; NaN for an empty sample. Reorders the sample.
double quantile(std::vector<float>& sample, std::size_t parts, std::size_t of) {
  if (sample.empty()) return nan;
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>((sample.size() - 1) * parts / of);
  std::nth_element(sample.begin(), at, sample.end());
  return static_cast<double>(*at);
}

}  // namespace

Denominators denominators_of(const optim::Denominator& denominator, const std::vector<compress::Tensor>& tensors) {
  Denominators result;
  if (denominator.variance == nullptr) return result;
  const auto correction = static_cast<double>(denominator.correction), eps = static_cast<double>(denominator.eps);
  const auto d = [&](double variance) { return std::sqrt(variance) * correction + eps; };
  const std::vector<Range> ranges = compress::ranges_of(tensors);
  Index longest = 0;
  for (const Range& range : ranges) longest = std::max(longest, range.count);
  std::vector<float> host(static_cast<std::size_t>(std::min(kPiece, longest)));
  for (const Range& range : ranges) {
    Positive positive = positive_of(*denominator.variance, range, host);
    result.least.push_back(std::isinf(positive.least) ? nan : d(static_cast<double>(positive.least)));
    result.low.push_back(d(quantile(positive.sample, 1, 100)));
    result.median.push_back(d(quantile(positive.sample, 1, 2)));
  }
  return result;
}

}  // namespace onebit::sim
