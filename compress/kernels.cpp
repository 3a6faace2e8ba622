#include "device/cpu/instantiate.hpp"
// The list comes after the macros that it uses.
#include "compress/kernels.inl"
