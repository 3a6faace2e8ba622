#pragma once
// The launchers of every backend in this build. They are found through the queue that Device::run hands out.

#include "device/cpu/launch.hpp"
#include "device/cpu/sign_bits.hpp"
