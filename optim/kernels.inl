// Every kernel of this room: compiled once for each backend.
#include "optim/kernels.hpp"

ONEBIT_FOR_EACH(onebit::optim::LocalMomentumKernel);
ONEBIT_REDUCE(onebit::optim::AbsoluteTerm);
ONEBIT_REDUCE(onebit::optim::AdamKernel);
ONEBIT_REDUCE(onebit::optim::FrozenAdamKernel);
ONEBIT_REDUCE(onebit::optim::MaskedGradientTerm);
ONEBIT_REDUCE(onebit::optim::SquareTerm);
