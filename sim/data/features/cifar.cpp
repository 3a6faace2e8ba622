#include "sim/data/features/cifar.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "device/base/error.hpp"
#include "sim/data/features/byte_rows.hpp"
#include "sim/data/files/input_file.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

/// What distinguishes the two data sets.
struct CifarSet {
  const char* name;
  CifarFormat format;
  const char* folder;  // folder that the archive unpacks to
  const char* train;   // prefix of the names of training files
  const char* test;    // name of the test file
};

constexpr CifarSet ten{"cifar10", cifar10, "cifar-10-batches-bin", "data_batch_", "test_batch.bin"};
constexpr CifarSet hundred{"cifar100", cifar100, "cifar-100-binary", "train", "test.bin"};

struct CifarFiles {
  std::vector<std::string> train, test;
};

CifarFiles files_of(const fs::path& folder, const CifarSet& set) {
  CifarFiles files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(set.train) && name.ends_with(".bin")) files.train.push_back(entry.path().string());
    if (name == set.test) files.test.push_back(entry.path().string());
  }
  if (files.train.empty()) {
    throw ConfigError("no files " + std::string(set.train) + "*.bin in this folder", folder.string(),
                      "give the folder of the binary version with --data.path");
  }
  std::sort(files.train.begin(), files.train.end());
  return files;
}

CifarFiles find_files(const DataConfig& config, const CifarSet& set) try {
  if (config.paths.size() == 1 && fs::is_directory(config.paths[0])) return files_of(config.paths[0], set);
  if (!config.paths.empty()) return {config.paths, {}};
  const char* variable = std::getenv("ONEBIT_DATA");
  if (!variable || !*variable) {
    throw ConfigError("no files given", std::string("--data ") + set.name,
                      "give a folder with --data.path, or set ONEBIT_DATA to it");
  }
  const fs::path folder = variable;
  return files_of(fs::is_directory(folder / set.folder) ? folder / set.folder : folder, set);
} catch (const fs::filesystem_error& error) {
  throw ConfigError("cannot read folder: " + error.code().message(), error.path1().string(), "check its permissions");
}

std::unique_ptr<DataSource> make_cifar(const DataConfig& config, const CifarSet& set) {
  DenseExamples examples;
  examples.facts = {.name = set.name, .features = cifar_features, .image = {3, 32, 32}, .classes = set.format.classes};
  auto rows = std::make_unique<ByteRows>();
  Fnv1a hash;
  const auto add = [&](const std::vector<std::string>& paths) {
    const std::size_t before = examples.labels.size();
    for (const std::string& path : paths) {
      const Bytes bytes = InputFile(path, "give files or a folder with --data.path").load(config.mapping, dense_limit);
      const std::vector<std::int32_t> labels = parse_cifar(bytes, set.format);
      const auto count = static_cast<Index>(labels.size());
      rows->add(bytes, set.format.label_bytes, set.format.label_bytes + cifar_features, count);
      examples.labels.insert(examples.labels.end(), labels.begin(), labels.end());
      hash.add(bytes.data(), bytes.view().size());
      examples.facts.provenance.push_back(path + ": " + std::to_string(count) + " images");
    }
    return static_cast<Index>(examples.labels.size() - before);
  };
  const CifarFiles files = find_files(config, set);
  add(files.train);
  examples.test = add(config.test.empty() ? files.test : config.test);
  examples.facts.hash = hash.hex();
  examples.features = std::move(rows);
  return make_dense(std::move(examples), config);
}

}  // namespace

std::vector<std::int32_t> parse_cifar(const Bytes& bytes, const CifarFormat& format) {
  const Index record = format.label_bytes + cifar_features;
  if (bytes.size() == 0) bytes.refuse("no records", 0);
  bytes.need(round_up(bytes.size(), record));
  std::vector<std::int32_t> labels;
  for (Index at = format.label_bytes - 1; at < bytes.size(); at += record) {
    const auto label = static_cast<std::int32_t>(bytes.data()[at]);
    if (label >= format.classes) {
      bytes.refuse("label " + std::to_string(label) + " is out of range: there are " + std::to_string(format.classes) +
                       " classes",
                   at);
    }
    labels.push_back(label);
  }
  return labels;
}

std::unique_ptr<DataSource> make_cifar10(const DataConfig& config) {
  return make_cifar(config, ten);
}

std::unique_ptr<DataSource> make_cifar100(const DataConfig& config) {
  return make_cifar(config, hundred);
}

}  // namespace onebit::sim
