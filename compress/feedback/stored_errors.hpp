#pragma once

#include <algorithm>

#include "compress/channels/exchange_config.hpp"
#include "device/comm/state.hpp"

namespace onebit::compress {

/// The errors of a device's workers from step to step, a row for each, in the type that they are kept in. float32 rows
/// are used where they lie. Of other types a few rows at a time are expanded to float32, used, and kept again: what
/// that rounds away of an error is lost.
///
/// bf16: 2 bytes an element, rounded to nearest even: at most 2^-9 of it is lost.
/// int8: 1 byte an element and a float32 for each 256 of a row: at most 1/254 of the largest error among them is lost.
///
/// What is not finite is not finite when it comes back, and does not change other elements.
class StoredErrors {
 public:
  /// Zeros.
  StoredErrors(const device::Device& device, Index rows, Index stride, ErrorType type);

  ErrorType type() const { return type_; }
  /// Whether keeping loses nothing.
  bool exact() const { return type_ == ErrorType::fp32; }
  /// Elements of all rows, and the bytes that they take.
  Index size() const { return rows_ * stride_; }
  Index bytes() const;

  /// Calls use(part, errors) for parts of the rows [range], in order: errors is [part][stride], and what is left there
  /// is kept.
  template <class Use>
  void edit(Range range, const Use& use) {
    for_each_part(range, rows_to_edit(), [&](Range part) {
      if (exact()) return use(part, floats_.data() + part.first * stride_);
      device::Buffer<float> errors(device_, part.count * stride_);
      expand(part, errors.data());
      use(part, errors.data());
      keep(part, errors.data());
    });
  }

  /// The same for errors that stay as they are.
  template <class Use>
  void read(Range range, const Use& use) const {
    for_each_part(range, rows_to_read(), [&](Range part) {
      if (exact()) return use(part, floats_.data() + part.first * stride_);
      device::Buffer<float> errors(device_, part.count * stride_);
      expand(part, errors.data());
      use(part, static_cast<const float*>(errors.data()));
    });
  }
  template <class Use>
  void read(const Use& use) const {
    read(Range{0, rows_}, use);
  }

  std::vector<float> to_host(Range range) const;
  std::vector<float> to_host() const { return to_host({0, rows_}); }

  void zero();
  void scale(float factor);
  /// worker_error; of another type worker_error_bf16, or worker_error_int8 and worker_error_largest.
  void visit_state(device::StateVisitor& visitor);

  /// All rows, of type fp32; empty for others.
  device::Buffer<float>& floats() { return floats_; }
  const device::Buffer<float>& floats() const { return floats_; }

 private:
  template <class Use>
  void for_each_part(Range range, Index rows, const Use& use) const {
    const Index most = exact() ? range.count : rows;
    for (Index first = range.first; first < range.end(); first += most) {
      use(Range{first, std::min(most, range.end() - first)});
    }
  }
  Index rows_to_edit() const;
  Index rows_to_read() const;
  void expand(Range part, float* errors) const;
  void keep(Range part, const float* errors);

  device::Device device_;
  Index rows_, stride_;
  ErrorType type_;
  device::Buffer<float> floats_;
  device::Buffer<std::uint16_t> bfloats_;
  device::Buffer<std::int8_t> bytes_;
  device::Buffer<float> largest_;  ///< of the bytes' blocks
};

}  // namespace onebit::compress
