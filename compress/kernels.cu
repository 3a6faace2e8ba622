#include "device/cuda/instantiate.cuh"
// The list comes after the macros that it uses.
#include "compress/kernels.inl"
