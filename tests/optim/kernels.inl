// The kernels of the example: compiled once for each backend.
#include "tests/optim/example_sgd.hpp"

ONEBIT_REDUCE(onebit::optim::SgdKernel);
