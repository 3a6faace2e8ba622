// The kernels of the examples: compiled once for each backend.
#include "tests/compress/example_codec.hpp"
#include "tests/compress/example_linear.hpp"

ONEBIT_SEGMENT_CODEC(onebit::compress::Largest);
ONEBIT_SEGMENT_CODEC(onebit::compress::Window);
ONEBIT_FOR_EACH_ROW(onebit::compress::TakeWindowKernel);
ONEBIT_FOR_EACH(onebit::compress::PlaceWindowKernel);
