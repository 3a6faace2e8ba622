#pragma once
// The quantising codecs in double, an element at a time, by lists of levels instead of bits.

#include <algorithm>
#include <cmath>

#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

/// Returns the integers from 0 to largest.
inline Vector integers(int largest) {
  Vector levels;
  for (int i = 0; i <= largest; ++i) levels.push_back(i);
  return levels;
}

/// The non-negative numbers of a small float format up to `largest`, ascending: first the subnormal ones.
inline Vector small_floats(int bias, int mantissa_bits, double largest) {
  Vector levels;
  const int steps = 1 << mantissa_bits;
  for (int m = 0; m < steps; ++m) levels.push_back(std::ldexp(m, 1 - bias - mantissa_bits));
  for (int e = 1 - bias; levels.back() < largest; ++e) {
    for (int m = 0; m < steps && levels.back() < largest; ++m) {
      levels.push_back(std::ldexp(1 + static_cast<double>(m) / steps, e));
    }
  }
  return levels;
}

/// The level next to |x|, with the sign of x.
inline double nearest(const Vector& levels, double x) {
  double best = levels.front();
  for (const double level : levels) {
    if (std::fabs(level - std::fabs(x)) < std::fabs(best - std::fabs(x))) best = level;
  }
  return std::copysign(best, x);
}

/// Every block on its own: the largest magnitude becomes the largest level. block 0: one block.
inline Vector scaled(const std::vector<float>& y, std::size_t block, const Vector& levels) {
  Vector result;
  const std::size_t size = block > 0 ? block : y.size();
  for (std::size_t first = 0; first < y.size(); first += size) {
    const std::size_t end = std::min(first + size, y.size());
    double most = 0;
    for (std::size_t i = first; i < end; ++i) most = std::max(most, std::fabs(static_cast<double>(y[i])));
    const double scale = most / levels.back();
    for (std::size_t i = first; i < end; ++i) {
      result.push_back(most > 0 ? scale * nearest(levels, static_cast<double>(y[i]) / scale) : 0.0);
    }
  }
  return result;
}

/// A random number with two values.
struct Coin {
  double usual;
  double other;
  double chance;  ///< probability of `other`
  double mean() const { return usual + chance * (other - usual); }
  double variance() const { return chance * (1 - chance) * (other - usual) * (other - usual); }
  double thrown(double uniform) const { return uniform < chance ? other : usual; }
};
using Coins = std::vector<Coin>;

inline Coins qsgd(const std::vector<float>& y, std::size_t block, int levels, bool maximum) {
  Coins result;
  const std::size_t size = block > 0 ? block : y.size();
  for (std::size_t first = 0; first < y.size(); first += size) {
    const std::size_t end = std::min(first + size, y.size());
    double squares = 0, most = 0;
    for (std::size_t i = first; i < end; ++i) {
      squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
      most = std::max(most, std::fabs(static_cast<double>(y[i])));
    }
    const double scale = maximum ? most : std::sqrt(squares);
    for (std::size_t i = first; i < end; ++i) {
      const auto value = static_cast<double>(y[i]);
      const double x = scale > 0 ? levels * std::fabs(value) / scale : 0.0, below = std::floor(x);
      const double unit = std::copysign(scale / levels, value);
      result.push_back({unit * below, unit * (below + 1), x - below});
    }
  }
  return result;
}

/// `limit`: magnitude at which values are clipped.
inline Coins terngrad(const std::vector<float>& y, double scale, double limit) {
  Coins result;
  for (const float value : y) {
    const double size = std::min(std::fabs(static_cast<double>(value)), limit);
    result.push_back({0, std::copysign(scale, static_cast<double>(value)), size / scale});
  }
  return result;
}

inline Coins natural(const std::vector<float>& y) {
  Coins result;
  for (const float value : y) {
    int exponent = 0;
    const double half = std::fabs(std::frexp(static_cast<double>(value), &exponent));  // in [1/2, 1), or 0
    const double power = half > 0 ? std::copysign(std::ldexp(0.5, exponent), static_cast<double>(value)) : 0.0;
    result.push_back({power, 2 * power, half > 0 ? 2 * half - 1 : 0.0});
  }
  return result;
}

inline Vector two_means(const std::vector<float>& y) {
  double sums[2] = {0, 0}, counts[2] = {0, 0};
  for (const float value : y) {
    sums[value < 0] += static_cast<double>(value);
    counts[value < 0] += 1;
  }
  Vector result;
  for (const float value : y) result.push_back(sums[value < 0] / counts[value < 0]);
  return result;
}

}  // namespace onebit::oracle
