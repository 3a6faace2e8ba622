// Convolutions as matrix products whose operands are never stored: their rows are pixels, or taps and channels, and are
// looked up in the images. Sums run in the CPU's order (cpu/conv.cpp), and have the same bits as on the CPU if the CPU
// fuses multiplications with additions.
#include "device/math/conv.hpp"

#include <algorithm>
#include <type_traits>

#include "device/cuda/conv_operands.cuh"

namespace onebit::device::cuda {
namespace {

using namespace conv;

/// Computes output[pixel][column] = relu(bias + sum of what the pixel's taps read times filters), for all images of a
/// set. kTransposed: columns are channels of the filters.
template <class Tile_, bool kWide, bool kTransposed>
struct PixelProduct {
  using Tile = Tile_;

  Reads reads;
  const float* input;
  Index input_size;  ///< numbers of an input image
  const std::int32_t* order;
  float* output;
  Index output_size;
  Index images, columns;
  const float* weights;
  const float* bias;  ///< null if there is no bias
  Index stride;       ///< distance from set to set, of the weights and of the biases
  bool relu;
  unsigned dropped;

  __device__ Index rows() const { return images * reads.pixels; }
  __device__ Index chunks(const TilePlace&) const {
    return ceil_div(Index{reads.taps} * reads.channels, Index{kChunk});
  }

  __device__ auto left(const TilePlace& place) const {
    return PixelRows<Tile, kWide>(reads, input + place.set * images * input_size, input_size, place.row, rows(),
                                  dropped);
  }
  __device__ auto right(const TilePlace& place) const {
    const float* own = weights + place.set * stride;
    if constexpr (kTransposed) {
      return FilterColumns<Tile>(own, reads.taps, columns, reads.channels, place.column, dropped);
    } else {
      return MatrixRows<Tile>(own, columns, reads.taps * reads.channels, place.column, dropped);
    }
  }

  __device__ void begin(const TilePlace& place, typename Tile::Sums& sums) const {
#pragma unroll
    for (int j = 0; j < Tile::kOwnColumns; ++j) {
      const Index column = place.column + Tile::column(j);
      const float first = bias != nullptr && column < columns ? bias[place.set * stride + column] : 0.0f;
#pragma unroll
      for (int i = 0; i < Tile::kOwnRows; ++i) sums[i][j] = first;
    }
  }

  __device__ void end(const TilePlace& place, const typename Tile::Sums& sums) const {
    Index row = place.row + Tile::row(0);
    Spot spot(row, reads.pixels);
#pragma unroll
    for (int i = 0; i < Tile::kOwnRows; ++i) {
      if (i > 0) {
        const int step = Tile::row(i) - Tile::row(i - 1);
        spot.advance(step, reads.pixels);
        row += step;
      }
      if (row >= rows()) return;
      float* to = output + (place.set * images + spot.image) * output_size + order[spot.pixel] * columns;
#pragma unroll
      for (int j = 0; j < Tile::kOwnColumns; j += 4) write(sums[i] + j, place.column + Tile::column(j), to);
    }
  }

  __device__ void write(const float* sums, Index column, float* to) const {
    Quad quad;
#pragma unroll
    for (int k = 0; k < 4; ++k) quad.number[k] = relu && sums[k] <= 0.0f ? 0.0f : sums[k];
    if (columns % 4 == 0) {
      if (column < columns) *reinterpret_cast<Quad*>(to + column) = quad;
      return;
    }
    for (int k = 0; k < 4 && column + k < columns; ++k) to[column + k] = quad.number[k];
  }
};

/// How a worker's pixels are cut into parts; each sum runs over one part.
struct Parts {
  static constexpr int kPixels = 256;

  Parts(const ConvShape& shape, Index images)
      : images(images), pixels(static_cast<int>(shape.out_pixels())), together(std::max(1, kPixels / pixels)) {}

  Index images;
  int pixels;
  int together;  ///< number of images in a part

