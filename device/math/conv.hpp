#pragma once
// Convolutions over images [height][width][channels] with filters [kernel][kernel][channels][filters]: a filter's
// numbers for one tap and channel lie side by side, and so do the channels of a pixel, so that every product below runs
// along them. Zeros lie around an image. Images, filters and gradients by results are taken in the device's precision,
// biases as they are.

#include <cstdint>

#include "device/memory/buffer.hpp"

namespace onebit::device {

struct ConvShape {
  Index height = 0, width = 0, channels = 0;  ///< of an image
  Index filters = 0;                          ///< channels of the result
  Index kernel = 3, stride = 1, padding = 1;

  Index out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  Index out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  Index in_pixels() const { return height * width; }
  Index out_pixels() const { return out_height() * out_width(); }
  Index taps() const { return kernel * kernel; }
  Index inputs() const { return in_pixels() * channels; }
  Index outputs() const { return out_pixels() * filters; }
  Index patch() const { return taps() * channels; }
  Index weights() const { return patch() * filters; }

  /// The pixel of the image that a tap of the result's pixel meets; -1: the zeros around it.
  Index met(Index out_pixel, Index tap) const {
    const Index y = out_pixel / out_width() * stride + tap / kernel - padding;
    const Index x = out_pixel % out_width() * stride + tap % kernel - padding;
    return y >= 0 && y < height && x >= 0 && x < width ? y * width + x : -1;
  }
  /// The pixel of the result whose tap meets the image's pixel; -1: none.
  Index meeting(Index in_pixel, Index tap) const {
    const Index y = in_pixel / width + padding - tap / kernel;
    const Index x = in_pixel % width + padding - tap % kernel;
    if (y < 0 || x < 0 || y % stride != 0 || x % stride != 0) return -1;
    return y / stride < out_height() && x / stride < out_width() ? y / stride * out_width() + x / stride : -1;
  }
};

/// Pixels to compute, in the order of the work, and for each tap the pixel that it reads; -1: zeros.
struct TapTable {
  Buffer<std::int32_t> pixels;  ///< [pixels]
  Buffer<std::int32_t> reads;   ///< [taps][pixels]
};

/// A convolution's sizes, and in a device's memory what follows from them and the scratch memory of its passes. Used by
/// one thread at a time.
class ConvPlan {
 public:
  /// Throws Error for sizes that are no convolution: below 1, a result without pixels, an image of 2^31 numbers or
  /// more.
  explicit ConvPlan(const ConvShape& shape);

  const ConvShape& shape() const { return shape_; }
  /// Empty before the first reserve.
  const TapTable& forward() const { return forward_; }
  /// For the gradient by the image. Pixels that the same taps meet come one after the other.
  const TapTable& backward() const { return backward_; }

  /// Makes the tables, and room for passes with this many sets of filters; allocates nothing where it is there already.
  void reserve(const Device& device, Index filter_sets);
  float* scratch() { return scratch_.data(); }

 private:
  ConvShape shape_;
  TapTable forward_, backward_;
  Buffer<float> scratch_;
};

/// Images of a group of workers, grouped by worker, and the filters that they meet: worker w's at weights + w * stride
/// (stride 0: all share them).
struct ConvBatch {
  Index workers = 0;
  Index images = 0;  ///< of each worker
  const float* weights = nullptr;
  Index stride = 0;
  const float* bias = nullptr;  ///< [filters], of worker w at bias + w * stride; null: none
  bool relu = false;            ///< of the result

  Index filter_sets() const { return stride == 0 ? 1 : workers; }
};

/// Where the gradients of the filters go: worker w's at data + w * stride.
struct ConvGradient {
  float* data = nullptr;
  Index stride = 0;
  bool add = false;  ///< to what is there; else it is written
};

namespace cpu {
Index conv_scratch(const Queue& queue, const ConvShape& shape, Index filter_sets);
void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output);
void conv_input_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                         float* input_delta);
void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient);
}  // namespace cpu
#if defined(ONEBIT_CUDA)
namespace cuda {
Index conv_scratch(const Queue& queue, const ConvShape& shape, Index filter_sets);
void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output);
void conv_input_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                         float* input_delta);
void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient);
}  // namespace cuda
#endif

/// output = relu(images * filters + bias), as far as the batch asks for it. On the CPU an image's bits depend on
/// nothing but the image and its filters. The plan has room for the batch's sets of filters, here and below.
inline void conv_forward(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* input,
                         float* output) {
  device.run([&](const auto& queue) { conv_forward(queue, plan, batch, input, output); });
}

/// input_delta = the gradient by the images, from delta, the gradient by the result before bias and ReLU.
inline void conv_input_gradient(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                                float* input_delta) {
  device.run([&](const auto& queue) { conv_input_gradient(queue, plan, batch, delta, input_delta); });
}

/// The gradient by the filters, each worker's over its own images, summed in their order.
inline void conv_weight_gradient(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* input,
                                 const float* delta, const ConvGradient& gradient) {
  device.run([&](const auto& queue) { conv_weight_gradient(queue, plan, batch, input, delta, gradient); });
}

}  // namespace onebit::device
