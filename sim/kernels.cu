#include "device/cuda/instantiate.cuh"
// The list must come after the macros that it uses.
#include "sim/kernels.inl"
