#include "compress/codecs/codec.hpp"

#include "compress/codecs/segment_kernels.hpp"
#include "compress/feedback/error_feedback.hpp"

namespace onebit::compress {

Payload Codec::make_payload(const device::Device& device, const SegmentTable& table, Index rows) const {
  Payload payload;
  payload.rows = rows;
  payload.scale_count = scales_per_segment() * table.count();
  for (const Segment& segment : table.segments()) {
    payload.offsets.push_back(payload.body_bytes);
    payload.body_bytes += body_bytes(segment);
    payload.scale_bytes += scale_bytes(segment);
  }
  payload.offsets.push_back(payload.body_bytes);
  payload.offset_table = device::Buffer<Index>::copy_of(device, payload.offsets);
  payload.body = device::Buffer<std::uint8_t>(device, rows * payload.body_bytes);
  device.memory().fill(payload.body.data(), 0xFF, payload.body.size());
  payload.scales = device::Buffer<float>(device, rows * payload.scale_count);
  if (variable_size()) payload.sizes = device::Buffer<Index>::zeros(device, rows * table.count());
  if (refuses()) payload.refused = device::Buffer<Index>(device, rows * table.count());
  if (has_memory()) payload.memory = device::Buffer<float>::zeros(device, rows * table.count());
  if (traits().shared_max) payload.shared_max = device::Buffer<float>(device, table.count());
  return payload;
}

void Codec::serve(const device::Device& device, const SegmentTable& chunks, const Codec& up, const Payload& arrived,
                  const RngKey& key, ErrorRows errors, Payload& payload) const {
  up.add_mean(device, chunks, arrived, Target::state, errors.data);
  if (traits().shared_max) {
    for_each_large_item(
        device, chunks.item_sizes(),
        LargestKernel{chunks.device_segments(), errors.data, errors.stride, 1, clip(), payload.shared_max.data()});
  }
  encode(device, chunks, {0, 1}, {}, key, errors, payload);
}

device::Buffer<double> add_error_feedback(const device::Device& device, const SegmentTable& table, Index rows,
                                          const EncodeInput& input, ErrorRows errors, Index* refused) {
  device::Buffer<double> squares(device, rows * table.count());
  feed_terms(device, table, rows, input, errors, SquareOfTerm{}, squares.data());
  refuse(device, table, rows, squares.data(), errors, refused);
  return squares;
}

namespace {

constexpr double kFeed = 12, kReading = 4, kChanging = 8;  // bytes

double last_pass(const Traits& traits) {
  return traits.sparse ? kReading : kChanging;
}

}  // namespace

netmodel::CodecPasses passes_of(double reads, const Traits& traits) {
  constexpr double entry = 6.5;  // bytes of a value and of 20 bits of index
  netmodel::CodecPasses passes;
  passes.encode = kFeed + kReading * reads + last_pass(traits);
  passes.serve = passes.encode - kFeed + kChanging;
  passes.decode = sizeof(float);
  if (traits.sparse) passes.scattered = netmodel::kScatteredBytes / entry;
  return passes;
}

double feedback_passes(const Traits& traits) {
  return kFeed + last_pass(traits) - kReading;
}

}  // namespace onebit::compress
