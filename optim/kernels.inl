// All kernels of this library, compiled once per backend.
#include "optim/adam/cada_kernels.hpp"
#include "optim/sgd/dgc_kernels.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/lamb/lamb_kernels.hpp"
#include "optim/common/row_kernels.hpp"
#include "optim/sgd/sgd_kernels.hpp"
#include "optim/zero_one/zero_one_kernels.hpp"

ONEBIT_FOR_EACH(onebit::optim::ClipKernel);
ONEBIT_FOR_EACH(onebit::optim::DecayKernel);
ONEBIT_FOR_EACH(onebit::optim::FreshVarianceKernel);
ONEBIT_FOR_EACH(onebit::optim::LargestRatioKernel);
ONEBIT_FOR_EACH(onebit::optim::MomentKernel);
ONEBIT_FOR_EACH(onebit::optim::OuterStepKernel);
ONEBIT_FOR_EACH(onebit::optim::VarianceKernel);
ONEBIT_FOR_EACH(onebit::optim::ZeroOneSynchroniseKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::CopyRowsKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::DifferenceKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::LocalMomentaKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::MomentsRowsKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::MomentumRowsKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::PaddedMomentaKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::ReleasedDriftKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::SpreadKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::UploadKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::WorkerMomentumKernel);
ONEBIT_FOR_EACH_ROW(onebit::optim::ZeroOneDriftKernel);
ONEBIT_REDUCE(onebit::optim::AbsoluteTerm);
ONEBIT_REDUCE(onebit::optim::AdamKernel);
ONEBIT_REDUCE(onebit::optim::AdamMoveKernel);
ONEBIT_REDUCE(onebit::optim::AmsgradKernel);
ONEBIT_REDUCE(onebit::optim::DescentKernel);
ONEBIT_REDUCE(onebit::optim::DirectionTerm);
ONEBIT_REDUCE(onebit::optim::ForgetSentKernel);
ONEBIT_REDUCE(onebit::optim::InnovationTerm);
ONEBIT_REDUCE(onebit::optim::MaskedGradientTerm);
ONEBIT_REDUCE(onebit::optim::SynchroniseKernel);
ONEBIT_REDUCE(onebit::optim::MoveKernel);
ONEBIT_REDUCE(onebit::optim::MovingVarianceKernel);
ONEBIT_REDUCE(onebit::optim::ReleasedSynchroniseKernel);
ONEBIT_REDUCE(onebit::optim::ReleasedMoveKernel);
ONEBIT_REDUCE(onebit::optim::SgdMoveKernel);
ONEBIT_REDUCE(onebit::optim::SquareTerm);
ONEBIT_REDUCE(onebit::optim::TensorAbsoluteTerm);
ONEBIT_REDUCE(onebit::optim::TensorSquareTerm);
ONEBIT_REDUCE(onebit::optim::ZeroOneMoveKernel);
ONEBIT_REDUCE_SIGNS(onebit::optim::MoveKernel);