  ONEBIT_HOST_DEVICE Index of_image() const { return ceil_div(Index{pixels}, Index{kPixels}); }
  ONEBIT_HOST_DEVICE Index count() const { return ceil_div(images, Index{together}) * of_image(); }
};

/// The images and pixels of one part.
struct Part {
  __device__ Part(const Parts& parts, Index number) {
    const Index own = run_of(number, parts.count()), rest = number - own * parts.count();
    const Index block = run_of(rest, parts.of_image()), first = block * parts.together;
    worker = own;
    image = own * parts.images + first;
    images = parts.images - first < parts.together ? static_cast<int>(parts.images - first) : parts.together;
    pixel = static_cast<int>(rest - block * parts.of_image()) * Parts::kPixels;
    pixels = parts.pixels - pixel < Parts::kPixels ? parts.pixels - pixel : Parts::kPixels;
  }

  Index worker, image;
  int images, pixel, pixels;
};

/// Computes the sums [tap and channel][filter], over a part's pixels, of what the tap reads times the gradient with
/// respect to the result.
template <class Tile_, bool kWide>
struct FilterProduct {
  using Tile = Tile_;

  Reads reads;
  Parts parts;
  Index first;  ///< first part
  const float* input;
  Index input_size;  ///< numbers of an input image
  const float* delta;
  Index filters;
  float* partial;         ///< [parts][taps x channels][filters]: sums; null if gradients are written directly
  ConvGradient gradient;  ///< where the workers' gradients go
  unsigned dropped;

  __device__ Part part(const TilePlace& place) const { return Part(parts, first + place.set); }
  __device__ Index rows() const { return Index{reads.taps} * reads.channels; }
  __device__ Index chunks(const TilePlace& place) const {
    const Part own = part(place);
    return own.images * ceil_div(Index{own.pixels}, Index{kChunk});
  }

  __device__ auto left(const TilePlace& place) const {
    const Part own = part(place);
    return TapRows<Tile, kWide>(reads, input + own.image * input_size, input_size, own.pixel, own.pixels, place.row,
                                dropped);
  }
  __device__ auto right(const TilePlace& place) const {
    const Part own = part(place);
    return MatrixRows<Tile>(delta + (own.image * parts.pixels + own.pixel) * filters, filters, own.pixels, place.column,
                            dropped);
  }

  __device__ void begin(const TilePlace&, typename Tile::Sums& sums) const {
#pragma unroll
    for (int i = 0; i < Tile::kOwnRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kOwnColumns; ++j) sums[i][j] = 0;
    }
  }

  __device__ void end(const TilePlace& place, const typename Tile::Sums& sums) const {
    const bool direct = partial == nullptr;
    float* to = direct ? gradient.data + part(place).worker * gradient.stride : partial + place.set * rows() * filters;
#pragma unroll
    for (int i = 0; i < Tile::kOwnRows; ++i) {
      const Index row = place.row + Tile::row(i);
#pragma unroll
      for (int j = 0; j < Tile::kOwnColumns; ++j) {
        const Index column = place.column + Tile::column(j);
        if (row >= rows() || column >= filters) continue;
        float& out = to[row * filters + column];
        out = direct && gradient.add ? out + sums[i][j] : sums[i][j];
      }
    }
  }
};

/// Computes gradient[worker][i]: adds the worker's parts in [first, end), in order, to the sum of its earlier parts.
struct SumPartsKernel {
  const float* partial;  ///< [end - first][weights]: sums of the parts
  Index first, end;      ///< range of parts, numbered over [workers][parts]
  Index parts, weights;
  ConvGradient gradient;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index worker = first / parts + row, own = worker * parts;
    float& out = gradient.data[worker * gradient.stride + i];
    Index part = own < first ? first : own;
    float sum = gradient.add || own < first ? out : partial[(part++ - first) * weights + i];
    for (; part < own + parts && part < end; ++part) sum += partial[(part - first) * weights + i];
    out = sum;
  }
};

/// Calls work(Tile) with a tile that suits the number of columns.
template <class Work>
void with_low_tile(Index columns, const Work& work) {
  if (columns <= 16) {
    work(Tile<64, 16, 4>());
  } else if (columns <= 32) {
    work(Tile<64, 32, 4>());
  } else {
    work(Tile<64, 64, 8>());
  }
}

