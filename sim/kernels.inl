// Every kernel of sim, compiled once for each backend.
#include "optim/adam/adam_kernels.hpp"
#include "sim/data/example_kernels.hpp"
#include "sim/layers/sequence/attention_kernels.hpp"
#include "sim/layers/boundary_kernels.hpp"
#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/image/image_kernels.hpp"
#include "sim/layers/kernels.hpp"
#include "sim/layers/sequence/layer_norm_kernels.hpp"
#include "sim/layers/margin_kernels.hpp"
#include "sim/layers/recommender/bag_kernels.hpp"
#include "sim/layers/recommender/factorization_kernels.hpp"
#include "sim/layers/recommender/interaction_kernels.hpp"
#include "sim/layers/image/norm_kernels.hpp"
#include "sim/models/penalty.hpp"
#include "sim/models/quadratic_kernels.hpp"
#include "sim/probe/denominator_kernels.hpp"
#include "sim/probe/probe_kernels.hpp"
#include "sim/probe/theory_kernels.hpp"

ONEBIT_FOR_EACH(onebit::sim::ActivationSlopeKernel<onebit::sim::Gelu>);
ONEBIT_FOR_EACH(onebit::sim::ActivationSlopeKernel<onebit::sim::Relu>);
ONEBIT_FOR_EACH(onebit::sim::AddKernel);
ONEBIT_FOR_EACH(onebit::sim::AlongKernel);
ONEBIT_FOR_EACH(onebit::sim::CopyBagsKernel);
ONEBIT_FOR_EACH(onebit::sim::CopyKernel);
ONEBIT_FOR_EACH(onebit::sim::DrawNormalTableKernel);
ONEBIT_FOR_EACH(onebit::sim::DrawTableKernel);
ONEBIT_FOR_EACH(onebit::sim::FactorizationKernel);
ONEBIT_FOR_EACH(onebit::sim::MarginDeltaKernel);
ONEBIT_FOR_EACH(onebit::sim::MarginLogitsKernel);
ONEBIT_FOR_EACH(onebit::sim::MaskKernel);
ONEBIT_FOR_EACH(onebit::sim::MinusKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::AttentionDeltaKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::AttentionKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::CrossEntropyKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::LayerNormDeltaKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::LayerNormKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::MaxPoolGradientKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::RowAdagradKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::RunningStatisticsKernel);
ONEBIT_FOR_EACH_ITEM(onebit::sim::TokenOrderKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::sim::PositiveRanksKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::AddFirstKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::AveragePoolGradientKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::AveragePoolKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::BiasActivationKernel<onebit::sim::Gelu>);
ONEBIT_FOR_EACH_ROW(onebit::sim::BiasActivationKernel<onebit::sim::Identity>);
ONEBIT_FOR_EACH_ROW(onebit::sim::BiasActivationKernel<onebit::sim::Relu>);
ONEBIT_FOR_EACH_ROW(onebit::sim::ByteExamplesKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::CopyColumnsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::DropoutKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::EmbedGradientKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::EmbedKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::FactorizationDeltaKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::FieldDeltaKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::FieldSumsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::FloatExamplesKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::LowerTriangleKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::MaxPoolKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::NormDeltaKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::NormDeltaTermsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::NormGradientKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::NormKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::NormStatisticsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::PackBoundaryKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::PoolKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::RowGradientKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::RowSgdKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::SpreadPartsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::StackKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::SumPartsKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::SymmetricKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::TransposeKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::UnpackBoundaryKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::UnstackKernel);
ONEBIT_FOR_EACH_ROW(onebit::sim::ZeroRowsKernel);
ONEBIT_REDUCE(onebit::sim::AgreementTerm);
ONEBIT_REDUCE(onebit::sim::CrossingSquareTerm);
ONEBIT_REDUCE(onebit::sim::DistanceTerm);
ONEBIT_REDUCE(onebit::sim::DriftTerm);
ONEBIT_REDUCE(onebit::sim::GradientPairTerm);
ONEBIT_REDUCE(onebit::sim::GradientProductTerm);
ONEBIT_REDUCE(onebit::sim::LabelLossTerm);
ONEBIT_REDUCE(onebit::sim::MeasureTerm);
ONEBIT_REDUCE(onebit::sim::PenaltyGradientTerm);
ONEBIT_REDUCE(onebit::sim::PenaltyTerm);
ONEBIT_REDUCE(onebit::sim::QuadraticGradientTerm);
ONEBIT_REDUCE(onebit::sim::QuadraticValueTerm);
ONEBIT_REDUCE(onebit::sim::SentTerm);
ONEBIT_REDUCE(onebit::sim::TensorTerm<onebit::optim::AbsoluteTerm>);
ONEBIT_REDUCE(onebit::sim::TensorTerm<onebit::optim::SquareTerm>);
ONEBIT_SUM_COLUMNS(onebit::sim::BiasGradientKernel);
ONEBIT_SUM_COLUMNS(onebit::sim::ChannelSumsKernel);
ONEBIT_SUM_COLUMNS(onebit::sim::LayerNormGradientKernel);
