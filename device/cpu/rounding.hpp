#pragma once
// Rounds operands of matrix products to fewer bits, as GPUs do; they are still stored as floats.

#include <initializer_list>

#include "device/math/gemm.hpp"

namespace onebit::device::cpu {

/// to[i] = from[i] rounded to nearest, ties to even. Numbers that become too large become infinity; NaN stays NaN. `to`
/// may be `from`.
void round_numbers(Precision precision, const float* from, Index count, float* to);

/// An operand of a batch, with its distinct matrices [rows][columns].
struct Operand {
  MatrixIn& matrix;
  Index rows, columns;
  Batch different;
  Index size() const { return different.count() * rows * columns; }
};

/// Replaces a product's operands by rounded copies, unless the queue's precision is float32. The copies are in the
/// queue's workspace: the next launch may overwrite them.
void round_operands(const Queue& queue, std::initializer_list<Operand> operands);

}  // namespace onebit::device::cpu
