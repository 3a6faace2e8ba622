#pragma once
// Operands of matrix products in fewer bits, as GPUs take them, still held in floats.

#include <initializer_list>

#include "device/math/gemm.hpp"

namespace onebit::device::cpu {

/// to[i] = from[i] rounded to nearest, ties to even, what is too large to infinity; NaN stays. to may be from.
void round_numbers(Precision precision, const float* from, Index count, float* to);

/// The matrices [rows][columns] of a batch that differ.
struct Operand {
  MatrixIn& matrix;
  Index rows, columns;
  Batch different;
  Index size() const { return different.count() * rows * columns; }
};

/// Puts rounded copies in the place of a product's operands, unless the queue's precision is float32. They lie in the
/// queue's workspace: the next launch may overwrite them.
void round_operands(const Queue& queue, std::initializer_list<Operand> operands);

}  // namespace onebit::device::cpu
