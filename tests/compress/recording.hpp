#pragma once

#include <map>

#include "compress/codecs/recorded_draws.hpp"

namespace onebit::tests {

/// Random numbers that another program might have recorded.
class Recording final : public compress::RecordedDraws {
 public:
  explicit Recording(std::map<std::string, compress::RecordedArray> arrays) : arrays_(std::move(arrays)) {}
  std::optional<compress::RecordedArray> find(const std::string& name) const override {
    const auto found = arrays_.find(name);
    return found == arrays_.end() ? std::nullopt : std::optional(found->second);
  }
  Index steps() const override { return 3; }

 private:
  std::map<std::string, compress::RecordedArray> arrays_;
};

}  // namespace onebit::tests
