#include "sim/data/tokens/text_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

constexpr Index corpus_limit = Index{1} << 32;  // bytes; uniform_index cannot draw from more
constexpr const char* hint = "give text files or folders with --data.path";

[[noreturn]] void refuse(const std::error_code& error, const fs::path& path) {
  throw ConfigError("cannot list: " + error.message(), path.string(), "check its permissions");
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end;) {
    const fs::path path = entry->path();
    if (path.filename().native().starts_with('.') || entry->is_symlink()) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(path);
    }
    entry.increment(error);  // its exception would not name the path
    if (error) refuse(error, path);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return files;
}

/// Lists files in reading order. Paths that the user names are taken even if they are hidden or links.
std::vector<fs::path> list_files(const std::vector<std::string>& paths) try {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (fs::is_directory(path)) {
      const std::vector<fs::path> below = files_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else if (fs::is_regular_file(path)) {
      files.emplace_back(path);
    } else {
      throw ConfigError(fs::exists(path) ? "neither a file nor a folder" : "no such file or folder", path, hint);
    }
  }
  return files;
} catch (const fs::filesystem_error& error) {
  refuse(error.code(), error.path1());
}

}  // namespace

void TextReader::read(const std::vector<std::string>& paths, const Take& take) try {
  const std::string where = join(paths, ", ");
  const Index before = total_;
  for (const fs::path& path : list_files(paths)) read_file(path.string(), where, take);
  if (total_ == before) throw ConfigError("no readable text", where, hint);
} catch (const fs::filesystem_error& error) {
  throw IoError(error.code().message(), error.path1().string());
}

void TextReader::read_file(const std::string& path, const std::string& where, const Take& take) {
  const InputFile file(path, hint);
  std::string line = path + ": " + std::to_string(file.size()) + " bytes";
  if (!seen_.insert(fs::canonical(path).string()).second) {  // otherwise it could be in both splits
    line += ", skipped: already read";
  } else if (file.binary()) {
    line += ", skipped: binary";
  } else {
    if (total_ + file.size() > corpus_limit) {
      throw ConfigError(
          std::to_string(total_ + file.size()) + " bytes of text exceed the limit of " + std::to_string(corpus_limit),
          where, "give fewer files with --data.path");
    }
    const Index size = give(file, take);
    total_ += size;
    if (file.packed()) line += ", unpacked " + std::to_string(size);
  }
  provenance_.push_back(std::move(line));
}

/// Gives a file's text to `take`. Returns its size.
Index TextReader::give(const InputFile& file, const Take& take) const {
  const Index limit = corpus_limit - total_;
  if (!in_pieces_) {
    const Bytes text = file.load(mapping_, limit);
    take(text, true);
    return text.size();
  }
  Index size = 0;
  file.read(mapping_, limit, [&](std::span<const std::uint8_t> piece) {
    size += static_cast<Index>(piece.size());
    take(Bytes(file.path(), piece, nullptr), false);
  });
  take(Bytes(file.path(), {}), true);
  return size;
}

std::vector<std::string> default_texts() {
  const std::string licences = "/usr/share/common-licenses";
  if (fs::is_directory(licences)) return {licences};
  std::vector<std::string> paths;
#ifdef ONEBIT_SOURCE_DIR
  for (const char* room : {"device", "netmodel", "compress", "optim", "sim", "analysis", "experiments"}) {
    const fs::path folder = fs::path(ONEBIT_SOURCE_DIR) / room;
    if (fs::is_directory(folder)) paths.push_back(folder.string());
  }
#endif
  if (paths.empty()) throw ConfigError("no text to train on", "--data text", "give files or folders with --data.path");
  return paths;
}

}  // namespace onebit::sim
