// Every kernel of this room: compiled once for each backend.
#include "compress/error_kernels.hpp"
#include "compress/sign_kernels.hpp"

ONEBIT_FOR_EACH(onebit::compress::AddKernel);
ONEBIT_FOR_EACH(onebit::compress::ScaleKernel);
ONEBIT_REDUCE(onebit::compress::ErrorKernel);
ONEBIT_REDUCE(onebit::compress::FeedKernel);
ONEBIT_REDUCE(onebit::compress::TermKernel);
ONEBIT_PACK_BITS(onebit::compress::SignKernel);
ONEBIT_FOR_EACH_SIGN_MEAN(onebit::compress::AddMeanKernel);
ONEBIT_FOR_EACH_SIGN_MEAN(onebit::compress::DecodeKernel);
ONEBIT_REDUCE_SIGN_MEAN(onebit::compress::ServeKernel);
