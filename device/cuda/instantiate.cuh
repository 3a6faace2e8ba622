#pragma once
// Turns a room's list of kernels into the CUDA launchers' instantiations; cpu/instantiate.hpp does the same for the
// CPU.

#include "device/cuda/launch.cuh"

#define ONEBIT_LAUNCHER(...) template void onebit::device::cuda::__VA_ARGS__
#define ONEBIT_QUEUE onebit::device::cuda::Queue

#include "device/launch/instantiate.hpp"
