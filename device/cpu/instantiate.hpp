#pragma once
// Turns a room's list of kernels into the CPU launchers' instantiations; cuda/instantiate.cuh does the same for CUDA.

#include "device/cpu/launch.hpp"
#include "device/cpu/sign_bits.hpp"

#define ONEBIT_LAUNCHER(...) template void onebit::device::cpu::__VA_ARGS__
#define ONEBIT_QUEUE onebit::device::cpu::Queue

#include "device/launch/instantiate.hpp"
