// Every kernel of this room: compiled once for each backend.
#include "device/dense_sum_kernels.hpp"

ONEBIT_FOR_EACH(onebit::device::JoinKernel);
