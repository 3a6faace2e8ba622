#pragma once
// The operands of convolutions as matrix products (conv.cu): rows of pixels, of taps and their channels, and of
// filters. They are never stored, but looked up in images and weights.

#include "device/cuda/tiles.cuh"
#include "device/math/conv.hpp"
#include "device/math/rounding.hpp"

namespace onebit::device::cuda::conv {

using detail::kChunk, detail::Quad, detail::quad_at, detail::Tile, detail::TileGrid, detail::TilePlace;

inline __device__ float rounded(float number, unsigned dropped) {
  return dropped == 0 ? number : without_bits(number, dropped);
}

inline __device__ int thread() {
  return static_cast<int>(threadIdx.x);
}

/// The table of the pixels that a pixel's taps read.
struct Reads {
  explicit Reads(const ConvShape& shape, const TapTable& table, Index channels)
      : table(table.reads.data()),
        pixels(static_cast<int>(table.pixels.size())),
        taps(static_cast<int>(shape.taps())),
        channels(static_cast<int>(channels)) {}

  const std::int32_t* table;  ///< [taps][pixels]: the pixel read; negative for padding
  int pixels, taps;
  int channels;  ///< number of channels of the pixels read

  __device__ int at(int tap, int pixel) const { return table[Index{tap} * pixels + pixel]; }

  /// Reads four of the numbers that a pixel's taps read, starting at this tap and channel. Returns whether any of them
  /// is in the image rather than the padding. kWide: the number of channels is a multiple of 4.
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

/// The image and the pixel of a row.
struct Spot {
  Index image;
  int pixel;

  __device__ Spot(Index row, int pixels) : image(run_of(row, pixels)), pixel(static_cast<int>(row - image * pixels)) {}
  __device__ void advance(int rows, int pixels) {
    for (pixel += rows; pixel >= pixels; pixel -= pixels) ++image;
  }
};

/// Left side: rows are pixels, terms are what their taps read, channel by channel.
template <class Tile, bool kWide>
class PixelRows {
  static constexpr int kQuads = kChunk / 4, kStep = Tile::kThreads / kQuads, kOwn = Tile::kRows / kStep;

 public:
  using Share = Quad[kOwn];

  /// data: image 0; every image has `numbers` floats. rows: the total number of rows, counted from image 0.
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
  const float* data_;      ///< the first row's image
  int tap_ = 0, channel_;  ///< tap and channel of the next term
  int pixel_[kOwn];        ///< pixel of each row; -1 if there is none
  int image_[kOwn];        ///< image of each row, counted from the first row's image
};

/// Left side: rows are taps and their channels, terms are the pixels [first, first + count) of each image in turn. Each
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

/// Right side: a matrix [terms][columns]; a new chunk begins after every `length` terms.
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

/// Right side: columns are channels, terms are taps and their filters.
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

}  // namespace onebit::device::cuda::conv
