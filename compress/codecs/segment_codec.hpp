#pragma once
// Turns a method, a plain struct with the maths of one segment, into a codec. docs/add-a-codec.md has an example.

#include <string>

#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/sparse/recorded_indices.hpp"
#include "compress/feedback/error_feedback.hpp"

namespace onebit::compress {

/// Codec of a method. A method has
///   Index bytes(Index n) const                    largest number of bytes for n elements on the wire,
///   Index encode(const SegmentInput&, uint8_t*)   encodes y, leaves the error in y, returns the bytes used,
///   void decode(const uint8_t*, Index n, use)     calls use(i, value) for every element that is sent,
/// and optionally
///   encode(in, out, lanes), decode(in, n, use, lanes)          instead of the two above, if all lanes run them,
///   bool keeps_dense(const Tensor&) const                      as in Codec,
///   double delta(Index n) const, double omega(Index n) const   the guarantees of Codec,
///   void set_density(double)                                   for sparse codecs,
///   double clip                                                clipping bound, for methods with a shared maximum,
///   RecordedIndices indices                                    if it accepts recorded indices,
///   SentCount count                                            required with `indices`,
///   static constexpr bool kVariableSize = true, kMemory = true,
///   double reads() const                                       passes that read y before the last one; without it, 1,
///   CodecPasses passes() const                                 instead of reads(), for a codec with other costs.
template <class Method>
class SegmentCodec final : public Codec {
 public:
  SegmentCodec(std::string_view name, Traits traits, Method method) : name_(name), traits_(traits), method_(method) {}

  std::string_view name() const override { return name_; }
  Traits traits() const override { return traits_; }
  Index body_bytes(const Segment& segment) const override { return method_.bytes(segment.active); }

  bool variable_size() const override {
    if constexpr (requires { Method::kVariableSize; }) return Method::kVariableSize;
    return false;
  }
  bool has_memory() const override {
    if constexpr (requires { Method::kMemory; }) return Method::kMemory;
    return false;
  }
  netmodel::CodecPasses passes() const override {
    if constexpr (requires { method_.passes(); }) {
      return method_.passes();
    } else if constexpr (requires { method_.reads(); }) {
      return passes_of(method_.reads(), traits_);
    } else {
      return passes_of(1, traits_);
    }
  }
  std::optional<double> delta(Index n) const override {
    if constexpr (requires { method_.delta(n); }) return method_.delta(n);
    return std::nullopt;
  }
  std::optional<double> omega(Index n) const override {
    if constexpr (requires { method_.omega(n); }) return method_.omega(n);
    return std::nullopt;
  }
  bool keeps_dense(const Tensor& tensor) const override {
    if constexpr (requires { method_.keeps_dense(tensor); }) return method_.keeps_dense(tensor);
    return false;
  }
  double clip() const override {
    if constexpr (requires { Method::clip; }) return method_.clip;
    return 0;
  }
  bool take_recorded(const device::Device& device, const SegmentTable& table, Index workers,
                     const RecordedDraws& draws) override {
    if constexpr (requires { method_.indices; }) {
      const std::optional<std::vector<Index>> found = recorded_indices(draws, table, workers, method_.count);
      if (!found) return false;
      recorded_ = device::Buffer<Index>::copy_of(device, *found);
      method_.indices = {recorded_.data(), workers, method_.count.of(table.state_end())};
      return true;
    }
    return false;
  }
  bool has_density() const override {
    return requires(Method method) {
      method.set_density(1.0);
    };
  }
  void set_density(double density) override {
    if constexpr (requires { method_.set_density(density); }) method_.set_density(density);
  }

  void encode(const device::Device& device, const SegmentTable& table, Range range, const EncodeInput& input,
              const RngKey& key, ErrorRows errors, Payload& payload) const override {
    const Index first = range.first * table.count();
    const device::Buffer<double> squares =
        add_error_feedback(device, table, range.count, input, errors, from(payload.refused, first));
    for_each_large_item(
        device, table.item_sizes(range.count),
        EncodeSegments<Method>{method_, table.device_segments(), table.count(), payload.offset_table.data(),
                               squares.data(), payload.shared_max.data(), key, errors.data, errors.stride,
                               payload.body.data() + range.first * payload.body_bytes, payload.body_bytes,
                               from(payload.sizes, first), from(payload.memory, first)});
  }

  void add_mean(const device::Device& device, const SegmentTable& table, const Payload& payload, Target where,
                float* target) const override {
    device::Buffer<double> sums(device, table.state_end());
    for_each_large_item(
        device, table.item_sizes(),
        AddDecoded<Method>{method_, table.device_segments(), payload.offset_table.data(), payload.body.data(),
                           payload.body_bytes, payload.rows, where == Target::parameters, sums.data(), target});
  }

  void decode(const device::Device& device, const SegmentTable& table, const Payload& payload, Index row,
              float* parameters) const override {
    for_each_large_item(device, table.item_sizes(),
                        DecodeSegments<Method>{method_, table.device_segments(), payload.offset_table.data(),
                                               payload.body.data() + row * payload.body_bytes, parameters});
  }

 private:
  template <class T>
  static T* from(device::Buffer<T>& buffer, Index first) {
    return buffer.size() > 0 ? buffer.data() + first : nullptr;
  }

  std::string name_;
  Traits traits_;
  Method method_;
  device::Buffer<Index> recorded_;
};

template <class Method>
std::unique_ptr<Codec> make_segment_codec(std::string_view name, Traits traits, Method method) {
  return std::make_unique<SegmentCodec<Method>>(name, traits, method);
}

}  // namespace onebit::compress
