#include "sim/data/features/idx_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view images_end = "idx3-ubyte";
constexpr const char* wanted =
    "give --data.path images,labels, or a folder with *images*idx3-ubyte[.gz] and *labels*idx1-ubyte[.gz], "
    "or set ONEBIT_DATA to such a folder";

/// Returns the names of the image files in a folder, sorted and without .gz, so that a file and its packed copy count
/// once.
std::vector<std::string> image_names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    if (name.ends_with(images_end) && name.find("images") != std::string::npos) names.insert(name);
  }
  return {names.begin(), names.end()};
}

/// Returns the path of the file itself if it exists, otherwise of its packed copy.
std::string plain_or_packed(const fs::path& path) {
  if (fs::exists(path)) return path.string();
  const std::string packed = path.string() + ".gz";
  if (fs::exists(packed)) return packed;
  throw ConfigError("no label file for these images", path.string() + "[.gz]", wanted);
}

IdxPair pair_in_folder(const fs::path& folder) {
  std::vector<std::string> names = image_names(folder);
  if (names.empty()) throw ConfigError("no IDX images", folder.string(), wanted);
  const std::string all = join(names, ", ");
  if (names.size() > 1) std::erase_if(names, [](const auto& name) { return !name.starts_with("train"); });
  if (names.size() != 1) {
    throw ConfigError("several sets of images: " + all, folder.string(), "choose one with --data.path images,labels");
  }
  const std::string& images = names.front();
  std::string labels = images;
  labels.replace(labels.size() - images_end.size(), images_end.size(), "idx1-ubyte");
  labels.replace(labels.find("images"), 6, "labels");
  const std::string note = all == images ? "" : "used " + images + ", not all of " + all;
  return {plain_or_packed(folder / images), plain_or_packed(folder / labels), note};
}

}  // namespace

IdxPair find_idx_pair(const std::vector<std::string>& paths) try {
  if (paths.size() == 2) return {paths[0], paths[1], ""};
  if (paths.size() == 1) {
    if (fs::is_directory(paths[0])) return pair_in_folder(paths[0]);
    if (!fs::exists(paths[0])) throw ConfigError("no such file or folder", paths[0], wanted);
    throw ConfigError("only one file is given, but images and labels are in two", paths[0], wanted);
  }
  if (!paths.empty()) throw ConfigError("more than two files", "--data.path", wanted);
  const char* variable = std::getenv("ONEBIT_DATA");
  if (!variable || !*variable) throw ConfigError("no IDX files given", "--data idx", wanted);
  const fs::path folder = variable;
  if (!fs::is_directory(folder)) throw ConfigError("ONEBIT_DATA is not a folder", folder.string(), wanted);
  const bool below = image_names(folder).empty() && fs::is_directory(folder / "mnist");
  return pair_in_folder(below ? folder / "mnist" : folder);
} catch (const fs::filesystem_error& error) {
  throw ConfigError("cannot list: " + error.code().message(), error.path1().string(), wanted);
}

}  // namespace onebit::sim
