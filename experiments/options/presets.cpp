#include "experiments/options/presets.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  std::vector<fs::path> list;
  if (const char* environment = std::getenv("ONEBIT_PRESETS"); environment != nullptr && *environment != '\0') {
    list.emplace_back(environment);
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  list.push_back(program.parent_path() / "presets");
  list.push_back(program.parent_path().parent_path() / "share" / "onebit" / "presets");
  return list;
}

std::string first_comment(const fs::path& path) {
  const std::string text = files::read_text(path.string(), "preset");
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t begin = line.find_first_not_of("# ");
  return begin == std::string::npos ? "" : line.substr(begin);
}

}  // namespace

std::vector<Preset> presets() {
  std::vector<Preset> found;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".ini") {
        found.push_back({entry.path().stem().string(), entry.path().string(), first_comment(entry.path())});
      }
    }
    if (!found.empty()) break;
  }
  std::sort(found.begin(), found.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
  return found;
}

std::string find_preset(const std::string& name) {
  const std::vector<Preset> all = presets();
  std::vector<std::string_view> names;
  for (const Preset& preset : all) {
    if (preset.name == name) return preset.path;
    names.push_back(preset.name);
  }
  throw ConfigError(
      "unknown preset", name,
      names.empty() ? "no presets were found: set ONEBIT_PRESETS to their folder" : suggestion(name, names));
}

std::string find_expected(const std::string& name) {
  const fs::path path = fs::path(find_preset(name)).replace_extension(".csv");
  if (!fs::exists(path))
    throw ConfigError("no recorded runs for this preset", name,
                      "run 'onebit compare' with it, and copy runs.csv next to the preset, as " + name + ".csv");
  return path.string();
}

}  // namespace onebit::experiments
