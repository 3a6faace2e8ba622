#include "device/math/gemm.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <numeric>

#include "device/cpu/rounding.hpp"

#include "tests/catch.hpp"
#include "tests/device/products.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

constexpr Precision kLess[] = {Precision::tf32, Precision::bf16};

/// Returns the largest error of a product relative to the sum of absolute terms. precision: that of the operands.
/// Leading dimensions exceed the matrices' widths.
double worst_error(const Device& device, const GemmShape& shape, Precision precision) {
  const Index lda = (shape.transpose_a ? shape.m : shape.k) + 2;
  const Index ldb = (shape.transpose_b ? shape.k : shape.n) + 3;
  const Index ldc = shape.n + 1;
  const Values a = oracle::normals((shape.transpose_a ? shape.k : shape.m) * lda + 1, 1);  // not empty for k = 0
  const Values b = oracle::normals((shape.transpose_b ? shape.n : shape.k) * ldb + 1, 2);
  const Values before = oracle::normals(shape.m * ldc, 3);
  const auto left = on(device, a), right = on(device, b);
  auto result = on(device, before);
  gemm(device, shape, {left.data(), lda, 0}, {right.data(), ldb, 0}, {result.data(), ldc, 0});
  const Values c = result.to_host();
  const Values a_taken = oracle::rounded(precision, a), b_taken = oracle::rounded(precision, b);
  double worst = 0;
  for (Index i = 0; i < shape.m; ++i) {
    for (Index j = 0; j < shape.n; ++j) {
      Element exact = element(shape, a_taken.data(), lda, b_taken.data(), ldb, i, j);
      const auto old = static_cast<double>(before[at(i * ldc + j)]);
      if (shape.accumulate) exact.value += old;
      exact.magnitude += 1 + std::fabs(old);
      worst = std::max(worst, std::fabs(static_cast<double>(c[at(i * ldc + j)]) - exact.value) / exact.magnitude);
    }
    if (c[at(i * ldc + shape.n)] != before[at(i * ldc + shape.n)]) return 1;  // wrote outside the matrix
  }
  return worst;
}

double worst_error(const Device& device, const GemmShape& shape) {
  return worst_error(device, shape, device.precision());
}

/// Rows [first, first + rows) of a product with the matrix b [k x n], or its transpose.
Values product_of_rows(const Values& a, const Values& b, GemmShape shape, Index first, Index rows,
                       Precision precision = Precision::fp32) {
  shape.m = rows;
  Values c(at(rows * shape.n));
  gemm(Device::cpu(1).with_precision(precision), shape, {a.data() + first * shape.k, shape.k, 0},
       {b.data(), shape.transpose_b ? shape.k : shape.n, 0}, {c.data(), shape.n, 0});
  return c;
}

}  // namespace

