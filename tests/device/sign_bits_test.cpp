#include "device/cpu/sign_bits.hpp"

#include <limits>
#include <numeric>

#include "device/buffer.hpp"
#include "tests/catch.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;

namespace {

using Bytes = std::vector<std::uint8_t>;

const std::vector<Index> kSizes = {1, 7, 8, 31, 32, 33, 4097};

/// Segments of a row, each padded to 16 bytes beyond what it needs.
struct Cut {
  explicit Cut(std::vector<Index> segment_sizes) : sizes(std::move(segment_sizes)) {
    for (const Index size : sizes) {
      starts.push_back(elements);
      byte_offsets.push_back(bytes);
      elements += size;
      bytes += ceil_div(size, 8) + 16;
    }
  }
  std::vector<Index> sizes, starts, byte_offsets;
  Index elements = 0, bytes = 0;
};

struct Sign {
  const float* values;
  Index stride;
  const Index* starts;
  bool operator()(Index row, Index segment, Index i) const {
    return sent_as_plus(values[row * stride + starts[segment] + i]);
  }
};

Bytes pack(int threads, const Cut& cut, const std::vector<float>& values, Index rows) {
  Bytes bytes(static_cast<std::size_t>(rows * cut.bytes), 0xA5);
  Device::cpu(threads).run([&](const auto& queue) {
    pack_bits(queue, Chunks(cut.sizes), {rows, bytes.data(), cut.bytes, cut.byte_offsets.data()},
              Sign{values.data(), cut.elements, cut.starts.data()});
  });
  return bytes;
}

/// The same, a bit at a time.
Bytes naive(const Cut& cut, const std::vector<float>& values, Index rows) {
  Bytes bytes(static_cast<std::size_t>(rows * cut.bytes), 0xA5);
  for (Index row = 0; row < rows; ++row) {
    for (std::size_t s = 0; s < cut.sizes.size(); ++s) {
      for (Index i = 0; i < round_up(cut.sizes[s], 8); ++i) {
        const Index element = row * cut.elements + cut.starts[s] + i;
        const bool plus = i >= cut.sizes[s] || values[static_cast<std::size_t>(element)] >= 0;
        const unsigned mask = 1u << (7 - i % 8);
        std::uint8_t& byte = bytes[static_cast<std::size_t>(row * cut.bytes + cut.byte_offsets[s] + i / 8)];
        byte = static_cast<std::uint8_t>(plus ? byte | mask : byte & ~mask);
      }
    }
  }
  return bytes;
}

struct Store {
  float* target;
  const Index* starts;
  struct Element {
    float* target;
    void operator()(Index i, double mean) const { target[i] = static_cast<float>(mean); }
  };
  Element bind(Index segment) const { return {target + starts[segment]}; }
};

}  // namespace

TEST_CASE("zero of either sign is sent as plus, NaN as minus") {
  CHECK(sent_as_plus(0.0f));
  CHECK(sent_as_plus(-0.0f));
  CHECK(sent_as_plus(std::numeric_limits<float>::denorm_min()));
  CHECK(sent_as_plus(std::numeric_limits<float>::infinity()));
  CHECK_FALSE(sent_as_plus(-std::numeric_limits<float>::denorm_min()));
  CHECK_FALSE(sent_as_plus(-std::numeric_limits<float>::infinity()));
  CHECK_FALSE(sent_as_plus(std::numeric_limits<float>::quiet_NaN()));
}

TEST_CASE("the first element is the highest bit") {
  const Cut cut({11});
  const std::vector<float> values = {1, -1, -1, 1, -1, -1, -1, -1, -1, 1, -1};
  const Bytes bytes = pack(1, cut, values, 1);
  CHECK(bytes[0] == 0x90);
  CHECK(bytes[1] == 0x5F);  // 010, then padding bits 1
  CHECK(bytes[2] == 0xA5);  // not touched
  CHECK(sign_at(bytes.data(), 0) == 1);
  CHECK(sign_at(bytes.data(), 1) == -1);
  CHECK(sign_at(bytes.data(), 9) == 1);
  CHECK(sign_at(bytes.data(), 10) == -1);
}

TEST_CASE("packing equals a bit-by-bit packer for all sizes, threads and special values") {
  constexpr Index rows = 3;
  for (const Index size : kSizes) {
    const Cut cut({size, 0, 5, size});
    std::vector<float> values = oracle::normals(rows * cut.elements, 5, size);
    for (std::size_t i = 0; i < values.size(); i += 11) values[i] = -0.0f;
    for (std::size_t i = 3; i < values.size(); i += 13) values[i] = std::numeric_limits<float>::quiet_NaN();
    const Bytes expected = naive(cut, values, rows);
    for (const int threads : {1, 2, 7}) {
      CAPTURE(size, threads);
      CHECK(pack(threads, cut, values, rows) == expected);
    }
  }
}

TEST_CASE("packed signs come back as plus and minus the scale") {
  for (const Index size : kSizes) {
    const Cut cut({size, 3});
    const std::vector<float> values = oracle::normals(cut.elements, 6, size);
    Bytes bytes = pack(1, cut, values, 1);
    const std::vector<float> scales = {0.75f, 3.0f};
    std::vector<float> decoded(values.size());
    Device::cpu(2).run([&](const auto& queue) {
      for_each_sign_mean(queue, Chunks(cut.sizes), {1, bytes.data(), cut.bytes, cut.byte_offsets.data()}, scales.data(),
                         Store{decoded.data(), cut.starts.data()});
    });
    std::vector<float> expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = static_cast<Index>(i) < size ? 0.75f : 3.0f;
      expected.push_back(values[i] >= 0 ? scale : -scale);
    }
    CAPTURE(size);
    CHECK(decoded == expected);
  }
}

TEST_CASE("the mean over rows weighs every row with its own scale") {
  const Cut cut({4097});
  constexpr Index rows = 5;
  const std::vector<float> values = oracle::normals(rows * cut.elements, 7);
  const std::vector<float> scales = {1, 2, 4, 8, 16};
  Bytes bytes = pack(1, cut, values, rows);
  std::vector<float> expected;
  for (Index i = 0; i < cut.elements; ++i) {
    double sum = 0;
    for (Index row = 0; row < rows; ++row) {
      const auto scale = static_cast<double>(scales[static_cast<std::size_t>(row)]);
      sum += values[static_cast<std::size_t>(row * cut.elements + i)] >= 0 ? scale : -scale;
    }
    expected.push_back(static_cast<float>(sum / rows));
  }
  for (const int threads : {1, 2, 7}) {
    std::vector<float> mean(static_cast<std::size_t>(cut.elements));
    Device::cpu(threads).run([&](const auto& queue) {
      for_each_sign_mean(queue, Chunks(cut.sizes), {rows, bytes.data(), cut.bytes, cut.byte_offsets.data()},
                         scales.data(), Store{mean.data(), cut.starts.data()});
    });
    CHECK(mean == expected);
  }
}
