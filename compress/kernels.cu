#include "device/cuda/instantiate.cuh"
// The list of kernels must be included after the macros that it uses.
#include "compress/kernels.inl"
