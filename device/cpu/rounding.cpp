#include "device/cpu/rounding.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace onebit::device::cpu {
namespace {

/// Without the last bits of the mantissa. Adding to the bits carries into the exponent as rounding up does.
template <unsigned dropped>
void round_numbers(const float* from, Index count, float* to) {
  constexpr std::uint32_t unit = 1u << dropped;
  for (Index i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + (unit / 2 - 1) + (bits >> dropped & 1)) & ~(unit - 1);
    to[i] = (bits & 0x7FFFFFFFu) > 0x7F800000u ? from[i] : std::bit_cast<float>(rounded);
  }
}

}  // namespace

void round_numbers(Precision precision, const float* from, Index count, float* to) {
  switch (precision) {
    case Precision::fp32:
      std::copy_n(from, count, to);
      return;
    case Precision::tf32:
      return round_numbers<13>(from, count, to);
    case Precision::bf16:
      return round_numbers<16>(from, count, to);
  }
}

void round_operands(const Queue& queue, std::initializer_list<Operand> operands) {
  if (queue.precision() == Precision::fp32) return;
  Index numbers = 0;
  for (const Operand& operand : operands) numbers += operand.size();
  if (numbers == 0) return;
  auto* room = reinterpret_cast<float*>(queue.workspace(ceil_div(numbers, 2)));
  for (const Operand& operand : operands) {
    const MatrixIn from = operand.matrix;
    const Batch batch = operand.different;
    const Index size = operand.rows * operand.columns;
    const MatrixIn to = {room, operand.columns, batch.outer == 1 ? 0 : batch.inner * size, batch.inner == 1 ? 0 : size};
    parallel(queue, batch.count() * operand.rows, [&](Index row) {
      const float* own = from.of(row / operand.rows, batch.inner) + row % operand.rows * from.leading;
      round_numbers(queue.precision(), own, operand.columns, room + row * operand.columns);
    });
    operand.matrix = to;
    room += operand.size();
  }
}

}  // namespace onebit::device::cpu
