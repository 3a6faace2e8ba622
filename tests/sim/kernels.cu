#include "device/cuda/instantiate.cuh"
// The list follows the words that it is written in.
#include "tests/sim/kernels.inl"
