// Vectors that are not finite, for every codec that refuses them, on every backend.
#include "compress/codecs/refusals.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

constexpr Index kRows = 3;

/// Rows of two tensors, encoded.
struct Encoded {
  Encoded(const CodecConfig& config, std::vector<float> values, const std::string& backend)
      : device(device_of(backend)),
        layout(device, std::vector<Index>{40, 60}, kRows, Granularity::tensor, Padding::wire_only),
        codec(make_codec(config)),
        payload(codec->make_payload(device, layout.worker(), kRows)) {
    if (codec->traits().shared_max) payload.shared_max.upload(std::vector<float>{4, 4});
    auto state = on(device, values);
    codec->encode(device, layout.worker(), {0, kRows}, {}, {}, {state.data(), layout.state_size()}, payload);
    errors = state.to_host();
  }

  device::Device device;
  ExchangeLayout layout;
  std::unique_ptr<Codec> codec;
  Payload payload;
  std::vector<float> errors;
};

std::vector<CodecConfig> refusing() {
  std::vector<CodecConfig> configs = all_codecs();
  std::erase_if(configs, [](const CodecConfig& config) { return !make_codec(config)->refuses(); });
  return configs;
}

}  // namespace

TEST_CASE("refusals: a segment that is not finite is encoded as zeros, all others as they are") {
  const std::vector<float> rows = oracle::normals(kRows * 100, 5);
  std::vector<float> bad = rows, zeros = rows;
  bad[100 + 43] = std::nanf("");
  bad[100 + 99] = std::numeric_limits<float>::infinity();
  std::fill_n(zeros.begin() + 140, 60, 0.0f);
  for (const CodecConfig& config : refusing()) {
    if (config.name == "sign") continue;  // has no zeros
    for (const std::string& backend : backends()) {
      CAPTURE(config.name, backend);
      const Encoded refused(config, bad, backend), expected(config, zeros, backend);
      CHECK(refused.payload.body.to_host() == expected.payload.body.to_host());
      CHECK(refused.payload.sizes.to_host() == expected.payload.sizes.to_host());
      CHECK(refused.errors == expected.errors);
      CHECK(refused.payload.refused.to_host() == std::vector<Index>{0, 0, 0, -44, 0, 0});
      CHECK(expected.payload.refused.to_host() == std::vector<Index>(6));
    }
  }
}

TEST_CASE("refusals: of several the first is reported, those of workers before others") {
  std::vector<float> rows = oracle::normals(kRows * 100, 5);
  for (const auto at : std::vector<std::size_t>{105, 143, 217}) rows[at] = -std::numeric_limits<float>::infinity();
  for (const CodecConfig& config : refusing()) {
    for (const std::string& backend : backends()) {
      CAPTURE(config.name, backend);
      const Encoded encoded(config, rows, backend);
      Refusals refusals;
      CHECK_FALSE(refusals.first());
      refusals.add(encoded.payload, 1, 8);
      CHECK_FALSE(refusals.first());
      refusals.add(encoded.payload, kRows, 8);
      refusals.add(encoded.payload, kRows);
      REQUIRE(refusals.first());
      CHECK(refusals.first()->worker == 9);
      CHECK(refusals.first()->state == 5);
      refusals.clear();
      refusals.add(encoded.payload, kRows);
      REQUIRE(refusals.first());
      CHECK_FALSE(refusals.first()->worker);
    }
  }
}
