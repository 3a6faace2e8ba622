// All kernels of this room, compiled once for each backend.
#include "device/comm/dense_sum_kernels.hpp"
#include "device/math/fill.hpp"

ONEBIT_FOR_EACH(onebit::device::FillKernel);
ONEBIT_FOR_EACH(onebit::device::JoinKernel);
