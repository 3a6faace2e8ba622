#include "compress/codecs/quantized/sign.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Encoded {
  std::vector<float> decoded, error, scales;
  std::vector<std::uint8_t> bytes;
};

/// Encodes one row of one worker; the only padding is that to whole bytes.
Encoded encode_on(const std::string& backend, ScaleNorm norm, const std::vector<float>& row) {
  const device::Device device = device_of(backend);
  const SignCodec codec(norm);
  const std::vector<Index> sizes = {static_cast<Index>(row.size())};
  const ExchangeLayout layout(device, sizes, 1, Granularity::fused, Padding::wire_only);
  Payload payload = codec.make_payload(device, layout.worker(), 1);
  auto error = on(device, row);
  device::Buffer<float> decoded(device, error.size());
  codec.encode(device, layout.worker(), {0, 1}, {}, {}, {error.data(), layout.state_size()}, payload);
  codec.decode(device, layout.worker(), payload, 0, decoded.data());
  return {decoded.to_host(), error.to_host(), payload.scales.to_host(), payload.body.to_host()};
}

/// Whether two vectors have the same bits. A NaN equals any other: inf - inf is negative on x86 and positive on a GPU.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

/// Encodes on the CPU, and checks that every other backend gives the same bits.
Encoded encode(ScaleNorm norm, const std::vector<float>& row) {
  const Encoded first = encode_on("cpu", norm, row);
  for (const std::string& backend : backends()) {
    const Encoded other = encode_on(backend, norm, row);
    CAPTURE(backend);
    CHECK(other.bytes == first.bytes);
    CHECK(std::isnan(other.scales[0]) == std::isnan(first.scales[0]));
    if (std::isnan(first.scales[0])) continue;  // the bits of a NaN are unspecified
    CHECK(same_bits(other.scales, first.scales));
    CHECK(same_bits(other.decoded, first.decoded));
    CHECK(same_bits(other.error, first.error));
  }
  return first;
}

bool plus_zeros(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v == 0 && !std::signbit(v); });
}

}  // namespace

TEST_CASE("the scales are the root mean square and the mean size") {
  const std::vector<float> row = {3, -4, 0, 0, 0, 0, 0, 0, 12, 0};
  CHECK(encode(ScaleNorm::l2, row).scales[0] == Approx(13 / std::sqrt(10.0)));
  CHECK(encode(ScaleNorm::l1, row).scales[0] == Approx(1.9));
}

TEST_CASE("bits, decoded values and errors of a small row") {
  const Encoded small = encode(ScaleNorm::l1, {1, -3, 2, -2, 0, -0.0f, 4, -4, -1, 3});
  CHECK(small.scales == std::vector<float>{2});
  CHECK(small.bytes == std::vector<std::uint8_t>{0xAE, 0x7F});  // 10101110 01, then padding 1
  CHECK(small.decoded == std::vector<float>{2, -2, 2, -2, 2, 2, 2, -2, -2, 2});
  CHECK(small.error == std::vector<float>{-1, -1, 0, 0, -2, -2, 2, -2, 1, 1});
}

TEST_CASE("zeros of either sign decode to plus zero and leave no error") {
  for (const auto norm : {ScaleNorm::l1, ScaleNorm::l2}) {
    for (const float zero : {0.0f, -0.0f}) {
      const Encoded zeros = encode(norm, std::vector<float>(33, zero));
      CHECK(plus_zeros(zeros.decoded));
      CHECK(zeros.error == std::vector<float>(33));
      CHECK(zeros.scales[0] == 0);
      CHECK(zeros.bytes == std::vector<std::uint8_t>(5, 0xFF));
    }
  }
}

TEST_CASE("a one-hot row spreads over all elements and the error takes it back") {
  std::vector<float> row(64);
  row[17] = -8;
  const Encoded l2 = encode(ScaleNorm::l2, row);
  CHECK(l2.scales[0] == 1);
  CHECK(l2.decoded[17] == -1);
  CHECK(l2.decoded[0] == 1);
  CHECK(l2.error[17] == -7);
  CHECK(l2.error[63] == -1);
  CHECK(encode(ScaleNorm::l1, row).scales[0] == 0.125f);
}

TEST_CASE("NaN makes the scale and all that is decoded NaN") {
  for (const auto norm : {ScaleNorm::l1, ScaleNorm::l2}) {
    std::vector<float> row = oracle::normals(33, 1);
    row[20] = kNan;
    const Encoded encoded = encode(norm, row);
    CHECK(std::isnan(encoded.scales[0]));
    for (const float value : encoded.decoded) CHECK(std::isnan(value));
    for (const float value : encoded.error) CHECK(std::isnan(value));
  }
}

TEST_CASE("Inf makes the scale infinite") {
  for (const auto norm : {ScaleNorm::l1, ScaleNorm::l2}) {
    const Encoded encoded = encode(norm, {1, -2, -kInf, 4});
    CHECK(encoded.scales[0] == kInf);
    CHECK(encoded.decoded == std::vector<float>{kInf, -kInf, -kInf, kInf});
  }
}

TEST_CASE("a NaN stays in its own segment and row") {
  const device::Device device = device::Device::cpu(1);
  const SignCodec codec(ScaleNorm::l2);
  const std::vector<Index> sizes = {5, 9};
  const ExchangeLayout layout(device, sizes, 2, Granularity::tensor, Padding::wire_only);
  Payload payload = codec.make_payload(device, layout.worker(), 2);
  std::vector<float> errors(28, 1.0f);
  errors[14 + 4] = kNan;  // row 1, segment 0
  codec.encode(device, layout.worker(), {0, 2}, {}, {}, {errors.data(), 14}, payload);
  const std::vector<float> scales = payload.scales.to_host();
  CHECK(scales[0] == 1);
  CHECK(scales[1] == 1);
  CHECK(std::isnan(scales[2]));
  CHECK(scales[3] == 1);
}

TEST_CASE("large and tiny numbers neither overflow nor vanish in the norm") {
  CHECK(encode(ScaleNorm::l2, std::vector<float>(9, 3e38f)).scales[0] == 3e38f);
  CHECK(encode(ScaleNorm::l2, std::vector<float>(9, 1.2e-38f)).scales[0] == 1.2e-38f);  // the smallest normal ones
}
