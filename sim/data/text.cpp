#include "sim/data/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "device/error.hpp"
#include "device/text.hpp"
#include "sim/data/hash.hpp"
#include "sim/data/objective.hpp"
#include "sim/data/split.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

constexpr Index corpus_limit = Index{1} << 32;  // bytes; also what uniform_index can draw from

class TextSource final : public DataSource {
 public:
  TextSource(DataFacts facts, std::string corpus, Index boundary, const DataConfig& config)
      : DataSource(std::move(facts), config.seed),
        corpus_(std::move(corpus)),
        boundary_(boundary),
        target_(config.target) {}

 private:
  void copy(Split split, Index example, Index row, Batch& out) const override {
    const auto first = corpus_.begin() + (split == Split::holdout ? boundary_ : 0) + example;
    std::transform(first, first + context(), out.tokens.begin() + row * context(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    set_labels(target_, vocabulary(), static_cast<std::uint8_t>(first[context()]), row, out);
  }

  std::string corpus_;
  Index boundary_;  // the first held-out byte
  Target target_;
};

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (entry->path().filename().native().starts_with('.') || entry->is_symlink()) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return files;
}

/// Files in reading order. What the user names is taken even if hidden or a link.
std::vector<fs::path> list_files(const std::vector<std::string>& paths) try {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (fs::is_directory(path)) {
      const std::vector<fs::path> below = files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else if (fs::is_regular_file(path)) {
      files.emplace_back(path);
    } else {
      throw ConfigError("no such file or folder", path, "give text files or folders by --data.path");
    }
  }
  return files;
} catch (const fs::filesystem_error& error) {
  throw ConfigError("cannot list: " + error.code().message(), error.path1().string());
}

std::ifstream open(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError("cannot open the file", path.string(), "check its permissions");
  return file;
}

bool is_binary(const fs::path& path) {
  std::array<char, 8192> head;
  std::ifstream file = open(path);
  file.read(head.data(), head.size());
  const auto end = head.begin() + file.gcount();
  return std::find(head.begin(), end, '\0') != end;
}

struct TextFile {
  fs::path path;
  Index bytes;
};

/// The files to read, each once; says in `provenance` what became of every file.
std::vector<TextFile> choose(const std::vector<fs::path>& files, std::vector<std::string>& provenance) {
  std::vector<TextFile> chosen;
  std::set<fs::path> seen;
  for (const fs::path& path : files) {
    const auto bytes = static_cast<Index>(fs::file_size(path));
    std::string line = path.string() + ": " + std::to_string(bytes) + " bytes";
    if (!seen.insert(fs::canonical(path)).second) {  // a second copy would be training and held-out data at once
      line += ", skipped: read already";
    } else if (is_binary(path)) {
      line += ", skipped: binary";
    } else {
      chosen.push_back({path, bytes});
    }
    provenance.push_back(std::move(line));
  }
  return chosen;
}

std::string read_all(const std::vector<TextFile>& files, const std::string& where) {
  Index total = 0;
  for (const TextFile& file : files) total += file.bytes;
  if (total > corpus_limit) {
    throw ConfigError(std::to_string(total) + " bytes of text exceed the limit of " + std::to_string(corpus_limit),
                      where, "name fewer files by --data.path");
  }
  if (total == 0) throw ConfigError("no readable text", where, "give text files or folders by --data.path");
  std::string corpus(static_cast<std::size_t>(total), '\0');
  char* end = corpus.data();
  for (const TextFile& file : files) {
    std::ifstream stream = open(file.path);
    if (!stream.read(end, file.bytes)) throw IoError("the file became shorter while it was read", file.path.string());
    end += file.bytes;
  }
  return corpus;
}

std::vector<std::string> default_paths() {
  const std::string licences = "/usr/share/common-licenses";
  if (fs::is_directory(licences)) return {licences};
  std::vector<std::string> paths;
#ifdef ONEBIT_SOURCE_DIR
  for (const char* room : {"device", "netmodel", "compress", "optim", "sim", "analysis", "experiments"}) {
    const fs::path folder = fs::path(ONEBIT_SOURCE_DIR) / room;
    if (fs::is_directory(folder)) paths.push_back(folder.string());
  }
#endif
  if (paths.empty()) throw ConfigError("no text to train on", "--data text", "give files or folders by --data.path");
  return paths;
}

void check_length(Index bytes, Index context, const std::string& split, const std::string& where) {
  if (bytes > context) return;
  throw ConfigError("the " + split + " text has " + std::to_string(bytes) + " bytes and --model.context is " +
                        std::to_string(context),
                    where, "more than the context is needed: give more text or change --data.holdout");
}

}  // namespace

std::unique_ptr<DataSource> make_text(const DataConfig& config) try {
  if (config.context < 1) throw ConfigError("a context below one byte", "--model.context");
  const std::vector<std::string> paths = config.paths.empty() ? default_paths() : config.paths;
  const std::string where = join(paths, ", ");

  const Index vocabulary = vocabulary_of(config.target, 256);
  DataFacts facts{.name = "text",
                  .context = config.context,
                  .vocabulary = vocabulary,
                  .targets = targets_of(config.target, config.context),
                  .classes = vocabulary};
  std::string corpus = read_all(choose(list_files(paths), facts.provenance), where);
  const auto total = static_cast<Index>(corpus.size());
  const Index held_out = holdout_count(total, config.holdout, "bytes of " + where);
  check_length(total - held_out, config.context, "training", where);
  if (held_out > 0) check_length(held_out, config.context, "held-out", where);
  facts.train = total - held_out - config.context;
  facts.holdout = held_out > 0 ? held_out - config.context : 0;
  Fnv1a hash;
  hash.add(corpus.data(), corpus.size());
  facts.hash = hash.hex();
  return std::make_unique<TextSource>(std::move(facts), std::move(corpus), total - held_out, config);
} catch (const fs::filesystem_error& error) {
  throw IoError(error.code().message(), error.path1().string());
}

}  // namespace onebit::sim
