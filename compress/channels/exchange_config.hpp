#pragma once
// The options of a compressed exchange.

#include <memory>
#include <string>
#include <vector>

#include "compress/layout/layout.hpp"

namespace onebit::compress {

class RecordedDraws;

/// A codec and its parameters. Each codec reads only the parameters that are named in its row of the table of codecs.
struct CodecConfig {
  std::string name = "sign-l2";
  double k = 0.01;               ///< sparse codecs: share of the elements (below 1) or their number (1 and above)
  Index levels = 127;            ///< qsgd: number of levels of each sign
  Index rank = 2;                ///< power-sgd: largest rank of the factors
  bool warm_start = true;        ///< power-sgd: start from the factors of the last step
  double min_rate = 1;           ///< power-sgd: matrices that shrink by at most this factor stay dense
  Index block = 256;             ///< block-scaled codecs: elements that share one scale; 0: the whole segment
  std::string norm = "l2";       ///< qsgd: norm of a block, l2 | max
  double threshold = 0.01;       ///< threshold: smallest magnitude that is sent
  Index renew = 1000;            ///< dct: steps between two renewals of the threshold
  double clip = 2.5;             ///< terngrad: clipping bound, in root mean squares of the segment; 0: no clipping
  bool scaled = false;           ///< random-k: multiply values by n / k, which makes the codec unbiased
  bool shared = true;            ///< random-k: all workers draw the same indices
  std::string packing = "none";  ///< sparse codecs: none | delta; qsgd: none | elias
  double sample = 0.01;          ///< top-k-sampled: share of the elements that are sampled for the threshold
  Index sketch_rows = 5;         ///< count-sketch: number of rows
  Index sketch_columns = 0;      ///< count-sketch: number of columns; 0: enough for 10 * k numbers in all rows together
  std::string options = "codec";  ///< prefix of the names of these options, for messages
};

/// How the workers' vectors are combined: through servers (all-to-all, then all-gather), by an all-gather, by an
/// all-reduce of payloads, or by merging them along a tree.
enum class ExchangePattern { automatic, server, gather, linear, tree };

/// Whether a codec's error is added to the next vector (error feedback). automatic: on for contractions; for other
/// codecs, off if they are unbiased or their error may grow, and otherwise on.
enum class Feedback { automatic, ef, none };

/// The type that the workers' errors are stored in from step to step.
enum class ErrorType { fp32, bf16, int8 };

struct ExchangeConfig {
  CodecConfig up;    ///< codec of the workers' vectors
  std::string down;  ///< name of the servers' codec, which has the parameters of `up`; empty: the workers' codec
  Feedback feedback = Feedback::automatic;
  ErrorType error_type = ErrorType::fp32;  ///< type of the workers' errors; the servers' errors are float32
  ExchangePattern pattern = ExchangePattern::automatic;
  Granularity granularity = Granularity::tensor;
  Padding padding = Padding::wire_only;
  std::vector<std::string> dense;   ///< patterns of the tensors that are exchanged uncompressed
  std::vector<char> dense_tensors;  ///< [tensors]: marks further tensors that are exchanged uncompressed; empty: none
  Index dense_steps = 0;   ///< number of steps at the start of the run that are exchanged uncompressed, without errors
  std::uint32_t seed = 1;  ///< seed of codecs that draw random numbers
  Index audit_every = 0;   ///< steps between two audits (FeedbackBalance); 0: no audits
  std::shared_ptr<const RecordedDraws> recorded;  ///< recorded draws, used instead of random numbers; null: none
};

}  // namespace onebit::compress
