#pragma once
// Named INI files, found next to the program: in its build folder, in share/onebit/presets of its installation, or in
// the folder that the environment variable ONEBIT_PRESETS names.

#include <string>
#include <vector>

namespace onebit::experiments {

struct Preset {
  std::string name;
  std::string path;
  std::string doc;  ///< the comment in the file's first line
};

/// Returns all presets by name.
std::vector<Preset> presets();

/// Returns the path of a preset's file. Throws ConfigError with the nearest names.
std::string find_preset(const std::string& name);

/// Returns the path of a preset's recorded runs, which is next to its file. Throws ConfigError where there are none.
std::string find_expected(const std::string& name);

}  // namespace onebit::experiments
