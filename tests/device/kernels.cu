#include "device/cuda/instantiate.cuh"
// The list uses macros of the header above.
#include "tests/device/kernels.inl"
