#include "device/cpu/instantiate.hpp"
// The list must come after the macros that it uses.
#include "sim/kernels.inl"
