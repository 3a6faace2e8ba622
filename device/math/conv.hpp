#pragma once
// Convolutions over images [height][width][channels] with filters [kernel][kernel][channels][filters]. The numbers of
// all filters for one tap and channel are contiguous, and so are the channels of a pixel, so that every product below
// runs along contiguous numbers. Images are padded with zeros. Images, filters and gradients with respect to results
// are rounded to the device's precision, but biases are not.

#include <cstdint>

#include "device/memory/buffer.hpp"

namespace onebit::device {

struct ConvShape {
  Index height = 0, width = 0, channels = 0;  ///< size of an image and channels of its pixels
  Index filters = 0;                          ///< number of filters, and of the result's channels
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

  /// The image pixel that this tap reads for this result pixel; -1 for padding.
  Index met(Index out_pixel, Index tap) const {
    const Index y = out_pixel / out_width() * stride + tap / kernel - padding;
    const Index x = out_pixel % out_width() * stride + tap % kernel - padding;
    return y >= 0 && y < height && x >= 0 && x < width ? y * width + x : -1;
  }
  /// The result pixel for which this tap reads this image pixel; -1 if there is none.
  Index meeting(Index in_pixel, Index tap) const {
    const Index y = in_pixel / width + padding - tap / kernel;
    const Index x = in_pixel % width + padding - tap % kernel;
    if (y < 0 || x < 0 || y % stride != 0 || x % stride != 0) return -1;
    return y / stride < out_height() && x / stride < out_width() ? y / stride * out_width() + x / stride : -1;
  }
};

/// The pixels to compute, in the order of computation, and the pixel that each of their taps reads; -1 stands for
/// zeros.
struct TapTable {
  Buffer<std::int32_t> pixels;  ///< [pixels]: the pixels to compute
  Buffer<std::int32_t> reads;   ///< [taps][pixels]: the pixel that each tap reads
};

/// A convolution's sizes, with the tables that follow from them and the scratch memory of its passes, on a device. May
/// be used by one thread at a time.
class ConvPlan {
 public:
  /// Throws Error for sizes that do not define a convolution: a size below 1 (a padding below 0), a result without
  /// pixels, or an image or a result of at least 2^31 numbers.
  explicit ConvPlan(const ConvShape& shape);

  const ConvShape& shape() const { return shape_; }
  /// Table for the result and the filters' gradient; empty before the first reserve().
  const TapTable& forward() const { return forward_; }
  /// Table for the image's gradient. Pixels that are read by the same taps are consecutive.
  const TapTable& backward() const { return backward_; }

  /// Makes the tables, and scratch memory for passes with this many sets of filters, unless they exist already.
  void reserve(const Device& device, Index filter_sets);
  float* scratch() { return scratch_.data(); }

 private:
  ConvShape shape_;
  TapTable forward_, backward_;
  Buffer<float> scratch_;
};

/// Images of a group of workers, grouped by worker, and their filters: those of worker w are at weights + w * stride
/// (stride 0 if all workers share them).
struct ConvBatch {
  Index workers = 0;
  Index images = 0;  ///< number of images of each worker
  const float* weights = nullptr;
  Index stride = 0;
  const float* bias = nullptr;  ///< [filters], those of worker w at bias + w * stride; null if there is none
  bool relu = false;            ///< whether ReLU is applied to the result

  Index filter_sets() const { return stride == 0 ? 1 : workers; }
};

/// Where the gradients of the filters go: those of worker w at data + w * stride.
struct ConvGradient {
  float* data = nullptr;
  Index stride = 0;
  bool add = false;  ///< whether to add to `data` rather than overwrite it
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

/// Computes output = relu(images * filters + bias), with bias and ReLU only if the batch has them. On the CPU the bits
/// of a result depend only on its image, filters and bias. Here and below, the plan must be reserved for the batch's
/// sets of filters.
inline void conv_forward(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* input,
                         float* output) {
  device.run([&](const auto& queue) { conv_forward(queue, plan, batch, input, output); });
}

/// Computes input_delta, the gradient with respect to the images, from delta, the gradient with respect to the result
/// before bias and ReLU.
inline void conv_input_gradient(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                                float* input_delta) {
  device.run([&](const auto& queue) { conv_input_gradient(queue, plan, batch, delta, input_delta); });
}

/// Computes the gradient with respect to the filters. Each worker's gradient is the sum over its own images, in their
/// order.
inline void conv_weight_gradient(const Device& device, ConvPlan& plan, const ConvBatch& batch, const float* input,
                                 const float* delta, const ConvGradient& gradient) {
  device.run([&](const auto& queue) { conv_weight_gradient(queue, plan, batch, input, delta, gradient); });
}

}  // namespace onebit::device
