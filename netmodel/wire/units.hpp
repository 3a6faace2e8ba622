#pragma once
// Types for quantities in SI units: bytes, seconds, bytes per second. "GB" is 1e9 bytes; bits never appear in the code.

#include <compare>

namespace onebit::netmodel {

namespace detail {

/// A number with a unit. Quantities of the same unit can be added, subtracted, compared, and divided by one another,
/// and each can be multiplied by a number. Bytes can be divided by a rate or a time. Anything else has to use `value`.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(factor * a.value); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;
};

}  // namespace detail

using Bytes = detail::Quantity<struct BytesTag>;
using Seconds = detail::Quantity<struct SecondsTag>;
using BytesPerSecond = detail::Quantity<struct BytesPerSecondTag>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds(bytes.value / rate.value);
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return BytesPerSecond(bytes.value / time.value);
}

constexpr Seconds microseconds(double value) {
  return Seconds(value * 1e-6);
}
constexpr BytesPerSecond gigabytes_per_second(double value) {
  return BytesPerSecond(value * 1e9);
}

}  // namespace onebit::netmodel
