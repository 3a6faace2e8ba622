#include "device/math/sign_bits.hpp"

#include <limits>
#include <numeric>

#include "device/launch/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

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

/// Packed rows on a device, and what locates them.
struct Packed {
  Packed(const Device& device, const Cut& cut, const Bytes& host, Index row_count)
      : bytes(on(device, host)),
        byte_offsets(on(device, cut.byte_offsets)),
        starts(on(device, cut.starts)),
        chunks(device, cut.sizes),
        rows{row_count, bytes.data(), cut.bytes, byte_offsets.data()} {}
  Buffer<std::uint8_t> bytes;
  Buffer<Index> byte_offsets, starts;
  Chunks chunks;
  SignRows rows;
};

Bytes pack(const Device& device, const Cut& cut, const std::vector<float>& values, Index rows) {
  const Packed packed(device, cut, Bytes(static_cast<std::size_t>(rows * cut.bytes), 0xA5), rows);
  const auto data = on(device, values);
  pack_bits(device, packed.chunks, packed.rows, SignBitKernel{data.data(), cut.elements, packed.starts.data()});
  return packed.bytes.to_host();
}

/// Computes the mean of every element. If `sums` is given, it uses the launcher that also sums them by segment.
std::vector<float> mean_of(const Device& device, const Cut& cut, const Bytes& bytes, const std::vector<float>& scales,
                           Index rows, Index segments_per_scale = 1, std::vector<double>* sums = nullptr) {
  const Packed packed(device, cut, bytes, rows);
  const auto device_scales = on(device, scales);
  Buffer<float> mean(device, cut.elements);
  const ScaledSignRows scaled{packed.rows, device_scales.data(), static_cast<Index>(scales.size()) / rows,
                              segments_per_scale};
  const StoreKernel store{mean.data(), packed.starts.data()};
  if (sums == nullptr) {
    for_each_sign_mean(device, packed.chunks, scaled, store);
  } else {
    Buffer<double> device_sums(device, static_cast<Index>(cut.sizes.size()));
    reduce_sign_mean(device, packed.chunks, scaled, StoreTerm{store}, device_sums.data());
    *sums = device_sums.to_host();
  }
  return mean.to_host();
}

/// Computes the same means, one bit at a time.
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
  const Bytes bytes = pack(Device::cpu(1), cut, values, 1);
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
    for (const std::string& backend : backends()) {
      for (const int threads : {1, 2, 7}) {
        CAPTURE(size, backend, threads);
        CHECK(pack(device_of(backend, threads), cut, values, rows) == expected);
      }
    }
  }
}

TEST_CASE("packed signs come back as plus and minus the scale") {
  for (const Index size : kSizes) {
    const Cut cut({size, 3});
    const std::vector<float> values = oracle::normals(cut.elements, 6, size);
    const Bytes bytes = naive(cut, values, 1);
    std::vector<float> expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = static_cast<Index>(i) < size ? 0.75f : 3.0f;
      expected.push_back(values[i] >= 0 ? scale : -scale);
    }
    for (const std::string& backend : backends()) {
      CAPTURE(size, backend);
      CHECK(mean_of(device_of(backend), cut, bytes, {0.75f, 3.0f}, 1) == expected);
    }
  }
}

TEST_CASE("the mean over rows weighs every row with its own scale, in the documented order") {
  const Cut cut({4097});
  for (const Index rows : {2, 5, 8, 9, 16, 17, 67}) {
    const std::vector<float> values = oracle::normals(rows * cut.elements, 7);
    const std::vector<float> scales = oracle::normals(rows, 8);
    const Bytes bytes = naive(cut, values, rows);
    const auto block_sum = [&](Index first, Index i) {
      double sum = 0;
      for (Index row = first; row < std::min(rows, first + kSignBlock); ++row) {
        const double weight = static_cast<double>(scales[static_cast<std::size_t>(row)]) / static_cast<double>(rows);
        sum += values[static_cast<std::size_t>(row * cut.elements + i)] >= 0 ? weight : -weight;
      }
      return sum;
    };
    std::vector<float> expected;
    for (Index i = 0; i < cut.elements; ++i) {
      double sum = 0;
      for (Index row = 0; row < rows; row += 2 * kSignBlock) {
        const double pair = block_sum(row, i) + block_sum(row + kSignBlock, i);
        sum = row == 0 ? pair : sum + pair;
      }
      expected.push_back(static_cast<float>(sum));
    }
    for (const std::string& backend : backends()) {
      for (const int threads : {1, 2, 7}) {
        CAPTURE(rows, backend, threads);
        CHECK(mean_of(device_of(backend, threads), cut, bytes, scales, rows) == expected);
      }
    }
  }
}

