#pragma once

#include <algorithm>

#include "compress/channels/exchange_config.hpp"
#include "device/comm/state.hpp"

namespace onebit::compress {

/// The errors of a device's workers from step to step, one row per worker, in the type that they are stored in. float32
/// rows are used in place. Rows of other types are expanded to float32 a few at a time, used, and stored again; what
/// rounding removes from an error is lost.
///
/// - bf16: 2 bytes per element, rounded to nearest even; at most 2^-8 of an element is lost.
/// - int8: 1 byte per element, and a float32 per 256 elements of a row; an element loses at most 1/254 of the largest
/// error among these 256.
///
/// An element that is not finite remains non-finite and does not affect other elements.
class StoredErrors {
 public:
  /// Starts with errors of 0.
  StoredErrors(const device::Device& device, Index rows, Index stride, ErrorType type);

  ErrorType type() const { return type_; }
  /// Whether errors are stored without loss.
  bool exact() const { return type_ == ErrorType::fp32; }
  /// Number of elements in all rows, and the bytes that they occupy.
  Index size() const { return rows_ * stride_; }
  Index bytes() const;

  /// Calls use(part, errors) for parts of the rows [range], in order. errors is [part][stride]; what `use` leaves there
  /// is stored.
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

  /// Calls use(part, errors) like edit(), but does not store the errors again: `use` only reads them.
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
  /// Visits worker_error (fp32), worker_error_bf16, or worker_error_int8 and worker_error_largest.
  void visit_state(device::StateVisitor& visitor);

  /// All rows if the type is fp32; empty for other types.
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
  device::Buffer<float> largest_;  ///< int8: max|e| of each block
};

}  // namespace onebit::compress
