#include "compress/codecs/recorded_draws.hpp"

#include "device/base/error.hpp"

namespace onebit::compress {
namespace {

std::string text_of(const std::vector<Index>& sizes) {
  std::string text;
  for (const Index size : sizes) text += (text.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
  return "[" + text + "]";
}

bool fits(const std::vector<Index>& sizes, const std::vector<Index>& wanted) {
  if (sizes.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (wanted[i] >= 0 && sizes[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<RecordedArray> find_recorded(const RecordedDraws& draws, const std::string& name,
                                           const std::vector<Index>& sizes) {
  std::optional<RecordedArray> found = draws.find(name);
  if (found && !fits(found->sizes, sizes)) {
    throw ConfigError("recorded random numbers have the wrong shape", name + " " + text_of(found->sizes),
                      "expected: " + text_of(sizes));
  }
  return found;
}

}  // namespace onebit::compress