TEST_CASE("products agree with sums in double for all transposes") {
  const std::string backend = GENERATE(from_range(backends()));
  const Device device = device_of(backend);
  for (const Index m : {1, 16, 33, 130}) {
    for (const Index n : {1, 10, 65}) {
      for (const Index k : {0, 1, 7, 100}) {
        for (const bool transpose_a : {false, true}) {
          for (const bool transpose_b : {false, true}) {
            for (const bool accumulate : {false, true}) {
              CAPTURE(backend, m, n, k, transpose_a, transpose_b, accumulate);
              CHECK(worst_error(device, {m, n, k, transpose_a, transpose_b, accumulate}) < 1e-6);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("products larger than a block, a panel and a unit of work agree with sums in double") {
  const std::string backend = GENERATE(from_range(backends()));
  const Device device = device_of(backend);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const bool accumulate : {false, true}) {
        CAPTURE(backend, transpose_a, transpose_b, accumulate);
        CHECK(worst_error(device, {259, 75, 530, transpose_a, transpose_b, accumulate}) < 1e-6);
        CHECK(worst_error(device, {13, 48, 256, transpose_a, transpose_b, accumulate}) < 1e-6);
      }
    }
  }
}

TEST_CASE("products of whole numbers are exact") {
  constexpr Index m = 33, n = 17, k = 50;
  const Values a = oracle::whole_numbers(m * k, 30, 4);
  const Values b = oracle::whole_numbers(k * n, 30, 5);
  const Device device = device_of(GENERATE(from_range(backends())));
  const auto left = on(device, a), right = on(device, b);
  Buffer<float> result(device, m * n);
  const GemmShape shape{m, n, k};
  gemm(device, shape, {left.data(), k, 0}, {right.data(), n, 0}, {result.data(), n, 0});
  const Values c = result.to_host();
  bool exact = true;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      exact = exact && static_cast<double>(c[at(i * n + j)]) == element(shape, a.data(), k, b.data(), n, i, j).value;
    }
  }
  CHECK(exact);
}

TEST_CASE("products of rounded operands agree with sums in double for all transposes") {
  const std::string backend = GENERATE(from_range(backends()));
  const Index sizes[] = {0, 1, 31, 33};
  for (const Precision precision : kLess) {
    const Device device = device_of(backend).with_precision(precision);
    for (const Index m : sizes) {
      for (const Index n : sizes) {
        for (const Index k : sizes) {
          for (const bool transpose_a : {false, true}) {
            for (const bool transpose_b : {false, true}) {
              for (const bool accumulate : {false, true}) {
                CAPTURE(backend, oracle::mantissa_bits(precision), m, n, k, transpose_a, transpose_b, accumulate);
                CHECK(worst_error(device, {m, n, k, transpose_a, transpose_b, accumulate}) < product_tolerance(device));
              }
            }
          }
        }
      }
    }
    CHECK(worst_error(device, {259, 75, 530}) < product_tolerance(device));
    if (product_tolerance(device) < 1e-5) CHECK(worst_error(device, {33, 31, 33}, Precision::fp32) > 1e-5);
  }
}

namespace {

/// Numbers that the formats cannot hold exactly, numbers beyond their range, infinities and NaN.
Values special_numbers() {
  constexpr float inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  Values values = {0.0f,
                   1.0f,
                   0x1.00fp0f,
                   0x1.01p0f,
                   0x1.03p0f,
                   0x1.010001p0f,
                   0x1.001p0f,
                   0x1.003p0f,
                   0x1.001002p0f,
                   0x1.ffffp3f,
                   largest,
                   0x1.fep127f,
                   0x1.ff7ffep127f,
                   0x1.ffdp127f,
                   0x1.ffep127f,
                   0x1.fffp127f,
                   inf,
                   std::numeric_limits<float>::quiet_NaN(),
                   0x1p-126f,
                   0x1.01p-126f,
                   0x1.ffp-100f};
  const Values drawn = oracle::normals(500, 13);
  values.insert(values.end(), drawn.begin(), drawn.end());
  for (std::size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
  return values;
}

bool same_number(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("a number is rounded to the nearest one, ties to even, and infinity, NaN and the sign of zero stay") {
  Values values = special_numbers();
  values.insert(values.end(), {0x1p-149f, 0x1.8p-140f, 0x0.ffp-126f, 0x0.fffffep-126f});
  std::vector<std::uint32_t> nans = {0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFC00000u};
  values.resize(values.size() + nans.size());
  std::memcpy(&values[values.size() - nans.size()], nans.data(), nans.size() * sizeof(float));
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    const Values expected = oracle::rounded(precision, values);
    Values result(values.size());
    cpu::round_numbers(precision, values.data(), std::ssize(values), result.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(oracle::mantissa_bits(precision), values[i], result[i], expected[i]);
      CHECK(same_number(result[i], expected[i]));
      CHECK(std::signbit(result[i]) == std::signbit(values[i]));
    }
    cpu::round_numbers(precision, values.data(), std::ssize(values), values.data());
    CHECK(std::memcmp(values.data(), result.data(), values.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("products with 1 are their other operand, rounded, on either side") {
  const std::string backend = GENERATE(from_range(backends()));
  const Values values = special_numbers();
  const Index count = std::ssize(values);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    const Device device = device_of(backend).with_precision(precision);
    const auto numbers = on(device, values), one = on(device, Values{1.0f});
    Buffer<float> left(device, count), right(device, count);
    gemm(device, {count, 1, 1}, {numbers.data(), 1, 0}, {one.data(), 1, 0}, {left.data(), 1, 0});
    gemm(device, {1, count, 1}, {one.data(), 1, 0}, {numbers.data(), count, 0}, {right.data(), count, 0});
    const Values expected = oracle::rounded(precision, values), rows = left.to_host(), columns = right.to_host();
    const bool exact = product_tolerance(device) < 1e-5;
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(backend, oracle::mantissa_bits(precision), values[i], rows[i], columns[i], expected[i]);
      if (exact) CHECK((same_number(rows[i], expected[i]) && same_number(columns[i], expected[i])));
      if (!std::isfinite(values[i])) CHECK((same_number(rows[i], values[i]) && same_number(columns[i], values[i])));
    }
  }
}

TEST_CASE("a device's precision is kept by what is made of it, and a new device's is float32") {
  const Device device = device_of(GENERATE(from_range(backends())));
  CHECK(device.precision() == Precision::fp32);
  const Device rounding = device.with_precision(Precision::bf16);
  CHECK(rounding.precision() == Precision::bf16);
  CHECK(rounding.plan().precision() == Precision::bf16);
  CHECK(rounding.with_precision(Precision::tf32).precision() == Precision::tf32);
  CHECK(&rounding.memory() == &device.memory());
  CHECK(device.precision() == Precision::fp32);
}

TEST_CASE("a batch is its products, with strides, with shared matrices and on any number of threads") {
  const Precision precision = GENERATE(Precision::fp32, Precision::tf32, Precision::bf16);
  constexpr Index batch = 5, m = 70, n = 10, k = 20;
  const Values a = oracle::normals(batch * m * k, 6);
  const Values b = oracle::normals(batch * k * n, 7);
  for (const Index stride_a : {Index{0}, m * k}) {
    for (const Index stride_b : {Index{0}, k * n}) {
      Values expected(at(batch * m * n));
      for (Index i = 0; i < batch; ++i) {
        gemm(Device::cpu(1).with_precision(precision), {m, n, k}, {a.data() + i * stride_a, k, 0},
             {b.data() + i * stride_b, n, 0}, {expected.data() + i * m * n, n, 0});
      }
      for (const int threads : {1, 2, 3, 7, 16}) {
        CAPTURE(stride_a, stride_b, threads);
        Values c(at(batch * m * n));
        gemm_batched(Device::cpu(threads).with_precision(precision), {m, n, k}, {a.data(), k, stride_a},
                     {b.data(), n, stride_b}, {c.data(), n, m * n}, batch);
        CHECK(c == expected);
      }
    }
  }
}

TEST_CASE("a row's bits depend on neither its place nor the number of its neighbours") {
  constexpr Index rows = 300;
  for (const Index k : {3, 17, 64, 257, 784}) {
    const Values a = oracle::normals(rows * k, 8);
    for (const Index n : {10, 32, 128, 256, 257}) {
      const Values b = oracle::normals(k * n, 9);
      for (const bool transpose_b : {false, true}) {
        const GemmShape shape{.n = n, .k = k, .transpose_b = transpose_b};
        const Precision precision = n == 128 ? Precision::bf16 : Precision::fp32;
        const Values whole = product_of_rows(a, b, shape, 0, rows, precision);
        for (const Range slice : {Range{0, 16}, Range{16, 32}, Range{7, 1}, Range{101, 83}, Range{3, 253}}) {
          CAPTURE(k, n, transpose_b, slice.first, slice.count);
          const Values part = product_of_rows(a, b, shape, slice.first, slice.count, precision);
          CHECK(std::equal(part.begin(), part.end(), whole.begin() + slice.first * n));
        }
      }
    }
  }
}

TEST_CASE("a row among other rows keeps its bits") {
  constexpr Index rows = 16, k = 100, n = 37;
  const Values a = oracle::normals(rows * k, 10);
  const Values b = oracle::normals(k * n, 11);
  Values others = oracle::normals(rows * k, 12);
  std::copy_n(a.begin() + 3 * k, k, others.begin() + 9 * k);
  const GemmShape shape{.n = n, .k = k};
  const Values first = product_of_rows(a, b, shape, 0, rows);
  const Values second = product_of_rows(others, b, shape, 0, rows);
  CHECK(std::equal(first.begin() + 3 * n, first.begin() + 4 * n, second.begin() + 9 * n));
}
