#pragma once
// Convolutions of one image by plain loops in double precision: images [height][width][channels], filters
// [kernel][kernel][channels][filters].

#include "device/math/conv.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

/// Calls visit(image element, filter element, result element) for every product of a convolution.
template <class Visit>
void for_each_product(const device::ConvShape& s, Visit visit) {
  for (Index y = 0; y < s.out_height(); ++y) {
    for (Index x = 0; x < s.out_width(); ++x) {
      for (Index ky = 0; ky < s.kernel; ++ky) {
        for (Index kx = 0; kx < s.kernel; ++kx) {
          const Index iy = y * s.stride + ky - s.padding, ix = x * s.stride + kx - s.padding;
          if (iy < 0 || ix < 0 || iy >= s.height || ix >= s.width) continue;
          for (Index c = 0; c < s.channels; ++c) {
            for (Index f = 0; f < s.filters; ++f) {
              visit(static_cast<std::size_t>((iy * s.width + ix) * s.channels + c),
                    static_cast<std::size_t>(((ky * s.kernel + kx) * s.channels + c) * s.filters + f),
                    static_cast<std::size_t>((y * s.out_width() + x) * s.filters + f));
            }
          }
        }
      }
    }
  }
}

inline Vector convolution(const device::ConvShape& shape, const Vector& image, const Vector& filters) {
  Vector result(static_cast<std::size_t>(shape.outputs()), 0.0);
  for_each_product(shape, [&](auto i, auto w, auto o) { result[o] += image[i] * filters[w]; });
  return result;
}

/// Returns the gradient with respect to the image, given that with respect to the result.
inline Vector convolution_input_gradient(const device::ConvShape& shape, const Vector& delta, const Vector& filters) {
  Vector result(static_cast<std::size_t>(shape.inputs()), 0.0);
  for_each_product(shape, [&](auto i, auto w, auto o) { result[i] += delta[o] * filters[w]; });
  return result;
}

inline Vector convolution_weight_gradient(const device::ConvShape& shape, const Vector& image, const Vector& delta) {
  Vector result(static_cast<std::size_t>(shape.weights()), 0.0);
  for_each_product(shape, [&](auto i, auto w, auto o) { result[w] += image[i] * delta[o]; });
  return result;
}

}  // namespace onebit::oracle
