#include "device/math/conv.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "device/base/error.hpp"

namespace onebit::device {
namespace {

void check(const ConvShape& shape) {
  const bool sizes = shape.height > 0 && shape.width > 0 && shape.channels > 0 && shape.filters > 0 &&
                     shape.kernel > 0 && shape.stride > 0 && shape.padding >= 0;
  const std::string where = std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
                            std::to_string(shape.channels) + ", kernel " + std::to_string(shape.kernel);
  if (!sizes || shape.height + 2 * shape.padding < shape.kernel || shape.width + 2 * shape.padding < shape.kernel) {
    throw Error("these sizes do not define a convolution", where);
  }
  constexpr Index most = Index{1} << 31;
  if (shape.inputs() >= most || shape.outputs() >= most) throw Error("images are too large for a convolution", where);
}

template <class Reads>
TapTable table(const Device& device, const std::vector<std::int32_t>& pixels, Index taps, Reads reads) {
  std::vector<std::int32_t> all;
  all.reserve(static_cast<std::size_t>(taps) * pixels.size());
  for (Index tap = 0; tap < taps; ++tap) {
    for (const std::int32_t pixel : pixels) all.push_back(static_cast<std::int32_t>(reads(pixel, tap)));
  }
  return {Buffer<std::int32_t>::copy_of(device, pixels), Buffer<std::int32_t>::copy_of(device, all)};
}

std::vector<std::int32_t> in_order(Index count) {
  std::vector<std::int32_t> pixels(static_cast<std::size_t>(count));
  std::iota(pixels.begin(), pixels.end(), 0);
  return pixels;
}

/// Returns the image's pixels ordered by their position within a stride, which determines the taps that read them.
std::vector<std::int32_t> by_phase(const ConvShape& shape) {
  std::vector<std::int32_t> pixels = in_order(shape.in_pixels());
  const auto phase = [&](Index pixel) {
    return pixel / shape.width % shape.stride * shape.stride + pixel % shape.width % shape.stride;
  };
  std::stable_sort(pixels.begin(), pixels.end(), [&](auto a, auto b) { return phase(a) < phase(b); });
  return pixels;
}

}  // namespace

ConvPlan::ConvPlan(const ConvShape& shape) : shape_(shape) {
  check(shape);
}

void ConvPlan::reserve(const Device& device, Index filter_sets) {
  if (forward_.pixels.size() == 0) {
    forward_ = table(device, in_order(shape_.out_pixels()), shape_.taps(),
                     [this](Index pixel, Index tap) { return shape_.met(pixel, tap); });
    backward_ = table(device, by_phase(shape_), shape_.taps(),
                      [this](Index pixel, Index tap) { return shape_.meeting(pixel, tap); });
  }
  const Index size = device.run([&](const auto& queue) { return conv_scratch(queue, shape_, filter_sets); });
  if (scratch_.size() < size) scratch_ = Buffer<float>::zeros(device, size);
}

}  // namespace onebit::device
