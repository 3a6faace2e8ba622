// Batches of products on two levels.

#include <array>

#include "device/math/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/device/products.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

/// Layout of a batch with two levels: the inner matrices side by side in the same rows, as the heads of an example are,
/// or one after the other; or one matrix shared by all of a level.
enum class Lie { beside, in_line, outer_shared, inner_shared };

constexpr Precision kLess[] = {Precision::tf32, Precision::bf16};

constexpr Lie kLies[] = {Lie::beside, Lie::in_line, Lie::outer_shared, Lie::inner_shared};

/// Returns matrices [rows][columns] with gaps between their rows.
template <class T>
Matrices<T> lay(Lie lie, T* data, Index rows, Index columns, Batch batch) {
  const Index wide = batch.inner * columns + 3, narrow = columns + 1;
  switch (lie) {
    case Lie::beside:
      return {data, wide, rows * wide, columns};
    case Lie::in_line:
      return {data, narrow, batch.inner * rows * narrow, rows * narrow};
    case Lie::outer_shared:
      return {data, wide, 0, columns};
    default:
      return {data, narrow, rows * narrow, 0};
  }
}

/// Operands and a result with such layouts.
class TwoLevels {
 public:
  /// Draws whole numbers, whose products are exact on every device.
  TwoLevels(const GemmShape& shape, Batch batch, Lie a, Lie b, Lie c)
      : TwoLevels(shape, batch, a, b, c,
                  [](Index count, std::uint32_t seed) { return oracle::whole_numbers(count, 30, seed); }) {}
  template <class Draw>
  TwoLevels(const GemmShape& shape, Batch batch, Lie a, Lie b, Lie c, const Draw& draw)
      : shape_(shape), batch_(batch), lie_a_(a), lie_b_(b), lie_c_(c) {
    const Index count = std::max<Index>(batch.count(), 1);
    a_ = draw(count * (shape.m + 3) * (shape.k + 3), 14);
    b_ = draw(count * (shape.k + 3) * (shape.n + 3), 15);
    c_ = draw(count * (shape.m + 3) * (shape.n + 3), 16);
  }

  Values by(const Device& device) const {
    const auto left = on(device, a_), right = on(device, b_);
    auto result = on(device, c_);
    gemm_batched(device, shape_, a(left.data()), b(right.data()), c(result.data()), batch_);
    return result.to_host();
  }

  /// Computes every product by a function for one product. The gaps keep their values.
  template <class Multiply>
  Values one_by_one(const Multiply& multiply) const {
    Values result = c_;
    const MatrixIn left = a(a_.data()), right = b(b_.data());
    const MatrixOut out = c(result.data());
    for (Index o = 0; o < batch_.outer; ++o) {
      for (Index h = 0; h < batch_.inner; ++h) {
        multiply(shape_, MatrixIn{left.data + o * left.stride + h * left.inner, left.leading},
                 MatrixIn{right.data + o * right.stride + h * right.inner, right.leading},
                 MatrixOut{out.data + o * out.stride + h * out.inner, out.leading});
      }
    }
    return result;
  }

 private:
  MatrixIn a(const float* data) const {
    const auto [rows, columns] = shape_.transpose_a ? std::pair{shape_.k, shape_.m} : std::pair{shape_.m, shape_.k};
    return lay(lie_a_, data, rows, columns, batch_);
  }
  MatrixIn b(const float* data) const {
    const auto [rows, columns] = shape_.transpose_b ? std::pair{shape_.n, shape_.k} : std::pair{shape_.k, shape_.n};
    return lay(lie_b_, data, rows, columns, batch_);
  }
  MatrixOut c(float* data) const { return lay(lie_c_, data, shape_.m, shape_.n, batch_); }

  GemmShape shape_;
  Batch batch_;
  Lie lie_a_, lie_b_, lie_c_;
  Values a_, b_, c_;
};

/// Computes a product by plain loops in double.
void multiply_in_double(const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c) {
  for (Index i = 0; i < shape.m; ++i) {
    for (Index j = 0; j < shape.n; ++j) {
      float& out = c.data[i * c.leading + j];
      const double before = shape.accumulate ? static_cast<double>(out) : 0;
      out = static_cast<float>(before + element(shape, a.data, a.leading, b.data, b.leading, i, j).value);
    }
  }
}

}  // namespace

