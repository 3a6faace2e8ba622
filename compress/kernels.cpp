#include "device/cpu/instantiate.hpp"
// The list of kernels must be included after the macros that it uses.
#include "compress/kernels.inl"
