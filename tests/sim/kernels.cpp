#include "device/cpu/instantiate.hpp"
// The list follows the words that it is written in.
#include "tests/sim/kernels.inl"