/// Like with_low_tile, but with more rows if the tiles still fill a GPU.
template <class Work>
void with_tile(Index rows, Index columns, const Work& work) {
  constexpr Index enough = 512;
  const auto fill = [&](Index tall, Index wide) { return ceil_div(rows, tall) * ceil_div(columns, wide) >= enough; };
  if (columns <= 16 && fill(256, 16)) {
    work(Tile<256, 16, 4>());
  } else if (columns > 16 && columns <= 32 && fill(128, 32)) {
    work(Tile<128, 32, 4>());
  } else if (columns > 32 && fill(128, 64)) {
    work(Tile<128, 64, 8>());
  } else {
    with_low_tile(columns, work);
  }
}

/// Calls work(std::true_type) if the number of channels is a multiple of 4, else work(std::false_type). In the first
/// case, a pixel's channels are aligned like quads, because buffers and images are.
template <class Work>
void with_width(Index channels, const Work& work) {
  channels % 4 == 0 ? work(std::true_type()) : work(std::false_type());
}

/// The input and output of a product, and the size of an image in each.
struct Sides {
  const TapTable& table;
  const float* input;
  Index channels, input_size;
  float* output;
  Index columns, output_size;
};

template <bool kTransposed>
void multiply_pixels(const Queue& queue, const ConvPlan& plan, const ConvBatch& batch, const Sides& sides) {
  const Index sets = batch.filter_sets(), images = batch.workers * batch.images / std::max<Index>(1, sets);
  const Index rows = images * sides.table.pixels.size();
  with_tile(sets * rows, sides.columns, [&]<class Tile>(Tile) {
    with_width(sides.channels, [&]<bool kWide>(std::bool_constant<kWide>) {
      const PixelProduct<Tile, kWide, kTransposed> product{Reads(plan.shape(), sides.table, sides.channels),
                                                           sides.input,
                                                           sides.input_size,
                                                           sides.table.pixels.data(),
                                                           sides.output,
                                                           sides.output_size,
                                                           images,
                                                           sides.columns,
                                                           batch.weights,
                                                           batch.bias,
                                                           batch.stride,
                                                           batch.relu,
                                                           dropped_bits(queue.precision())};
      multiply(queue, TileGrid::of<Tile>(sets, rows, sides.columns), product);
    });
  });
}

}  // namespace

Index conv_scratch(const Queue&, const ConvShape&, Index) {
  return 0;
}

void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output) {
  const ConvShape& shape = plan.shape();
  multiply_pixels<false>(
      queue, plan, batch,
      {plan.forward(), input, shape.channels, shape.inputs(), output, shape.filters, shape.outputs()});
}

void conv_input_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                         float* input_delta) {
  const ConvShape& shape = plan.shape();
  ConvBatch plain = batch;
  plain.bias = nullptr;
  plain.relu = false;
  multiply_pixels<true>(
      queue, plan, plain,
      {plan.backward(), delta, shape.filters, shape.outputs(), input_delta, shape.channels, shape.inputs()});
}

/// Computes few enough parts at a time that their sums may still be in the GPU's cache when they are added.
void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient) {
  constexpr Index most_numbers = Index{1} << 23;
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  const Parts parts(shape, batch.images);
  const Index weights = shape.weights(), all = batch.workers * parts.count();
  const bool direct = parts.count() == 1;
  const Index at_once = direct ? all : std::clamp<Index>(most_numbers / weights, 1, all);
  auto* partial = static_cast<float*>(
      direct ? nullptr : queue.context().workspace(at_once * weights * static_cast<Index>(sizeof(float))));
  for (Index part = 0; part < all; part += at_once) {
    const Index count = std::min(at_once, all - part);
    with_low_tile(shape.filters, [&]<class Tile>(Tile) {
      with_width(shape.channels, [&]<bool kWide>(std::bool_constant<kWide>) {
        const FilterProduct<Tile, kWide> product{Reads(shape, plan.forward(), shape.channels),
                                                 parts,
                                                 part,
                                                 input,
                                                 shape.inputs(),
                                                 delta,
                                                 shape.filters,
                                                 partial,
                                                 gradient,
                                                 dropped_bits(queue.precision())};
        multiply(queue, TileGrid::of<Tile>(count, shape.patch(), shape.filters), product);
      });
    });
    if (direct) continue;
    const SumPartsKernel sum{partial, part, part + count, parts.count(), weights, gradient};
    for_each_row(queue, (part + count - 1) / parts.count() - part / parts.count() + 1, weights, sum);
  }
}

}  // namespace onebit::device::cuda
