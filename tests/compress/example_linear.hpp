#pragma once

#include "compress/channels/channel.hpp"
#include "compress/channels/measure.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/sparse/sent_count.hpp"
#include "compress/feedback/error_kernels.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"

namespace onebit::compress {

/// Sends k elements of a segment, and at the next step the k elements after them; the last element is followed by the
/// first. All workers send the same elements, so the sum of their payloads is the payload of their sum.
struct Window {
  SentCount count;

  /// Index of the j-th element that is sent, of n.
  ONEBIT_HOST_DEVICE Index at(Index n, Index step, Index j) const { return (step * count.of(n) + j) % n; }

  // One segment of one worker, for servers and all-gathers: the step (int64) and the k values (float32).
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n > 0 ? 8 + 4 * count.of(n) : 0; }

  ONEBIT_HOST_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out) const {
    if (in.n == 0) return 0;
    store(out, in.random.step);
    for (Index j = 0; j < count.of(in.n); ++j) {
      float& y = in.y[at(in.n, in.random.step, j)];
      store(out + 8 + 4 * j, y);
      y = 0;
    }
    return bytes(in.n);
  }

  template <class Use>
  ONEBIT_HOST_DEVICE void decode(const std::uint8_t* in, Index n, Use use) const {
    if (n == 0) return;
    const auto step = load<Index>(in);
    for (Index j = 0; j < count.of(n); ++j) use(at(n, step, j), load<float>(in + 8 + 4 * j));
  }
};

/// Moves what is sent of a segment from the workers' errors to their payloads.
struct TakeWindowKernel {
  Window window;
  Index n, step;
  float* errors;
  Index stride;
  float* payloads;
  Index width;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index j) const {
    float& y = errors[row * stride + window.at(n, step, j)];
    payloads[row * width + j] = y;
    y = 0;
  }
};

/// Writes the means to the elements of a segment that were sent.
struct PlaceWindowKernel {
  Window window;
  Index n, step;
  const float* means;
  float* elements;
  ONEBIT_HOST_DEVICE void operator()(Index j) const { elements[window.at(n, step, j)] = means[j]; }
};

/// The all-reduce of the workers' payloads: k values (float32) of every segment, one segment after the other. Everybody
/// knows the step, so it is not sent.
class WindowMean final : public Channel {
 public:
  /// `layout` outlives the channel.
  WindowMean(const device::Shard& shard, const ExchangeLayout& layout, const Window& window)
      : shard_(shard),
        layout_(layout),
        window_(window),
        width_(width(layout, window)),
        refused_(shard.device, shard.own().count * layout.worker().count()),
        payloads_(shard.device, shard.own().count * width_),
        mean_(shard.device, width_),
        sum_(shard, width_) {}

  Index error_stride() const override { return layout_.state_size(); }
  bool revisits_errors() const override { return true; }  // worker_squares reads them as float32
  bool decodes_sums() const override { return true; }
  void renew_payloads() override {}

  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override {
    const SegmentTable& table = layout_.worker();
    add_error_feedback(shard_.device, table, group.count, input, {errors, error_stride()},
                       refused_.data() + (group.first - shard_.own().first) * table.count());
    each_segment([&](const Segment& s, Range sent) {
      for_each_row(shard_.device, group.count, sent.count,
                   TakeWindowKernel{window_, s.real, key.step, errors + s.state, error_stride(),
                                    payloads_.data() + sent.first, width_});
    });
    sum_.absorb(group, payloads_.data(), width_);
  }

  ExchangeSeconds exchange(const RngKey& key, StoredErrors&, device::Buffer<float>&, float* result,
                           netmodel::TrafficList& traffic) override {
    ExchangeSeconds seconds;
    device::Stopwatch watch(shard_.device);
    refusals_.clear();
    refusals_.add(refused_, shard_.own().count, layout_.worker().count(), shard_.own().first);
    sum_.take_mean(mean_.data());
    seconds.exchange = watch.lap();
    step_ = key.step;
    decode_mean(result);
    for (const netmodel::Traffic& record : plan()) traffic.push_back(record);
    seconds.server = watch.lap();
    return seconds;
  }

  netmodel::TrafficList plan() const override {
    if (width_ == 0) return {};
    netmodel::TrafficList traffic = DenseMean::plan(shard_.workers(), width_);
    traffic.front().overlaps_backward = false;  // all segments travel together, after the last gradient
    return traffic;
  }

  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override {
    device::Buffer<float> decoded(shard_.device, layout_.parameters());
    decode_mean(decoded.data());
    return row_squares(shard_, layout_, worker_errors.floats(), decoded.data());
  }

 private:
  static Index width(const ExchangeLayout& layout, const Window& window) {
    Index sum = 0;
    for (const Segment& segment : layout.worker().segments()) sum += window.count.of(segment.real);
    return sum;
  }

  /// Calls visit(segment, its part of a payload).
  template <class Visit>
  void each_segment(const Visit& visit) const {
    Range sent;
    for (const Segment& segment : layout_.worker().segments()) {
      sent = {sent.end(), window_.count.of(segment.real)};
      visit(segment, sent);
    }
  }

  void decode_mean(float* parameters) const {
    for_each(shard_.device, layout_.parameters(), ClearKernel{parameters});
    each_segment([&](const Segment& s, Range sent) {
      for_each(shard_.device, sent.count,
               PlaceWindowKernel{window_, s.real, step_, mean_.data() + sent.first, parameters + s.parameter});
    });
  }

  device::Shard shard_;
  const ExchangeLayout& layout_;
  Window window_;
  Index width_;                     ///< elements of a payload
  device::Buffer<Index> refused_;   ///< [workers of this device][segments]
  device::Buffer<float> payloads_;  ///< [workers of this device][width]
  device::Buffer<float> mean_;      ///< [width]
  device::DenseSum sum_;
  Index step_ = 0;  ///< step of mean_
};

}  // namespace onebit::compress
