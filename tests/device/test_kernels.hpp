#pragma once
// Kernels that test the launchers. They are compiled once for each backend, as a room's are.

#include "device/math.hpp"
#include "device/philox.hpp"
#include "device/sign_bits.hpp"

namespace onebit::tests {

/// An element of a row of segments.
struct ValueTerm {
  const float* values;
  Index stride;
  const Index* offsets;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    return static_cast<double>(values[row * stride + offsets[segment] + i]);
  }
};

/// The same with a lookup once a chunk.
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

struct ShrinkKernel {
  float* values;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] *= 1e-10f; }
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

struct MathKernel {
  const float* x;
  float* exps;
  float* erfs;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    exps[i] = device::exp(x[i]);
    erfs[i] = device::erf(x[i]);
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
