#pragma once
// Named INI files. They are in the first of these folders that contains any: the folder given by the environment
// variable ONEBIT_PRESETS, presets/ next to the program, and share/onebit/presets in its installation.

#include <string>
#include <vector>

namespace onebit::experiments {

struct Preset {
  std::string name;
  std::string path;
  std::string doc;  ///< comment in the first line of the file
};

/// Returns all presets, sorted by name.
std::vector<Preset> presets();

/// Returns the path of a preset's file. Throws ConfigError, with the nearest names, if there is none.
std::string find_preset(const std::string& name);

/// Returns the path of a preset's recorded runs, a file next to the preset's own file. Throws ConfigError if there is
/// none.
std::string find_expected(const std::string& name);

}  // namespace onebit::experiments
