// The sign codec encodes a segment in both passes at once; the bits are those of one pass after the other.

#include <numeric>

#include "compress/codecs/quantized/sign.hpp"
#include "compress/feedback/error_feedback.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

const std::vector<Index> kSizes = {33, 0, 1, 4097, 31, 70001, 4096};

enum class Fed { nothing, rows, shared, weighted };

constexpr Index kMostRows = 6;

/// The same numbers for every device: drawing them takes longer than encoding them.
const std::vector<float>& numbers(std::uint32_t seed) {
  static const std::vector<std::vector<float>> drawn = [] {
    const Index size = std::accumulate(kSizes.begin(), kSizes.end(), Index{0});
    std::vector<std::vector<float>> all;
    for (std::uint32_t i = 0; i < 4; ++i) all.push_back(oracle::normals(kMostRows * size, i));
    return all;
  }();
  return drawn[seed];
}

/// Rows to encode, on a device.
class Rows {
 public:
  Rows(const device::Device& device, Index rows, Fed fed)
      : device_(device),
        layout_(device, kSizes, 1, Granularity::tensor, Padding::wire_only),
        rows_(rows),
        errors_(on(device, numbers(0))),
        gradients_(on(device, numbers(1))),
        shared_(on(device, numbers(2))),
        weights_(on(device, numbers(3))),
        factors_(on(device, std::vector<float>{0.1f, -0.3f, 1, 0.7f, 2, 0.1f})) {
    if (fed == Fed::nothing) return;
    input_ = {.rows = gradients_.data(), .stride = layout_.parameters(), .factors = factors_.data()};
    if (fed == Fed::rows) return;
    input_.shared = shared_.data();
    input_.shared_factor = 0.9f;
    if (fed == Fed::weighted) input_.weights = weights_.data();
  }

  struct Outcome {
    std::vector<std::uint8_t> bits;
    std::vector<float> scales, errors;
    bool operator==(const Outcome&) const = default;
  };

  Outcome together(ScaleNorm norm) {
    const SignCodec codec(norm);
    Payload payload = codec.make_payload(device_, table(), rows_);
    codec.encode(device_, table(), {0, rows_}, input_, {}, {errors_.data(), layout_.state_size()}, payload);
    return {payload.body.to_host(), payload.scales.to_host(), errors_.to_host()};
  }

  Outcome one_after_the_other(ScaleNorm norm) {
    Payload payload = SignCodec(norm).make_payload(device_, table(), rows_);
    const Index stride = layout_.state_size();
    device::Buffer<double> sums(device_, rows_ * table().count());
    feed_terms(device_, table(), rows_, input_, {errors_.data(), stride}, ScaleTerm{norm}, sums.data());
    const Segment* segments = table().device_segments();
    for_each(device_, sums.size(), ScaleKernel{segments, table().count(), sums.data(), payload.scales.data(), {norm}});
    pack_bits(device_, table().active(),
              device::SignRows{rows_, payload.body.data(), payload.body_bytes, table().device_byte_offsets()},
              SignKernel{segments, table().count(), payload.scales.data(), errors_.data(), stride});
    return {payload.body.to_host(), payload.scales.to_host(), errors_.to_host()};
  }

 private:
  const SegmentTable& table() const { return layout_.worker(); }

  device::Device device_;
  ExchangeLayout layout_;
  Index rows_;
  device::Buffer<float> errors_, gradients_, shared_, weights_, factors_;
  EncodeInput input_;
};

}  // namespace

TEST_CASE("sign: both passes over a segment at once give the bits of one after the other") {
  for (const Fed fed : {Fed::nothing, Fed::rows, Fed::shared, Fed::weighted}) {
    for (const ScaleNorm norm : {ScaleNorm::l2, ScaleNorm::l1, ScaleNorm::unit}) {
      const Index rows = fed == Fed::shared ? kMostRows : 2;
      const Rows::Outcome expected = Rows(device::Device::cpu(1), rows, fed).one_after_the_other(norm);
      CAPTURE(static_cast<int>(fed), static_cast<int>(norm));
      for (const int threads : {1, 2, 3, 7}) {
        CAPTURE(threads);
        CHECK((Rows(device::Device::cpu(threads), rows, fed).together(norm) == expected));
      }
      for (const std::string& backend : backends()) {
        CAPTURE(backend);
        CHECK((Rows(device_of(backend), rows, fed).together(norm) == expected));
      }
    }
  }
}
