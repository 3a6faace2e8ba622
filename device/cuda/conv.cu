// Convolutions as matrix products whose operands are never written down: rows are pixels, or taps and channels, and are
// looked up in the images. Sums run in the CPU's order (cpu/conv.cpp), and have its bits if the CPU fuses
// multiplications with additions.
#include "device/math/conv.hpp"

#include <algorithm>
#include <type_traits>

#include "device/cuda/tiles.cuh"
#include "device/math/rounding.hpp"

namespace onebit::device::cuda {
namespace {

using detail::kChunk, detail::Quad, detail::quad_at, detail::Tile, detail::TileGrid, detail::TilePlace;

__device__ float rounded(float number, unsigned dropped) {
  return dropped == 0 ? number : without_bits(number, dropped);
}

__device__ int thread() {
  return static_cast<int>(threadIdx.x);
}

/// The table of the pixels that a pixel's taps read.
struct Reads {
  explicit Reads(const ConvShape& shape, const TapTable& table, Index channels)
      : table(table.reads.data()),
        pixels(static_cast<int>(table.pixels.size())),
        taps(static_cast<int>(shape.taps())),
        channels(static_cast<int>(channels)) {}

  const std::int32_t* table;  ///< [taps][pixels]
  int pixels, taps;
  int channels;  ///< of what is read

  __device__ int at(int tap, int pixel) const { return table[Index{tap} * pixels + pixel]; }

  /// Reads what a pixel's taps read, four numbers from this tap and channel on; returns whether any of them is in the
  /// image, not in the padding. kWide: the number of channels is a multiple of 4.
  template <bool kWide>
  __device__ bool quad(const float* image, int tap, int channel, int pixel, Quad& out) const {
    if constexpr (kWide) {
      const int read = at(tap, pixel);
      if (read < 0) return false;
      out = quad_at(image + read * channels + channel);
      return true;
    } else {
      bool any = false;
#pragma unroll
      for (int k = 0; k < 4 && tap < taps; ++k) {
        const int read = at(tap, pixel);
        if (read >= 0) out.number[k] = image[read * channels + channel];
        any |= read >= 0;
        if (++channel == channels) channel = 0, ++tap;
      }
      return any;
    }
  }
};

/// A row's image and pixel.
struct Spot {
  Index image;
  int pixel;

  __device__ Spot(Index row, int pixels) : image(run_of(row, pixels)), pixel(static_cast<int>(row - image * pixels)) {}
  __device__ void advance(int rows, int pixels) {
    for (pixel += rows; pixel >= pixels; pixel -= pixels) ++image;
  }
};

/// Left side: rows are pixels, terms what their taps read, channel by channel.
template <class Tile, bool kWide>
class PixelRows {
  static constexpr int kQuads = kChunk / 4, kStep = Tile::kThreads / kQuads, kOwn = Tile::kRows / kStep;

 public:
  using Share = Quad[kOwn];

  /// data: image 0; images have `numbers` numbers each. rows: their total number, counted from image 0.
  __device__ PixelRows(const Reads& reads, const float* data, Index numbers, Index first, Index rows, unsigned dropped)
      : reads_(reads), dropped_(dropped), numbers_(numbers), channel_(thread() % kQuads * 4) {
    wrap();
    const Index row = first + thread() / kQuads;
    Spot spot(row, reads.pixels);
    data_ = data + spot.image * numbers;
    const Index first_image = spot.image;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      pixel_[i] = row + i * kStep < rows ? spot.pixel : -1;
      image_[i] = static_cast<int>(spot.image - first_image);
      spot.advance(kStep, reads.pixels);
    }
  }

  __device__ bool fetch(Share& share) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      share[i] = {};
      if (pixel_[i] >= 0 && tap_ < reads_.taps) {
        any |= reads_.quad<kWide>(image(i), tap_, channel_, pixel_[i], share[i]);
      }
    }
    channel_ += kChunk;
    wrap();
    return any;
  }

  __device__ void put(const Share& share, typename Tile::Terms& terms) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int term = thread() % kQuads * 4 + k, row = thread() / kQuads + i * kStep;
        terms.left[Tile::Terms::left_at(term, row)] = rounded(share[i].number[k], dropped_);
      }
    }
  }

 private:
  __device__ void wrap() {
    for (; channel_ >= reads_.channels; channel_ -= reads_.channels) ++tap_;
  }

  __device__ const float* image(int i) const {
    return data_ + image_[i] * numbers_;
  }

  Reads reads_;
  unsigned dropped_;
  Index numbers_;
  const float* data_;      ///< of the first row's image
  int tap_ = 0, channel_;  ///< of the first term to come
  int pixel_[kOwn];        ///< -1: none
  int image_[kOwn];        ///< counted from the first row's
};

/// Left side: rows are taps and their channels, terms the pixels [first, first + count) of each image in turn. Each
/// image begins a new chunk.
template <class Tile, bool kWide>
class TapRows {
  static constexpr int kQuads = Tile::kRows / 4, kStep = Tile::kThreads / kQuads, kOwn = kChunk / kStep;

 public:
  using Share = Quad[kOwn];

  /// data: the first image; images have `numbers` numbers each.
  __device__ TapRows(const Reads& reads, const float* data, Index numbers, int first, int count, Index row,
                     unsigned dropped)
      : reads_(reads), dropped_(dropped), numbers_(numbers), first_(first), count_(count), image_(data) {
    const Index own = row + thread() % kQuads * 4;
    tap_ = static_cast<int>(run_of(own, reads.channels));
    channel_ = static_cast<int>(own - Index{tap_} * reads.channels);
  }

