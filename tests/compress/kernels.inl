// The kernels of the example: compiled once for each backend.
#include "tests/compress/example_codec.hpp"

ONEBIT_SEGMENT_CODEC(onebit::compress::Largest);
