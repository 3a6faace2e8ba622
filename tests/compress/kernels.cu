#include "device/cuda/instantiate.cuh"
// The list uses macros of the header above.
#include "tests/compress/kernels.inl"
