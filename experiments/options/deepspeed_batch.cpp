#include "experiments/options/deepspeed_batch.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::experiments {
namespace {

/// Reads only the batch sizes, because the whole configuration may not be valid yet.
sim::RunConfig sizes_of(const Settings& settings) {
  sim::RunConfig config;
  for (const auto& [name, value] : settings) {
    if (name == "workers" || name == "batch" || name == "accumulation") run_option(name).set(config, value);
  }
  return config;
}

/// Divides a batch by two other sizes and returns at least 1. check_batch refuses a result that does not fit.
Index quotient(Index batch, Index first, Index second) {
  return std::max<Index>(1, batch / std::max<Index>(1, first) / std::max<Index>(1, second));
}

}  // namespace

void infer_batch(DeepspeedConfig& file, Settings& settings, std::size_t preset) {
  const auto given = [&](const char* name) {
    return std::any_of(settings.begin() + static_cast<std::ptrdiff_t>(preset), settings.end(),
                       [name](const auto& setting) { return setting.first == name; });
  };
  const auto add = [&](const char* key, const char* option, Index value, bool by_file) {
    file.mapped.push_back({key, option, std::to_string(value), by_file});
    settings.emplace_back(option, std::to_string(value));
  };
  const bool batch = given("batch"), accumulation = given("accumulation");
  const sim::RunConfig sizes = sizes_of(settings);
  const Index train = file.train_batch;
  if (train == 0) {
    const bool by_file = std::any_of(file.mapped.begin(), file.mapped.end(),
                                     [](const DeepspeedConfig::Mapped& row) { return row.option == "batch"; });
    if (by_file && !accumulation) add("gradient_accumulation_steps", "accumulation", 1, false);
  } else if (batch && accumulation) {
    file.ignored.push_back({"train_batch_size", "batch, accumulation and workers are given and determine it"});
  } else if (batch) {
    add("train_batch_size", "accumulation", quotient(train, sizes.batch, sizes.workers), true);
  } else {
    if (!accumulation) add("gradient_accumulation_steps", "accumulation", 1, false);
    add("train_batch_size", "batch", quotient(train, accumulation ? sizes.accumulation : 1, sizes.workers), true);
  }
}

void check_batch(const DeepspeedConfig& file, const sim::RunConfig& config, const std::string& name) {
  if (file.train_batch == 0) return;
  const double product = static_cast<double>(config.batch) * static_cast<double>(config.accumulation) *
                         static_cast<double>(config.workers);
  if (product == static_cast<double>(file.train_batch)) return;
  throw ConfigError("train_batch_size does not fit",
                    file.path + ": train_batch_size " + std::to_string(file.train_batch) +
                        (name.empty() ? "" : ", " + name) + ": batch " + std::to_string(config.batch) +
                        " x accumulation " + std::to_string(config.accumulation) + " x workers " +
                        std::to_string(config.workers),
                    "change --batch, --accumulation or --workers, or the file");
}

}  // namespace onebit::experiments
