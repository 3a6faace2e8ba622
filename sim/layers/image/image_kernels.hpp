#pragma once
// Kernels of layers that rearrange and pool images [height][width][channels]. A row is a pixel, or a window of pixels.

#include "device/base/types.hpp"

namespace onebit::sim {

/// Transposes the matrix of each image: [pixels][channels] from [channels][pixels], and vice versa.
struct TransposeKernel {
  Index rows, columns;  ///< rows and columns of an image in `out`
  const float* in;
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const Index first = row / rows * rows * columns;
    out[row * columns + column] = in[first + column * rows + row % rows];
  }
};

/// Adjacent windows of `window` x `window` pixels. Pixels left over at the right and lower edges are in no window.
struct PoolShape {
  Index height, width, channels, window;

  ONEBIT_HOST_DEVICE Index out_height() const { return height / window; }
  ONEBIT_HOST_DEVICE Index out_width() const { return width / window; }
  ONEBIT_HOST_DEVICE Index out_pixels() const { return out_height() * out_width(); }
};

/// Computes output[window][channel] = the largest of the window's pixels. A row is a window.
struct MaxPoolKernel {
  PoolShape shape;
  const float* input;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index window, Index channel) const { columns<1>(window, channel); }

  template <Index count>
  ONEBIT_HOST_DEVICE void columns(Index window, Index channel) const {
    const Index row = window / shape.out_width(), x = window % shape.out_width() * shape.window;
    const Index image = row / shape.out_height(), y = row % shape.out_height() * shape.window;
    const float* corner = input + ((image * shape.height + y) * shape.width + x) * shape.channels + channel;
    float largest[static_cast<std::size_t>(count)];
    for (Index c = 0; c < count; ++c) largest[c] = corner[c];
    for (Index down = 0; down < shape.window; ++down, corner += shape.width * shape.channels) {
      for (Index right = 0; right < shape.window; ++right) {
        const float* pixel = corner + right * shape.channels;
        for (Index c = 0; c < count; ++c) largest[c] = pixel[c] <= largest[c] ? largest[c] : pixel[c];
      }
    }
    for (Index c = 0; c < count; ++c) output[window * shape.channels + channel + c] = largest[c];
  }
};

/// Passes the gradient to the first of a window's largest pixels. All other pixels get zeros, including those in no
/// window. An item is a row of pixels of an image.
struct MaxPoolGradientKernel {
  PoolShape shape;
  const float* input;
  const float* output;
  const float* output_delta;
  float* input_delta;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const Index image = item / shape.height, y = item % shape.height, line = shape.width * shape.channels;
    float* delta = input_delta + item * line;
    lanes.each(line, [=](Index i) { delta[i] = 0.0f; });
    lanes.barrier();
    if (y / shape.window >= shape.out_height()) return;
    const Index window_row = (image * shape.out_height() + y / shape.window) * shape.out_width();
    for (Index x = 0; x < shape.out_width() * shape.window; ++x) {
      const Index window = (window_row + x / shape.window) * shape.channels;
      give(lanes, input + item * line + x * shape.channels, y % shape.window, x % shape.window, output + window,
           output_delta + window, delta + x * shape.channels);
    }
  }

  /// Writes the gradient of the pixel at (down, right) in its window.
  template <class Lanes>
  ONEBIT_DEVICE void give(const Lanes& lanes, const float* pixel, Index down, Index right, const float* largest,
                          const float* from, float* to) const {
    const Index line = shape.width * shape.channels;
    lanes.each(shape.channels, [=](Index c) { to[c] = pixel[c] == largest[c] ? from[c] : 0.0f; });
    const float* corner = pixel - down * line - right * shape.channels;
    for (Index i = 0; i < down * shape.window + right; ++i) {  // earlier pixels that are as large
      const float* before = corner + i / shape.window * line + i % shape.window * shape.channels;
      lanes.each(shape.channels, [=](Index c) { to[c] = before[c] == largest[c] ? 0.0f : to[c]; });
    }
  }
};

/// Computes output[image][channel] = the mean over the image's pixels.
struct AveragePoolKernel {
  Index pixels, channels;
  const float* input;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index image, Index channel) const {
    double sum = 0;
    for (Index p = image * pixels; p < (image + 1) * pixels; ++p) {
      sum += static_cast<double>(input[p * channels + channel]);
    }
    output[image * channels + channel] = static_cast<float>(sum / static_cast<double>(pixels));
  }
};

struct AveragePoolGradientKernel {
  Index pixels, channels;
  const float* output_delta;
  float* input_delta;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index channel) const {
    input_delta[row * channels + channel] =
        output_delta[row / pixels * channels + channel] / static_cast<float>(pixels);
  }
};

}  // namespace onebit::sim
