// The kernels of the example: compiled once for each backend.
#include "tests/sim/models/example_layer.hpp"

ONEBIT_FOR_EACH_ROW(onebit::sim::GainKernel);
ONEBIT_SUM_COLUMNS(onebit::sim::GainGradientKernel);
