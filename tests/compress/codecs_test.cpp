// Properties of every codec of the table.
#include <cmath>

#include "compress/channels/exchange_pattern.hpp"
#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/vectors.hpp"

using namespace onebit;
using Catch::Matchers::StartsWith;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

constexpr Index kWorkers = 7;

struct Setting {
  Granularity granularity;
  Padding padding;
};

std::vector<Setting> settings() {
  return {{Granularity::fused, Padding::wire_only},
          {Granularity::fused, Padding::as_data},
          {Granularity::tensor, Padding::wire_only},
          {Granularity::tensor, Padding::as_data}};
}

/// kWorkers rows of gradients, added to a shared vector and encoded in groups.
struct Encoding {
  Encoding(const Codec& codec, const Setting& setting, int threads, Index group, const std::string& backend = "cpu")
      : device(device_of(backend, threads)),
        layout(device, std::vector<Index>{4200, 0, 1, 37}, kWorkers, setting.granularity, setting.padding),
        payload(codec.make_payload(device, layout.worker(), kWorkers)),
        before(oracle::normals(kWorkers * layout.state_size(), 1)),
        shared(oracle::normals(layout.parameters(), 2)),
        rows(oracle::normals(kWorkers * layout.parameters(), 3)) {
    for (Index w = 0; w < kWorkers; ++w) factors.push_back(0.1f * static_cast<float>(w + 1));
    const auto device_shared = on(device, shared), device_rows = on(device, rows), device_factors = on(device, factors);
    auto state = on(device, before);
    if (codec.traits().shared_max) {
      payload.shared_max.upload(std::vector<float>(static_cast<std::size_t>(layout.worker().count()), 9.0f));
    }
    for (Index first = 0; first < kWorkers; first += group) {
      codec.encode(device, layout.worker(), {first, std::min(group, kWorkers - first)},
                   {.shared = device_shared.data(),
                    .shared_factor = 0.9f,
                    .rows = device_rows.data() + first * layout.parameters(),
                    .stride = layout.parameters(),
                    .factors = device_factors.data() + first},
                   {.seed = 7, .step = 3, .first_row = first},
                   {state.data() + first * layout.state_size(), layout.state_size()}, payload);
    }
    errors = state.to_host();
  }

  /// Returns what was encoded at a real element, in double.
  double y(Index worker, const Segment& segment, Index i) const {
    const auto parameter = static_cast<std::size_t>(segment.parameter + i);
    const auto row = static_cast<std::size_t>(worker * layout.parameters()) + parameter;
    const auto state = static_cast<std::size_t>(worker * layout.state_size() + segment.state + i);
    const auto factor = static_cast<double>(factors[static_cast<std::size_t>(worker)]);
    return 0.9 * static_cast<double>(shared[parameter]) + factor * static_cast<double>(rows[row]) +
           static_cast<double>(before[state]);
  }

  device::Device device;
  ExchangeLayout layout;
  Payload payload;
  std::vector<float> before, errors, shared, rows, factors;
};

void check_equal(const Encoding& encoding, const Encoding& reference) {
  CHECK(encoding.payload.body.to_host() == reference.payload.body.to_host());
  CHECK(encoding.payload.scales.to_host() == reference.payload.scales.to_host());
  CHECK(encoding.errors == reference.errors);
}

}  // namespace

TEST_CASE("codec names and texts are there, and a name makes its codec") {
  for (const CodecEntry& entry : codecs()) {
    CHECK_FALSE(entry.doc.empty());
    CHECK(make_codec({.name = std::string(entry.name)})->name() == entry.name);
  }
}

TEST_CASE("an unknown codec is named with the nearest ones") {
  CHECK_THROWS_WITH(make_codec({.name = "sign-l3"}), "unknown codec (sign-l3); did you mean sign-l2?");
  CHECK_THROWS_WITH(make_codec({.name = "qqqq"}), StartsWith("unknown codec (qqqq); "));
  CHECK_THROWS_AS(make_codec({.name = ""}), ConfigError);
}

TEST_CASE("a payload occupies what its codec says") {
  for (const CodecEntry& entry : codecs()) {
    const auto codec = entry.make({});
    for (const Setting& setting : settings()) {
      const Encoding encoding(*codec, setting, 1, kWorkers);
      for (const SegmentTable* table : {&encoding.layout.worker(), &encoding.layout.server()}) {
        const Payload payload = codec->make_payload(encoding.device, *table, 3);
        Index body = 0, scales = 0;
        for (const Segment& segment : table->segments()) {
          body += codec->body_bytes(segment);
          scales += codec->scale_bytes(segment);
        }
        CHECK(payload.body_bytes == body);
        CHECK(payload.scale_bytes == scales);
        CHECK(payload.body.size() == 3 * body);
        CHECK(payload.scales.size() == 3 * table->count() * codec->scales_per_segment());
        CHECK(payload.wire_bytes() == body + scales);
      }
    }
  }
}

TEST_CASE("payloads and errors have the same bits for all groups, threads and backends") {
  for (const CodecEntry& entry : codecs()) {
    const auto codec = entry.make({});
    for (const Setting& setting : settings()) {
      const Encoding reference(*codec, setting, 1, kWorkers);
      for (const auto& [threads, group] :
           std::vector<std::pair<int, Index>>{{1, 1}, {1, 3}, {2, kWorkers}, {7, 1}, {7, kWorkers}}) {
        CAPTURE(entry.name, threads, group);
        check_equal(Encoding(*codec, setting, threads, group), reference);
      }
      for (const std::string& backend : backends()) {
        CAPTURE(entry.name, backend);
        check_equal(Encoding(*codec, setting, 2, 3, backend), reference);
      }
    }
  }
}

