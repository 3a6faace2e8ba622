#pragma once
// Operands of matrix products in fewer bits, as GPUs take them, still held in floats.

#include <initializer_list>

#include "device/math/gemm.hpp"

namespace onebit::device::cpu {

/// to[i] = from[i] rounded to nearest, ties to even. What becomes too large is infinity; NaN stays. `to` may be `from`.
void round_numbers(Precision precision, const float* from, Index count, float* to);

/// An operand of a batch, with its distinct matrices [rows][columns].
struct Operand {
  MatrixIn& matrix;
  Index rows, columns;
  Batch different;
  Index size() const { return different.count() * rows * columns; }
};

/// Replaces a product's operands by rounded copies, unless the queue's precision is float32. The copies lie in the
/// queue's workspace: the next launch may overwrite them.
void round_operands(const Queue& queue, std::initializer_list<Operand> operands);

}  // namespace onebit::device::cpu
