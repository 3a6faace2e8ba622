#pragma once
// Sparse vectors by plain code: which elements are the largest, and a payload read bit by bit.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace onebit::oracle {

/// Indices of the k elements of largest magnitude, of equal ones the first; ascending.
inline std::vector<std::size_t> largest(const std::vector<float>& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(static_cast<double>(values[a])) > std::fabs(static_cast<double>(values[b]));
  });
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

/// Indices of the elements that are not 0 and have at least this magnitude.
inline std::vector<std::size_t> at_least(const std::vector<float>& values, double threshold) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::fabs(static_cast<double>(values[i]));
    if (size > 0 && size >= threshold) result.push_back(i);
  }
  return result;
}

/// The values at some indices, 0 elsewhere.
inline std::vector<float> only(const std::vector<float>& values, const std::vector<std::size_t>& indices) {
  std::vector<float> result(values.size());
  for (const std::size_t i : indices) result[i] = values[i];
  return result;
}

/// Bits of bytes, lowest first.
class Bits {
 public:
  Bits(const std::vector<std::uint8_t>& bytes, std::size_t first) : bytes_(bytes), at_(8 * first) {}
  std::size_t number(std::size_t width) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value += static_cast<std::size_t>(bit()) << i;
    return value;
  }
  std::size_t unary() {
    std::size_t count = 0;
    while (bit() == 1) ++count;
    return count;
  }
  /// Whether the bits up to the next whole byte are 0.
  bool rest_is_zero() {
    while (at_ % 8 != 0) {
      if (bit() != 0) return false;
    }
    return true;
  }
  std::size_t byte() const { return at_ / 8; }

 private:
  int bit() {
    const int value = bytes_.at(at_ / 8) >> (at_ % 8) & 1;
    ++at_;
    return value;
  }
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_;
};

struct SparseMessage {
  std::vector<std::size_t> indices;
  std::vector<float> values;
  std::size_t bytes = 0;  ///< bytes read
  bool padded_with_zeros = false;
};

/// Reads what SparsePayload describes. known: the number of elements, if the message does not contain it.
inline SparseMessage read_sparse(const std::vector<std::uint8_t>& body, std::size_t n, bool counted, std::size_t known,
                                 bool gaps) {
  std::size_t number_bytes = 0;
  while (n >> (8 * number_bytes) != 0) ++number_bytes;
  std::size_t width = 0;
  while ((std::size_t{1} << width) < n) ++width;
  Bits header(body, 0);
  const std::size_t count = counted ? header.number(8 * number_bytes) : known;
  const std::size_t stream = gaps ? header.number(8 * number_bytes) : (count * width + 7) / 8;
  SparseMessage message;
  for (std::size_t j = 0; j < count; ++j) {
    float value = 0;
    std::memcpy(&value, &body.at(header.byte() + 4 * j), 4);
    message.values.push_back(value);
  }
  Bits bits(body, header.byte() + 4 * count);
  std::size_t remainder = 0;
  while (count > 0 && (std::size_t{2} << remainder) <= (n - count) / count) ++remainder;
  std::size_t next = 0;
  for (std::size_t j = 0; j < count; ++j) {
    if (gaps) {
      const std::size_t quotient = bits.unary();
      message.indices.push_back(next + (quotient << remainder) + bits.number(remainder));
      next = message.indices.back() + 1;
    } else {
      message.indices.push_back(bits.number(width));
    }
  }
  message.padded_with_zeros = bits.rest_is_zero();
  message.bytes = header.byte() + 4 * count + stream;
  return message;
}

}  // namespace onebit::oracle
