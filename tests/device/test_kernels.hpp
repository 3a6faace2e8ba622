#pragma once
// Kernels that test the launchers. They are compiled once for each backend, like a room's kernels.

#include "device/launch/lanes.hpp"
#include "device/math/math.hpp"
#include "device/math/philox.hpp"
#include "device/math/sign_bits.hpp"

namespace onebit::tests {

/// Computes an element of a row of segments.
struct ValueTerm {
  const float* values;
  Index stride;
  const Index* offsets;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    return static_cast<double>(values[row * stride + offsets[segment] + i]);
  }
};

/// Computes the same with one lookup per chunk.
struct BoundValueTerm {
  ValueTerm plain;
  struct Element {
    const float* values;
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return static_cast<double>(values[i]); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    return {plain.values + row * plain.stride + plain.offsets[segment]};
  }
};

/// Adds 1 to its element and sums what it wrote.
struct CountTerm {
  float* values;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    values[i] += 1;
    return static_cast<double>(values[i]);
  }
};

struct VisitKernel {
  int* visits;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { visits[i] += 1; }
};

struct CoordinateKernel {
  Index* values;
  Index columns;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    values[row * columns + column] += row * 10000 + column;
  }
};

/// Sums of x and of x^2 over the rows of a group.
struct ColumnSumsKernel {
  const float* values;  ///< [groups][rows][columns]
  Index rows, columns;
  double* sums;  ///< [groups][columns][2], added to
  ONEBIT_HOST_DEVICE device::ColumnTerms<2> operator()(Index group, Index row, Index column) const {
    const auto x = static_cast<double>(values[(group * rows + row) * columns + column]);
    return {{x, x * x}};
  }
  ONEBIT_HOST_DEVICE void put(Index group, Index column, const device::ColumnTerms<2>& found) const {
    for (Index k = 0; k < 2; ++k) sums[(group * columns + column) * 2 + k] += found.term[k];
  }
};

struct MultiplyKernel {
  float* values;
  float factor;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] *= factor; }
};

struct SignBitKernel {
  const float* values;
  Index stride;
  const Index* starts;
  ONEBIT_HOST_DEVICE bool operator()(Index row, Index segment, Index i) const {
    return device::sent_as_plus(values[row * stride + starts[segment] + i]);
  }
};

struct StoreKernel {
  float* target;
  const Index* starts;
  struct Element {
    float* target;
    ONEBIT_HOST_DEVICE void operator()(Index i, double mean) const { target[i] = static_cast<float>(mean); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {target + starts[segment]}; }
};

/// Stores the mean and sums what it stored.
struct StoreTerm {
  StoreKernel store;
  struct Element {
    float* target;
    ONEBIT_HOST_DEVICE double operator()(Index i, double mean) const {
      target[i] = static_cast<float>(mean);
      return static_cast<double>(target[i]);
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {store.bind(segment).target}; }
};

/// Stores the numbers that it takes, and sums them.
struct TakeTerm {
  StoreKernel store;
  struct Element {
    float* target;
    ONEBIT_HOST_DEVICE double operator()(Index i, float number) const {
      target[i] = number;
      return static_cast<double>(number);
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index segment) const { return {store.bind(segment).target}; }
};

struct MathKernel {
  const float* x;
  float* exps;
  float* erfs;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    exps[i] = device::exp(x[i]);
    erfs[i] = device::erf(x[i]);
  }
};

/// Rows of numbers, one item each, and what lanes find in a row.
struct LanesKernel {
  const float* values;
  Index n;
  float* doubled;
  double* found;  ///< [rows][4]: sum, largest, whether one is negative; how often one lane wrote

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    const float* x = values + row * n;
    float* twice = doubled + row * n;
    lanes.each(n, [=](Index i) { twice[i] = 2 * x[i]; });
    lanes.barrier();
    const double sum = lanes.sum(n, [=, this](Index i) { return static_cast<double>(twice[n - 1 - i]); });
    lanes.once([=, this] { found[4 * row] = sum; });
    const float most = lanes.largest(n, [=](Index i) { return x[i]; });
    lanes.once([=, this] { found[4 * row + 1] = static_cast<double>(most); });
    const bool negative = lanes.any(n, [=](Index i) { return x[i] < 0; });
    lanes.once([=, this] {
      found[4 * row + 2] = negative ? 1 : 0;
      found[4 * row + 3] += 1;
    });
  }
};

/// What lanes select from a row: the bytes that are at least `least`.
struct SelectKernel {
  const std::uint8_t* bytes;
  Index n;
  std::uint8_t least;
  Index rank;           ///< rank among the selected bytes, from 0
  Index* side_by_side;  ///< [n]
  Index* in_order;      ///< [n]
  Index* numbers;  ///< number selected, by either way; index of the selected byte of that rank; the byte with that rank
                   ///< from the top, its rank among equal bytes, and their number

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index, const Lanes& lanes) const {
    const auto chosen = [this](Index i) { return bytes[i] >= least; };
    const Index count = lanes.select(n, chosen, [this](Index before, const Index* found, Index together) {
      for (Index k = 0; k < together; ++k) side_by_side[before + k] = found[k];
    });
    Index place = 0;
    const Index ordered = lanes.template select<true>(n, chosen, [&, this](Index, const Index* found, Index together) {
      for (Index k = 0; k < together; ++k) in_order[place++] = found[k];
    });
    const Index nth = rank < count ? lanes.nth(n, rank, chosen) : -1;
    device::Ranked byte{0, 0, 0};
    if (rank < n) byte = lanes.ranked(n, rank + 1, [this](Index i) { return std::uint32_t{bytes[i]}; });
    lanes.once([&, this] {
      const Index all[] = {count, ordered, nth, Index{byte.bin}, byte.rank, byte.count};
      for (Index k = 0; k < 6; ++k) numbers[k] = all[k];
    });
  }
};

/// What lanes find in pieces of a row: the total size of each piece, its largest number, and how often one lane wrote.
struct PiecesKernel {
  const float* values;
  Index n, size;
  double* found;  ///< [pieces][3]

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index, const Lanes& lanes) const {
    lanes.each_piece(ceil_div(n, size), size, [this](Index piece, const auto& own) {
      const float* x = values + piece * size;
      const Index count = n - piece * size < size ? n - piece * size : size;
      const double sum = own.sum(count, [x](Index i) { return static_cast<double>(x[i]); });
      const float most = own.largest(count, [x](Index i) { return x[i]; });
      own.once([&, this] {
        found[3 * piece] = sum;
        found[3 * piece + 1] = static_cast<double>(most);
        found[3 * piece + 2] += 1;
      });
    });
  }
};

/// Adds each element's run to it.
struct RunsKernel {
  Index n, run;
  Index* values;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index, const Lanes& lanes) const {
    lanes.each_in_runs(n, run, [this](Index r) { return [r, to = values](Index i) { to[i] += r; }; });
  }
};

/// Random numbers of every kind.
struct RandomKernel {
  device::RandomKey key;
  Index bound;
  float* uniforms;
  float* normals;
  Index* indices;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const device::RandomCounter counter{3, 5, i};
    uniforms[i] = device::uniform(key, counter);
    normals[i] = device::normal(key, counter);
    indices[i] = device::uniform_index(key, counter, bound);
  }
};

}  // namespace onebit::tests
