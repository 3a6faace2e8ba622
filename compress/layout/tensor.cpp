#include "compress/layout/tensor.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::compress {
namespace {

bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return fits(name, pattern.substr(1)) || (!name.empty() && fits(name.substr(1), pattern));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         fits(name.substr(1), pattern.substr(1));
}

}  // namespace

std::vector<Tensor> unnamed(std::span<const Index> sizes) {
  std::vector<Tensor> tensors;
  for (const Index size : sizes) tensors.push_back({"tensor" + std::to_string(tensors.size()), size});
  return tensors;
}

std::vector<Index> sizes_of(std::span<const Tensor> tensors) {
  std::vector<Index> sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.size);
  return sizes;
}

Index total_size(std::span<const Tensor> tensors) {
  Index total = 0;
  for (const Tensor& tensor : tensors) total += tensor.size;
  return total;
}

std::vector<Range> ranges_of(std::span<const Tensor> tensors) {
  std::vector<Range> ranges;
  Index first = 0;
  for (const Tensor& tensor : tensors) {
    ranges.push_back({first, tensor.size});
    first += tensor.size;
  }
  return ranges;
}

std::vector<char> matching(std::span<const Tensor> tensors, std::span<const std::string> patterns) {
  std::vector<char> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(std::any_of(patterns.begin(), patterns.end(),
                                 [&](const std::string& pattern) { return fits(tensor.name, pattern); }));
  }
  return result;
}

void require_matches(std::span<const Tensor> tensors, std::span<const std::string> patterns,
                     const std::string& option) {
  for (const std::string& pattern : patterns) {
    const std::vector<char> found = matching(tensors, std::span(&pattern, 1));
    if (std::find(found.begin(), found.end(), 1) != found.end()) continue;
    std::vector<std::string> names;
    for (const Tensor& tensor : tensors) names.push_back(tensor.name);
    throw ConfigError("pattern matches no tensor", option + " " + pattern, "the tensors are " + join(names, ", "));
  }
}

}  // namespace onebit::compress
