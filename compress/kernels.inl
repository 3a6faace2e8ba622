// All kernels of this library, compiled once per backend.
#include "compress/feedback/audit_kernels.hpp"
#include "compress/channels/count_sketch.hpp"
#include "compress/feedback/error_kernels.hpp"
#include "compress/codecs/quantized/few_bits.hpp"
#include "compress/codecs/quantized/float_codecs.hpp"
#include "compress/channels/global_top_k_kernels.hpp"
#include "compress/channels/low_rank.hpp"
#include "compress/channels/power_sgd_kernels.hpp"
#include "compress/codecs/quantized/qsgd.hpp"
#include "compress/codecs/sparse/random_k.hpp"
#include "compress/codecs/quantized/scaled_codecs.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/quantized/sign_kernels.hpp"
#include "compress/feedback/stored_error_kernels.hpp"
#include "compress/codecs/sparse/threshold.hpp"
#include "compress/codecs/sparse/top_k.hpp"

ONEBIT_FOR_EACH(onebit::compress::AddKernel);
ONEBIT_FOR_EACH(onebit::compress::ClearKernel);
ONEBIT_FOR_EACH(onebit::compress::CopyKernel);
ONEBIT_FOR_EACH(onebit::compress::EstimateKernel);
ONEBIT_FOR_EACH(onebit::compress::ExpandBfloatKernel);
ONEBIT_FOR_EACH(onebit::compress::KeepBfloatKernel);
ONEBIT_FOR_EACH(onebit::compress::PlaceKernel);
ONEBIT_FOR_EACH(onebit::compress::ScaleBfloatKernel);
ONEBIT_FOR_EACH(onebit::compress::ScaleErrorsKernel);
ONEBIT_FOR_EACH(onebit::compress::ScaleKernel);
ONEBIT_FOR_EACH(onebit::compress::RestoreKernel);
ONEBIT_FOR_EACH(onebit::compress::RememberKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::LargestKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::LargestIndicesKernel);
ONEBIT_FOR_EACH_ITEM(onebit::compress::LargestOfBlockKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::OrthonormalKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::ReviveKernel);
ONEBIT_FOR_EACH_ITEM(onebit::compress::RefuseKernel);
ONEBIT_FOR_EACH_ITEM(onebit::compress::SketchKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::SpreadKernel);
ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::GlobalMeanKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::SumKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::KeepKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::CopyErrorsKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::DenseRowKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::ExpandByteKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::KeepByteKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::PickKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::SubtractKernel);
ONEBIT_FOR_EACH_ROW(onebit::compress::ZeroPickedKernel);
ONEBIT_REDUCE(onebit::compress::BalanceTerm);
ONEBIT_REDUCE(onebit::compress::PlaceErrorsKernel);
ONEBIT_REDUCE(onebit::compress::EncodedSquareKernel);
ONEBIT_REDUCE(onebit::compress::SentKernel);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::rows, onebit::compress::ScaleTerm>);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::shared, onebit::compress::ScaleTerm>);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::weighted, onebit::compress::ScaleTerm>);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::rows, onebit::compress::SquareOfTerm>);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::shared, onebit::compress::SquareOfTerm>);
ONEBIT_REDUCE(onebit::compress::FeedKernel<onebit::compress::Feed::weighted, onebit::compress::SquareOfTerm>);
ONEBIT_REDUCE(onebit::compress::TermKernel<onebit::compress::ScaleTerm>);
ONEBIT_REDUCE(onebit::compress::TermKernel<onebit::compress::SquareOfTerm>);
ONEBIT_REDUCE_AND_PACK(onebit::compress::BothPasses<onebit::compress::FeedKernel<onebit::compress::Feed::rows, onebit::compress::ScaleTerm>>);
ONEBIT_REDUCE_AND_PACK(onebit::compress::BothPasses<onebit::compress::FeedKernel<onebit::compress::Feed::shared, onebit::compress::ScaleTerm>>);
ONEBIT_REDUCE_AND_PACK(onebit::compress::BothPasses<onebit::compress::FeedKernel<onebit::compress::Feed::weighted, onebit::compress::ScaleTerm>>);
ONEBIT_REDUCE_AND_PACK(onebit::compress::BothPasses<onebit::compress::TermKernel<onebit::compress::ScaleTerm>>);
ONEBIT_PACK_BITS(onebit::compress::SignKernel);
ONEBIT_FOR_EACH_SIGN_MEAN(onebit::compress::AddSignMeanKernel);
ONEBIT_FOR_EACH_SIGN_MEAN(onebit::compress::DecodeSignKernel);
ONEBIT_REDUCE_SIGN_MEAN(onebit::compress::ServeKernel);

ONEBIT_SEGMENT_CODEC(onebit::compress::CountSketch);
ONEBIT_SEGMENT_CODEC(onebit::compress::Fp32);
ONEBIT_SEGMENT_CODEC(onebit::compress::Fp16);
ONEBIT_SEGMENT_CODEC(onebit::compress::Bf16);
ONEBIT_SEGMENT_CODEC(onebit::compress::LowRank);
ONEBIT_SEGMENT_CODEC(onebit::compress::TopK<false>);
ONEBIT_SEGMENT_CODEC(onebit::compress::TopK<true>);
ONEBIT_SEGMENT_CODEC(onebit::compress::TopKSampled);
ONEBIT_SEGMENT_CODEC(onebit::compress::RandomK<false>);
ONEBIT_SEGMENT_CODEC(onebit::compress::RandomK<true>);
ONEBIT_SEGMENT_CODEC(onebit::compress::Threshold);
ONEBIT_SEGMENT_CODEC(onebit::compress::Dct);
ONEBIT_SEGMENT_CODEC(onebit::compress::BlockSigns);
ONEBIT_SEGMENT_CODEC(onebit::compress::BlockScaled<onebit::compress::Integer<8>>);
ONEBIT_SEGMENT_CODEC(onebit::compress::BlockScaled<onebit::compress::Integer<4>>);
ONEBIT_SEGMENT_CODEC(onebit::compress::BlockScaled<onebit::compress::E4m3>);
ONEBIT_SEGMENT_CODEC(onebit::compress::BlockScaled<onebit::compress::E5m2>);
ONEBIT_SEGMENT_CODEC(onebit::compress::Qsgd<onebit::compress::FixedLevels>);
ONEBIT_SEGMENT_CODEC(onebit::compress::Qsgd<onebit::compress::EliasLevels>);
ONEBIT_SEGMENT_CODEC(onebit::compress::TernGrad);
ONEBIT_SEGMENT_CODEC(onebit::compress::Natural);
ONEBIT_SEGMENT_CODEC(onebit::compress::TwoMeans);