TEST_CASE("the mean that is summed by segment is the same mean, and segments may share a scale") {
  const Cut cut({4097, 0, 33, 8000});
  for (const Index rows : {1, 3, 20}) {
    const std::vector<float> values = oracle::normals(rows * cut.elements, 9);
    const std::vector<float> shared = oracle::normals(2 * rows, 10);
    std::vector<float> scales;  // one for each segment: two of the first scale, two of the second
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      scales.insert(scales.end(), 2, shared[2 * row]);
      scales.insert(scales.end(), 2, shared[2 * row + 1]);
    }
    const Bytes bytes = naive(cut, values, rows);
    const std::vector<float> expected = mean_of(Device::cpu(1), cut, bytes, scales, rows);
    for (const std::string& backend : backends()) {
      CAPTURE(rows, backend);
      const Device device = device_of(backend, 3);
      std::vector<double> sums;
      CHECK(mean_of(device, cut, bytes, shared, rows, 2, &sums) == expected);
      const auto means = on(device, expected);
      Buffer<double> expected_sums(device, 4);
      const auto starts = on(device, cut.starts);
      reduce(device, 1, Chunks(device, cut.sizes), ValueTerm{means.data(), 0, starts.data()}, expected_sums.data());
      CHECK(sums == expected_sums.to_host());
    }
  }
}

TEST_CASE("a kernel takes packed signs from wherever its segments lie, and sums are those of reduce") {
  constexpr Index byte = 3, scale = 2;
  const Cut cut({1, 0, 33, 4097, 8200, 7});
  for (const Index per_scale : {8, 24, 2048, 4096, 4104, 1 << 20}) {
    for (const Index first : {0, 1, 13, 4099}) {
      const Index elements = first + cut.elements;
      const Bytes bits = naive(Cut({byte * 8 + elements}), oracle::normals(byte * 8 + elements, 11), 1);
      const std::vector<float> scales = oracle::normals(scale + ceil_div(elements, per_scale), 12);
      std::vector<float> expected;
      for (Index i = first; i < elements; ++i) {
        expected.push_back(sign_at(bits.data() + byte, i) * scales[static_cast<std::size_t>(scale + i / per_scale)]);
      }
      std::vector<SignPlace> places;
      for (const Index start : cut.starts) places.push_back({byte, scale, per_scale, first + start});
      for (const std::string& backend : backends()) {
        CAPTURE(per_scale, first, backend);
        const Device device = device_of(backend, 3);
        const Chunks chunks(device, cut.sizes);
        const auto device_bits = on(device, bits);
        const auto device_scales = on(device, scales);
        const auto device_places = on(device, places);
        const auto starts = on(device, cut.starts);
        Buffer<float> taken(device, cut.elements);
        Buffer<double> sums(device, chunks.segments()), expected_sums(device, chunks.segments());
        reduce_signs(device, chunks, SignVector{device_bits.data(), device_scales.data(), device_places.data()},
                     TakeTerm{{taken.data(), starts.data()}}, sums.data());
        CHECK(taken.to_host() == expected);
        const auto numbers = on(device, expected);
        reduce(device, 1, chunks, ValueTerm{numbers.data(), 0, starts.data()}, expected_sums.data());
        CHECK(sums.to_host() == expected_sums.to_host());
      }
    }
  }
}