  __device__ bool fetch(Share& share) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      share[i] = {};
      const int pixel = pixel_ + thread() / kQuads + i * kStep;
      if (pixel < count_ && tap_ < reads_.taps) {
        any |= reads_.quad<kWide>(image_, tap_, channel_, first_ + pixel, share[i]);
      }
    }
    pixel_ += kChunk;
    if (pixel_ >= count_) pixel_ = 0, image_ += numbers_;
    return any;
  }

  __device__ void put(const Share& share, typename Tile::Terms& terms) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      Quad quad;
#pragma unroll
      for (int k = 0; k < 4; ++k) quad.number[k] = rounded(share[i].number[k], dropped_);
      const int term = thread() / kQuads + i * kStep, row = thread() % kQuads * 4;
      *reinterpret_cast<Quad*>(terms.left + Tile::Terms::left_at(term, row)) = quad;
    }
  }

 private:
  Reads reads_;
  unsigned dropped_;
  Index numbers_;
  int first_, count_;
  int tap_, channel_;
  int pixel_ = 0;
  const float* image_;
};

/// Right side: a matrix [terms][columns]; every `length` terms begin a new chunk.
template <class Tile>
class MatrixRows {
  static constexpr int kStep = Tile::kThreads / Tile::kColumns, kOwn = kChunk / kStep;

 public:
  using Share = float[kOwn];

  __device__ MatrixRows(const float* data, Index columns, int length, Index column, unsigned dropped)
      : data_(data + column + own_column()),
        columns_(columns),
        length_(length),
        inside_(column + own_column() < columns),
        dropped_(dropped) {}

  __device__ void fetch(Share& share) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int term = term_ + thread() / Tile::kColumns + i * kStep;
      share[i] = inside_ && term < length_ ? data_[term * columns_] : 0.0f;
    }
    term_ += kChunk;
    if (term_ >= length_) term_ = 0, data_ += length_ * columns_;
  }

  __device__ void put(const Share& share, typename Tile::Terms& terms) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int term = thread() / Tile::kColumns + i * kStep;
      terms.right[Tile::Terms::right_at(term, own_column())] = rounded(share[i], dropped_);
    }
  }

 private:
  static __device__ int own_column() {
    return thread() % Tile::kColumns;
  }

  const float* data_;
  Index columns_;
  int length_;
  bool inside_;
  unsigned dropped_;
  int term_ = 0;
};

/// Right side: columns are channels, terms taps and their filters.
template <class Tile>
class FilterColumns {
  static constexpr int kStep = Tile::kThreads / kChunk, kOwn = Tile::kColumns / kStep;

 public:
  using Share = float[kOwn];

  /// weights: [taps][channels][filters].
  __device__ FilterColumns(const float* weights, int taps, Index channels, int filters, Index column, unsigned dropped)
      : weights_(weights),
        taps_(taps),
        filters_(filters),
        channels_(channels),
        channel_(column + thread() / kChunk),
        filter_(thread() % kChunk),
        dropped_(dropped) {
    wrap();
  }

  __device__ void fetch(Share& share) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const Index channel = channel_ + i * kStep;
      const bool inside = tap_ < taps_ && channel < channels_;
      share[i] = inside ? weights_[(tap_ * channels_ + channel) * filters_ + filter_] : 0.0f;
    }
    filter_ += kChunk;
    wrap();
  }

  __device__ void put(const Share& share, typename Tile::Terms& terms) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int column = thread() / kChunk + i * kStep;
      terms.right[Tile::Terms::right_at(thread() % kChunk, column)] = rounded(share[i], dropped_);
    }
  }

 private:
  __device__ void wrap() {
    for (; filter_ >= filters_; filter_ -= filters_) ++tap_;
  }

  const float* weights_;
  int taps_, filters_;
  Index channels_, channel_;
  int tap_ = 0, filter_;
  unsigned dropped_;
};

/// output[pixel][column] = relu(bias + sum of what the pixel's taps read times filters), for all images of a set.
/// kTransposed: columns are channels of the filters.
template <class Tile_, bool kWide, bool kTransposed>
struct PixelProduct {
  using Tile = Tile_;

  Reads reads;
  const float* input;
  Index input_size;  ///< of an image
  const std::int32_t* order;
  float* output;
  Index output_size;
  Index images, columns;
  const float* weights;
  const float* bias;  ///< null: none
  Index stride;       ///< of both, from set to set
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
  int together;  ///< images of a part

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

/// sums[tap and channel][filter] over a part's pixels of what the tap reads times the gradient by the result.
template <class Tile_, bool kWide>
struct FilterProduct {
  using Tile = Tile_;

  Reads reads;
  Parts parts;
  Index first;  ///< part
  const float* input;
  Index input_size;  ///< of an image
  const float* delta;
  Index filters;
  float* partial;         ///< [parts][taps x channels][filters]; null: gradients are written
  ConvGradient gradient;  ///< of the workers
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

/// gradient[worker][i] = the sum of those of the worker's parts that are among [first, end), in their order, added to
/// the parts before.
struct SumPartsKernel {
  const float* partial;  ///< [end - first][weights]
  Index first, end;      ///< of [workers][parts]
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

/// Calls work(std::true_type) if the number of channels is a multiple of 4, else work(std::false_type). The channels
/// are then aligned as quads have to be, because buffers and images begin at such addresses.
template <class Work>
void with_width(Index channels, const Work& work) {
  channels % 4 == 0 ? work(std::true_type()) : work(std::false_type());
}

/// Input and output of a product, with the numbers that an image has in each.
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

/// Computes as many parts at a time as a GPU may still find in its cache.
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
