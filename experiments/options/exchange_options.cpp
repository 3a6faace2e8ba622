// Options of codecs and of how compressed vectors are exchanged.

#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

std::vector<std::string> codec_names() {
  return names_of(compress::codecs());
}

std::vector<RunOption> codec_options() {
  return {
      named(field("codec", "codec of the workers' vectors, see 'onebit list codecs'",
                  ONEBIT_PLACE(optimizer.exchange.up.name)),
            codec_names),
      named(field("codec.down", "codec of the servers' vectors; empty: the same as --codec",
                  ONEBIT_PLACE(optimizer.exchange.down)),
            codec_names),
      field("codec.k", "sparse codecs: share of the elements to send (below 1) or their number (1 or more); above 0",
            ONEBIT_PLACE(optimizer.exchange.up.k)),
      field("codec.levels", "qsgd: levels of one sign, at least 1", ONEBIT_PLACE(optimizer.exchange.up.levels)),
      field("codec.rank", "power-sgd: rank of the factors, at least 1", ONEBIT_PLACE(optimizer.exchange.up.rank)),
      field("codec.warm-start", "power-sgd: start from the factors of the last step; false: from new random ones",
            ONEBIT_PLACE(optimizer.exchange.up.warm_start)),
      field("codec.min-rate", "power-sgd: a matrix is compressed only if it becomes smaller by more than this factor",
            ONEBIT_PLACE(optimizer.exchange.up.min_rate)),
      field("codec.block", "block-scaled codecs: elements that share one scale; 0: the whole segment",
            ONEBIT_PLACE(optimizer.exchange.up.block)),
      word("codec.norm", "qsgd: norm used as the scale", ONEBIT_PLACE(optimizer.exchange.up.norm), {"l2", "max"}),
      field("codec.threshold", "threshold: smallest magnitude that is sent, at least 0",
            ONEBIT_PLACE(optimizer.exchange.up.threshold)),
      field("codec.renew", "dct: steps between two renewals of the threshold, at least 1",
            ONEBIT_PLACE(optimizer.exchange.up.renew)),
      field("codec.clip", "terngrad: clip at this multiple of the root mean square; 0: no clipping",
            ONEBIT_PLACE(optimizer.exchange.up.clip)),
      field("codec.scaled",
            "random-k: multiply the values by n/k for segments of n elements, which makes the codec unbiased",
            ONEBIT_PLACE(optimizer.exchange.up.scaled)),
      field("codec.shared", "random-k: all workers draw the same indices; false: each worker draws its own",
            ONEBIT_PLACE(optimizer.exchange.up.shared)),
      word("codec.packing", "sparse codecs, qsgd: lossless packing of the payload",
           ONEBIT_PLACE(optimizer.exchange.up.packing), {"none", "delta", "elias"}),
      field("codec.sample", "top-k-sampled: share of the elements that are sampled to find the threshold, in (0, 1]",
            ONEBIT_PLACE(optimizer.exchange.up.sample)),
      field("codec.sketch-rows", "count-sketch: number of rows, at least 1",
            ONEBIT_PLACE(optimizer.exchange.up.sketch_rows)),
      field("codec.sketch-columns",
            "count-sketch: number of columns; 0: enough for 10 * k numbers in all rows together",
            ONEBIT_PLACE(optimizer.exchange.up.sketch_columns)),
      list("codec.dense", "tensors that are exchanged uncompressed: names with * and ?, separated by commas",
           "patterns", ONEBIT_PLACE(optimizer.exchange.dense)),
      field("codec.dense-steps", "number of steps at the start without compression, at least 0",
            ONEBIT_PLACE(optimizer.exchange.dense_steps)),
  };
}

}  // namespace

std::vector<RunOption> exchange_options() {
  using compress::ErrorType;
  using compress::ExchangePattern;
  using compress::Feedback;
  using compress::Granularity;
  std::vector<RunOption> all = codec_options();
  all.push_back(choice(
      "feedback", "error feedback; auto: ef, unless the codec is unbiased or its errors may grow",
      ONEBIT_PLACE(optimizer.exchange.feedback),
      std::map<std::string, Feedback>{{"auto", Feedback::automatic}, {"ef", Feedback::ef}, {"none", Feedback::none}}));
  all.push_back(choice("feedback.dtype", "storage type of the workers' errors; int8: one scale per 256 elements",
                       ONEBIT_PLACE(optimizer.exchange.error_type),
                       std::map<std::string, ErrorType>{
                           {"fp32", ErrorType::fp32}, {"bf16", ErrorType::bf16}, {"int8", ErrorType::int8}}));
  all.push_back(choice("channel", "how the workers' vectors are combined; auto: chosen by the codec's traits",
                       ONEBIT_PLACE(optimizer.exchange.pattern),
                       std::map<std::string, ExchangePattern>{{"auto", ExchangePattern::automatic},
                                                              {"server", ExchangePattern::server},
                                                              {"gather", ExchangePattern::gather},
                                                              {"linear", ExchangePattern::linear},
                                                              {"tree", ExchangePattern::tree}}));
  all.push_back(choice(
      "optimizer.granularity", "what is exchanged as one vector with one scale: each tensor, or all tensors fused",
      ONEBIT_PLACE(optimizer.exchange.granularity),
      std::map<std::string, Granularity>{{"tensor", Granularity::tensor}, {"fused", Granularity::fused}}));
  return all;
}

}  // namespace onebit::experiments
