#pragma once
// Simulates a bug that loses a part of the state.

#include <string>
#include <vector>

#include "device/comm/state.hpp"

namespace onebit::tests {

/// Zeroes all floats with the name `name`, in any group.
class DropState final : public device::StateVisitor {
 public:
  DropState(const device::Shard& shard, std::string name) : StateVisitor(shard), name_(std::move(name)) {}
  bool loads() const override { return false; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces, Index,
              Held) override {
    if (path != name_ && !path.ends_with("/" + name_)) return;
    for (const device::Piece& piece : pieces) {
      const std::vector<float> zeros(static_cast<std::size_t>(piece.count));
      elements.upload(zeros.data(), piece.first, piece.count);
    }
  }
  void host(const std::string&, std::vector<double>&) override {}
  void host(const std::string&, std::vector<Index>&) override {}

  std::string name_;
};

}  // namespace onebit::tests