TEST_CASE("a batch of two levels is its products for all sizes and transposes") {
  const std::string backend = GENERATE(from_range(backends()));
  const Device device = device_of(backend);
  for (const auto& [m, n, k] : {std::array<Index, 3>{0, 1, 1}, {1, 0, 1}, {2, 3, 0}, {1, 1, 1}, {31, 33, 7}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const bool accumulate : {false, true}) {
          for (const Lie lie : {Lie::beside, Lie::in_line}) {
            CAPTURE(backend, m, n, k, transpose_a, transpose_b, accumulate, static_cast<int>(lie));
            const GemmShape shape{m, n, k, transpose_a, transpose_b, accumulate};
            const TwoLevels batch(shape, {2, 3}, lie, lie, lie);
            CHECK(batch.by(device) == batch.one_by_one(multiply_in_double));
          }
        }
      }
    }
  }
}

TEST_CASE("a batch of two levels is its products, however many there are and wherever they lie") {
  const std::string backend = GENERATE(from_range(backends()));
  const Device device = device_of(backend);
  for (const Batch& batch : {Batch(0, 2), Batch(2, 0), Batch(1, 1), Batch(1, 3), Batch(3, 1), Batch(2, 3)}) {
    for (const Lie a : kLies) {
      for (const Lie b : kLies) {
        for (const Lie c : {Lie::beside, Lie::in_line}) {
          CAPTURE(backend, batch.outer, batch.inner, static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
          const TwoLevels products({5, 7, 4}, batch, a, b, c);
          CHECK(products.by(device) == products.one_by_one(multiply_in_double));
        }
      }
    }
  }
}

TEST_CASE("the quarters of matrices are multiplied in less precision too") {
  const Device cpu = Device::cpu(1);
  constexpr Index size = 8, half = 4;
  const Values a = oracle::whole_numbers(size * size, 30, 18), b = oracle::whole_numbers(size * size, 30, 19);
  const auto quarters = [&](const Device& device) {
    const auto left = on(device, a), right = on(device, b);
    auto out = Buffer<float>::zeros(device, size * size);
    gemm_batched(device, {half, half, half}, {left.data(), size, half * size, half},
                 {right.data(), size, half * size, half}, {out.data(), size, half * size, half}, {2, 2});
    return out.to_host();
  };
  const Device device = device_of(GENERATE(from_range(backends())));
  for (const Precision precision : kLess) CHECK(quarters(device.with_precision(precision)) == quarters(cpu));
}

/// Heads of odd width begin between the multiples of 16 bytes that the tensor cores read.
TEST_CASE("a batch of two levels is its products in less precision too, wherever its matrices begin") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const Precision precision : kLess) {
    const Device device = device_of(backend).with_precision(precision);
    for (const Index width : {3, 4, 5, 8}) {
      for (const Batch& batch : {Batch(2, 3), Batch(3, 2)}) {
        CAPTURE(backend, oracle::mantissa_bits(precision), width, batch.outer, batch.inner);
        for (const bool transpose_b : {false, true}) {
          const GemmShape shape{.m = 5, .n = width, .k = width, .transpose_b = transpose_b, .accumulate = transpose_b};
          const TwoLevels products(shape, batch, Lie::beside, Lie::beside, Lie::beside);
          CHECK(products.by(device) == products.one_by_one(multiply_in_double));
        }
      }
    }
  }
}

TEST_CASE("products of a batch of two levels have the bits of single ones, on any number of threads") {
  const Precision precision = GENERATE(Precision::fp32, Precision::tf32, Precision::bf16);
  for (const Lie a : kLies) {
    for (const Lie b : kLies) {
      const auto draw = [](Index count, std::uint32_t seed) { return oracle::normals(count, seed); };
      const TwoLevels products({70, 10, 200, false, true}, {2, 3}, a, b, Lie::beside, draw);
      const Values expected = products.one_by_one([&](const GemmShape& shape, MatrixIn x, MatrixIn y, MatrixOut z) {
        gemm(Device::cpu(1).with_precision(precision), shape, x, y, z);
      });
      for (const int threads : {1, 2, 3, 7, 16}) {
        CAPTURE(static_cast<int>(a), static_cast<int>(b), threads);
        CHECK(products.by(Device::cpu(threads).with_precision(precision)) == expected);
      }
    }
  }
}
