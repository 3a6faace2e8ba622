#pragma once
// Sources of training examples. A source is read or made once, when it is constructed. After that it is constant and
// may be used from several threads, each with its own Batch.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"
#include "sim/data/worker_split.hpp"

namespace onebit::sim {

class FeatureRows;

/// Where examples were drawn. The place is also the key of the random numbers that a model's dropout uses.
struct DrawPlace {
  std::uint32_t seed = 0;
  Index step = 0;
  Index first_worker = 0;
  Index first_draw = 0;  ///< first draw of each worker, counted from the step's first
};

/// How activations and their gradients cross the boundaries between the workers that own parts of a model.
enum class AtBoundaries {
  usual,     ///< through the codec in training, uncompressed in evaluations
  coded,     ///< through the codec
  measured,  ///< through the codec; what crosses is measured
  plain      ///< uncompressed
};

/// One batch for a range of workers. Rows are grouped by worker: row = (worker - first) * batch + b.
struct Batch {
  Index workers = 0;
  Index batch = 0;                      ///< examples per worker
  Index targets = 1;                    ///< labels per example
  bool with_features = true;            ///< for dense data: whether to fill `features` or `examples`
  std::vector<float> features;          ///< features [rows x feature_count], standardised; empty for token data
  std::vector<std::uint32_t> examples;  ///< numbers of the examples in the source's rows(), [rows]
  const float* on_device = nullptr;     ///< features in the device's memory, instead of `features`
  /// Tokens [rows x context] in [0, vocabulary), oldest first; or bags [rows x context] of row numbers, table by table,
  /// in which kNoRow marks unused slots. Empty for other data.
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;  ///< labels [rows x targets] in [0, classes), or kNoLabel
  DrawPlace place;
  AtBoundaries boundaries = AtBoundaries::usual;
  bool freeze_running_stats = false;  ///< whether an extra pass must leave running statistics unchanged

  Index rows() const { return workers * batch; }
};

/// Label of a place for which nothing is predicted.
inline constexpr std::int32_t kNoLabel = -1;

/// Row number of an unused slot of a bag. Unused slots may stand anywhere in the bag.
inline constexpr std::int32_t kNoRow = -1;

/// An embedding table of a recommendation model. For every example, a bag of rows is looked up in it.
struct BagTable {
  Index rows = 0;   ///< rows of the table, at most 2^31 - 1
  Index slots = 1;  ///< largest number of rows in a bag
  friend bool operator==(const BagTable&, const BagTable&) = default;
};

/// What a model predicts on token data.
enum class Target {
  next,    ///< the token after the context: one label
  causal,  ///< the token after every place of the context: `context` labels
  masked,  ///< the tokens that were masked (Devlin et al. 2018): `context` labels, most of them kNoLabel
};

/// Shape of images, whose features are in the order [channels][height][width]. All 0 for other data.
struct ImageShape {
  Index channels = 0, height = 0, width = 0;
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// Facts about a source, known once it has been read.
struct DataFacts {
  std::string name = {};
  Index features = 0;                 ///< values per example; 0 for token data
  ImageShape image = {};              ///< shape of the features, if they are an image
  Index context = 0;                  ///< tokens per example, or slots of all its bags together; 0 for dense data
  Index vocabulary = 0;               ///< number of different tokens, including the mask token; 0 for other data
  std::vector<BagTable> tables = {};  ///< tables that the bags of an example refer to; empty for other data
  Index targets = 1;                  ///< labels per example
  Index classes = 0;
  Index train = 0;                           ///< examples in the training split, 1 to 2^32
  Index holdout = 0;                         ///< examples in the held-out split; 0 if the requested share is 0
  std::string hash = {};                     ///< hash of all bytes read, 16 hex digits: not cryptographic
  std::vector<std::string> provenance = {};  ///< one line per file: path, size, and how it was used
  std::string ceiling = {};                  ///< one line: how good a model can be, if that is known; otherwise empty
};

/// Labelled examples in two splits that have no example in common.
class DataSource {
 public:
  enum class Split { train, holdout };

  virtual ~DataSource();
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  const std::string& name() const { return facts_.name; }
  Index feature_count() const { return facts_.features; }
  const ImageShape& image() const { return facts_.image; }
  Index context() const { return facts_.context; }
  Index vocabulary() const { return facts_.vocabulary; }
  const std::vector<BagTable>& tables() const { return facts_.tables; }
  Index targets() const { return facts_.targets; }
  Index classes() const { return facts_.classes; }
  Index train_size() const { return facts_.train; }
  Index holdout_size() const { return facts_.holdout; }
  const std::string& hash() const { return facts_.hash; }
  const std::vector<std::string>& provenance() const { return facts_.provenance; }
  const std::string& ceiling() const { return facts_.ceiling; }
  /// Features of all examples of both splits; nullptr for token data.
  virtual const FeatureRows* rows() const { return nullptr; }

