#include "device/cpu/instantiate.hpp"
// The list uses macros of the header above.
#include "tests/device/kernels.inl"
