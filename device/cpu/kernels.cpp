#include "device/cpu/instantiate.hpp"
// The list has to come after the macros that it uses.
#include "device/kernels.inl"
