#include "sim/data/data.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/math/philox.hpp"
#include "sim/data/clicks/clicks.hpp"
#include "sim/data/clicks/criteo.hpp"
#include "sim/data/features/cifar.hpp"
#include "sim/data/features/idx.hpp"
#include "sim/data/features/libsvm.hpp"
#include "sim/data/none.hpp"
#include "sim/data/synthetic.hpp"
#include "sim/data/tokens/text.hpp"
#include "sim/data/tokens/token_file.hpp"

namespace onebit::sim {
namespace {

constexpr std::array entries = {
    DataEntry{"text", "bytes or word pieces of text files (--data.path FILE|FOLDER,.. --data.vocabulary)",
              "path test holdout split mmap vocabulary lowercase", make_text},
    DataEntry{"idx", "images and labels in MNIST's format (--data.path IMAGES,LABELS or a folder)",
              "path test holdout split mmap standardise", make_idx},
    DataEntry{"cifar10", "CIFAR-10's binary version (--data.path FOLDER or files)",
              "path test holdout split mmap standardise", make_cifar10},
    DataEntry{"cifar100", "CIFAR-100's binary version, fine labels (--data.path FOLDER or files)",
              "path test holdout split mmap standardise", make_cifar100},
    DataEntry{"tokens", "files of tokens made by another program (--data.path FILES --data.token-bytes)",
              "path test holdout split mmap token-bytes", make_tokens},
    DataEntry{"libsvm",
              "classes and sparse features, LIBSVM's text format (--data.path FILE --data.test --data.features)",
              "path test holdout split mmap standardise features", make_libsvm},
    DataEntry{"synthetic", "classes drawn by a random teacher network (--data.features --data.classes --data.examples)",
              "holdout split standardise features image classes examples", make_synthetic},
    DataEntry{"clicks",
              "clicks drawn by a random teacher; ids follow Zipf's law (--data.tables --data.rows --data.zipf)",
              "holdout split standardise features examples tables rows max-rows zipf drift bag", make_clicks, 200000},
    DataEntry{"clicks-random", "random bags of ids and random labels, like DLRM's, to measure speed (--data.bag)",
              "holdout split standardise features examples tables rows max-rows bag fixed-bag", make_random_clicks},
    DataEntry{"criteo", "Criteo's click logs, tab-separated (--data.path FILES --data.test --data.max-rows)",
              "path test holdout split mmap standardise examples max-rows", make_criteo, 0},
    DataEntry{"none", "no examples, for models that depend only on their weights", "", make_none},
};

}  // namespace

DataSource::~DataSource() = default;

DataSource::DataSource(DataFacts facts, std::uint32_t seed, WorkerSplit split)
    : facts_(std::move(facts)), seed_(seed), split_(std::move(split)) {}

/// A source with the examples of another one, but its own seed.
class DataSource::Reseeded final : public DataSource {
 public:
  Reseeded(std::shared_ptr<const DataSource> source, std::uint32_t seed)
      : DataSource(source->facts_, seed, source->split_), source_(std::move(source)) {}

  const FeatureRows* rows() const override { return source_->rows(); }

 private:
  void copy(Split split, Index example, Index row, Batch& out) const override {
    source_->copy(split, example, row, out);
  }

  std::shared_ptr<const DataSource> source_;
};

std::shared_ptr<const DataSource> DataSource::with_seed(std::shared_ptr<const DataSource> source, std::uint32_t seed) {
  if (source->seed_ == seed) return source;
  return std::make_shared<Reseeded>(std::move(source), seed);
}

void DataSource::resize(Index workers, Index batch, Batch& out) const {
  out.workers = workers;
  out.batch = batch;
  out.targets = facts_.targets;
  out.boundaries = AtBoundaries::usual;
  out.freeze_running_stats = false;
  out.on_device = nullptr;
  out.features.resize(out.with_features ? static_cast<std::size_t>(out.rows() * facts_.features) : 0);
  out.examples.resize(out.with_features ? 0 : static_cast<std::size_t>(out.rows()));
  out.tokens.resize(static_cast<std::size_t>(out.rows() * facts_.context));
  out.labels.resize(static_cast<std::size_t>(out.rows() * facts_.targets));
}

void DataSource::lay_out(Index step, Range workers, Index batch, Batch& out, Index first_draw) const {
  if (step < 0 || workers.first < 0 || workers.count < 0 || batch < 0 || first_draw < 0) {
    throw Error("negative step, worker or batch size", "DataSource::sample");
  }
  resize(workers.count, batch, out);
  out.place = {seed_, step, workers.first, first_draw};
}

void DataSource::sample(Index step, Range workers, Index batch, Batch& out, Index first_draw) const {
  lay_out(step, workers, batch, out, first_draw);
  const device::RandomKey key{seed_, device::Purpose::sampling};
  for (Index w = 0; w < workers.count; ++w) {
    for (Index b = 0; b < batch; ++b) {
      const Index example = split_.draw(key, {step, workers.first + w, first_draw + b}, facts_.train);
      fill(Split::train, example, w * batch + b, out);
    }
  }
}

void DataSource::read(Split split, Index first, Index count, Batch& out) const {
  if (first < 0 || count < 0 || first > size(split) || count > size(split) - first) {
    throw Error("cannot read " + std::to_string(count) + " examples starting at example " + std::to_string(first) +
                    ": the split has only " + std::to_string(size(split)),
                "DataSource::read");
  }
  resize(1, count, out);
  out.place = {.first_draw = first};
  for (Index row = 0; row < count; ++row) fill(split, first + row, row, out);
}

void DataSource::fill(Split split, Index example, Index row, Batch& out) const {
  copy(split, example, row, out);
  auto bag = out.tokens.begin() + row * facts_.context;
  for (std::size_t t = 0; t < facts_.tables.size(); bag += facts_.tables[t++].slots) {
    const Index rows = facts_.tables[t].rows;
    const auto beyond =
        std::find_if(bag, bag + facts_.tables[t].slots, [&](std::int32_t id) { return id < kNoRow || id >= rows; });
    if (beyond == bag + facts_.tables[t].slots) continue;
    throw Error("an example refers to a row that its table does not have",
                facts_.name + ", example " + std::to_string(example) + ": row " + std::to_string(*beyond) +
                    " of table " + std::to_string(t + 1),
                "the table has " + std::to_string(rows) + " rows; the ids of the source must be smaller");
  }
}

std::span<const DataEntry> data_sources() {
  return entries;
}

Index usual_examples(std::string_view name) {
  const auto* entry = std::ranges::find(entries, name, &DataEntry::name);
  return entry == entries.end() ? kUsualExamples : entry->examples;
}

std::unique_ptr<DataSource> make_data(const DataConfig& config) {
  std::vector<std::string_view> names;
  for (const DataEntry& entry : entries) {
    if (entry.name == config.name) return entry.make(config);
    names.push_back(entry.name);
  }
  throw ConfigError("unknown data source \"" + config.name + "\"", "--data", suggestion(config.name, names));
}

}  // namespace onebit::sim
