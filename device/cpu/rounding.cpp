#include "device/cpu/rounding.hpp"

#include <algorithm>

#include "device/math/rounding.hpp"

namespace onebit::device::cpu {
namespace {

template <Precision precision>
void round_numbers(const float* from, Index count, float* to) {
  for (Index i = 0; i < count; ++i) to[i] = without_bits(from[i], dropped_bits(precision));
}

}  // namespace

void round_numbers(Precision precision, const float* from, Index count, float* to) {
  switch (precision) {
    case Precision::fp32:
      std::copy_n(from, count, to);
      return;
    case Precision::tf32:
      return round_numbers<Precision::tf32>(from, count, to);
    case Precision::bf16:
      return round_numbers<Precision::bf16>(from, count, to);
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