// Three roundings of terms up to a few units.
TEST_CASE("what is decoded and the new error add up to what was encoded") {
  for (const CodecEntry& entry : codecs()) {
    const auto codec = entry.make({});
    for (const Setting& setting : settings()) {
      const Encoding encoding(*codec, setting, 2, 3);
      device::Buffer<float> device_decoded(encoding.device, encoding.layout.parameters());
      double worst = 0;
      for (Index w = 0; w < kWorkers; ++w) {
        codec->decode(encoding.device, encoding.layout.worker(), encoding.payload, w, device_decoded.data());
        const std::vector<float> decoded = device_decoded.to_host();
        for (const Segment& segment : encoding.layout.worker().segments()) {
          for (Index i = 0; i < segment.real; ++i) {
            const double y = encoding.y(w, segment, i);
            const auto state = static_cast<std::size_t>(w * encoding.layout.state_size() + segment.state + i);
            const auto sent = static_cast<double>(decoded[static_cast<std::size_t>(segment.parameter + i)]);
            worst = std::max(worst, std::fabs(sent + static_cast<double>(encoding.errors[state]) - y) /
                                        (1 + std::fabs(y) + std::fabs(sent)));
          }
        }
      }
      CAPTURE(entry.name);
      CHECK(worst < 6e-7);
    }
  }
}

TEST_CASE("a contraction's error is shorter than the row") {
  for (const CodecEntry& entry : codecs()) {
    const auto codec = entry.make({});
    if (!codec->traits().contraction) continue;
    const device::Device device = device::Device::cpu(1);
    const ExchangeLayout layout(device, std::vector<Index>{100}, 1, Granularity::fused, Padding::wire_only);
    Payload payload = codec->make_payload(device, layout.worker(), 1);
    std::vector<float> one_hot(100);
    one_hot[3] = 5;
    for (const std::vector<float>& row : {oracle::normals(100, 4), one_hot, std::vector<float>(100, -2.0f)}) {
      std::vector<float> error = row;
      codec->encode(device, layout.worker(), {0, 1}, {}, {}, {error.data(), 100}, payload);
      CAPTURE(entry.name);
      CHECK(oracle::norm(error) < oracle::norm(row));
    }
  }
}

TEST_CASE("only the L1 scale promises a contraction") {
  CHECK(make_codec({.name = "sign-l1"})->traits().contraction);
  CHECK_FALSE(make_codec({.name = "sign-l2"})->traits().contraction);
  CHECK(make_codec({.name = "sign-l2"})->traits().sliceable);
  CHECK(make_codec({.name = "sign-l2"})->traits().deterministic);
}

TEST_CASE("codecs: the bytes that kernels touch for an element, counted by hand") {
  const auto passes = [](const CodecConfig& config) { return make_codec(config)->passes(); };
  // Read gradient and error, write their sum: 12. Then each pass that reads it: 4; and the error, read and written: 8
  CHECK(passes({.name = "sign-l2"}) ==
        netmodel::CodecPasses{.encode = 20, .serve = 16, .decode = 4, .scattered = 0, .released = 176});
  CHECK(passes({.name = "sign-l1"}).released == 0);
  CHECK(passes({.name = "natural"}).encode == 20);
  CHECK(passes({.name = "bf16"}).encode == 20);
  CHECK(passes({.name = "int8"}) == netmodel::CodecPasses{.encode = 24, .serve = 20, .decode = 4});
  CHECK(passes({.name = "qsgd"}).encode == 24);
  CHECK(passes({.name = "terngrad"}).encode == 24);
  CHECK(passes({.name = "onebit"}).encode == 32);
  // Three passes of a radix selection, and one that finds what is sent. An entry of 52 bits takes 64 bytes to add
  const netmodel::CodecPasses top_k = passes({.name = "top-k"});
  CHECK((top_k.encode == 28 && top_k.decode == 4));
  CHECK(top_k.scattered == Approx(64 / 6.5));
  CHECK(passes({.name = "threshold"}).encode == 20);
  CHECK(passes({.name = "top-k-sampled", .sample = 0.01}).encode == Approx(12 + 4 + 0.01 * 3 * 32 + 4));
  CHECK(passes({.name = "random-k"}) == netmodel::CodecPasses{.encode = 12, .serve = 8, .decode = 4, .scattered = 16});
  CHECK(passes({.name = "power-sgd"}).encode == 32);
  // Five scattered additions for an element (64 bytes each), and later five reads (32 bytes each)
  const netmodel::CodecPasses sketch = passes({.name = "count-sketch", .sketch_rows = 5});
  CHECK((sketch.encode == 12 + 5 * 64 && sketch.decode == 5 * 32 + 4 + 12 + 12));
  for (const CodecEntry& codec : codecs()) {
    CAPTURE(codec.name);
    CHECK(passes({.name = std::string(codec.name)}).encode >= 12);
  }
}

TEST_CASE("codecs: an exchange serves and decodes with the servers' codec") {
  ExchangeConfig config;
  CHECK(passes_of(config).released == 176);
  config.down = "int8";
  CHECK(passes_of(config) == netmodel::CodecPasses{.encode = 20, .serve = 20, .decode = 4});
}
