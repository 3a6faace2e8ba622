#pragma once
// Saves the state of an object to memory, and loads it again; for runs on one device.

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device/comm/state.hpp"

namespace onebit::tests {

struct SavedState {
  std::map<std::string, std::vector<std::byte>> buffers;
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::vector<Index>> integers;
};

class SavedStateVisitor final : public device::StateVisitor {
 public:
  SavedStateVisitor(const device::Shard& shard, SavedState& saved, bool loads)
      : StateVisitor(shard), saved_(saved), loads_(loads) {}
  bool loads() const override { return loads_; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces,
              Index total, Held) override {
    const Index size = device::bytes_of(elements.type);
    std::vector<std::byte>& bytes = saved_.buffers[path];
    if (!loads_) bytes.resize(static_cast<std::size_t>(total * size));
    if (static_cast<Index>(bytes.size()) != total * size) throw ConfigError("another size was saved", path, "");
    for (const device::Piece& piece : pieces) {
      std::byte* place = bytes.data() + piece.global * size;
      loads_ ? elements.upload(place, piece.first, piece.count) : elements.download(place, piece.first, piece.count);
    }
  }
  void host(const std::string& path, std::vector<double>& values) override { list(saved_.reals, path, values); }
  void host(const std::string& path, std::vector<Index>& values) override { list(saved_.integers, path, values); }
  template <class Number>
  void list(std::map<std::string, std::vector<Number>>& lists, const std::string& path, std::vector<Number>& values) {
    if (!loads_) lists[path] = values;
    if (!lists.contains(path)) throw ConfigError("nothing was saved", path, "");
    values = lists[path];
  }

  SavedState& saved_;
  bool loads_;
};

}  // namespace onebit::tests