  /// Fills `out` with the draws [first_draw, first_draw + batch) of each of `workers`. Examples are drawn with
  /// replacement from the training examples or, if these are split among workers, from the worker's own, by
  /// uniform_index({seed, sampling}, {step, worker, draw}). A worker's examples therefore do not depend on the other
  /// workers in the call. Buffers are reused: nothing is allocated while the size stays the same. Throws Error if a
  /// number is negative, a worker has no examples, or an example looks up a row that its table does not have.
  void sample(Index step, Range workers, Index batch, Batch& out, Index first_draw = 0) const;

  /// Sets the sizes and the place of `out` as sample does; the values of the examples are arbitrary.
  void lay_out(Index step, Range workers, Index batch, Batch& out, Index first_draw = 0) const;

  Index size(Split split) const { return split == Split::train ? facts_.train : facts_.holdout; }

  /// Fills `out` with the examples [first, first + count) of a split, as one worker's batch. Throws Error if they are
  /// not all in the split.
  void read(Split split, Index first, Index count, Batch& out) const;
  void holdout(Index first, Index count, Batch& out) const { read(Split::holdout, first, count, out); }

  /// Returns a source that draws the examples of `source` with another seed.
  static std::shared_ptr<const DataSource> with_seed(std::shared_ptr<const DataSource> source, std::uint32_t seed);

 protected:
  DataSource(DataFacts facts, std::uint32_t seed, WorkerSplit split = {});

 private:
  class Reseeded;

  /// Writes example `example` of a split to row `row` of `out`, whose buffers have their final size.
  virtual void copy(Split split, Index example, Index row, Batch& out) const = 0;
  /// Calls copy, then throws Error if the example looks up a row that its table does not have.
  void fill(Split split, Index example, Index row, Batch& out) const;
  void resize(Index workers, Index batch, Batch& out) const;

  DataFacts facts_;
  std::uint32_t seed_;
  WorkerSplit split_;
};

/// The user's choice, or `automatic` if the program chooses.
enum class Switch { automatic, yes, no };

/// Number of examples that a source makes, unless its registry entry or the user sets another number.
inline constexpr Index kUsualExamples = 10000;

/// Options of all sources; each source uses those that its registry entry names.
struct DataConfig {
  std::string name = "text";
  std::vector<std::string> paths = {};
  std::vector<std::string> test = {};  ///< files of the held-out split; if empty, a share of the examples is held out
  double holdout = 0.1;                ///< share of the examples to hold out, in [0, 1)
  std::string split = "iid";           ///< rule that divides the training examples among workers, see worker_split.hpp
  Index workers = 1;                   ///< number of workers that the rule divides the examples among
  std::uint32_t seed = 1;              ///< seed of sampling; examples and splits do not depend on it
  Switch mapping = Switch::automatic;  ///< whether to map plain files to memory
  Switch standardise = Switch::automatic;  ///< dense data: whether to scale to mean 0 and deviation 1
  Index context = 8;                       ///< text, tokens: tokens per example
  Target target = Target::next;
  std::string vocabulary = {};      ///< text: file of word pieces; if empty, tokens are bytes
  bool lowercase = false;           ///< text with word pieces: whether to convert letters to lower case first
  Index token_bytes = 0;            ///< tokens: bytes of a token (1, 2 or 4), if files have no header
  Index features = 0;               ///< synthetic, clicks*: number of features; 0: 32 (synthetic) or 13 (clicks*);
                                    ///< libsvm: minimum number
  ImageShape image = {};            ///< synthetic: shape of an example, if it is an image; replaces `features`
  Index classes = 10;               ///< synthetic: number of classes
  Index examples = kUsualExamples;  ///< synthetic, clicks*: number of examples; criteo: limit for training, 0: all
  Index tables = 0;                 ///< clicks*: number of tables; 0: as many as `rows` lists, or 26
  std::string rows = "kaggle";      ///< clicks*: rows of the tables, see bag_tables
  Index max_rows = 20000;  ///< clicks*: limit of a table's rows, if `rows` is kaggle; criteo: rows of every table
  double zipf = 1.05;      ///< clicks: exponent of Zipf's law for the ids
  double drift = 0.0;      ///< clicks: share of the ranks that get other ids on each day
  Index bag = 0;           ///< draws of ids for a bag (clicks-random: their maximum); 0: 1 (clicks-random: 10)
  bool fixed_bag = false;  ///< clicks-random: whether every bag has `bag` draws

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

struct DataEntry {
  std::string_view name;
  std::string_view doc;
  std::string_view options;  ///< options data.* that the source uses, separated by spaces
  std::unique_ptr<DataSource> (*make)(const DataConfig&);
  Index examples = kUsualExamples;  ///< DataConfig::examples, unless the user chooses
};

/// Returns the table of all sources.
std::span<const DataEntry> data_sources();

/// Returns DataEntry::examples of the entry with this name; kUsualExamples for an unknown name.
Index usual_examples(std::string_view name);

/// Reads or makes the source `config.name`. Throws ConfigError for an unknown name (naming candidates), an option out
/// of range, and input that is missing, unreadable, damaged or too large; IoError if mapping a file fails.
std::unique_ptr<DataSource> make_data(const DataConfig& config);

}  // namespace onebit::sim
