#include "python/capi/state.hpp"

#include <cstring>
#include <vector>

#include "device/base/error.hpp"

namespace onebit::capi {
namespace {

using device::ElementType;
using device::Piece;

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
    case ElementType::int64:
      return "int64";
    case ElementType::uint16:
      return "uint16";
    case ElementType::uint8:
      return "uint8";
    case ElementType::int8:
      return "int8";
  }
  return "";
}

Index elements_of(std::span<const Piece> pieces) {
  Index count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

/// Saves with a function of the caller.
class Saver final : public device::StateVisitor {
 public:
  Saver(const device::Shard& shard, onebit_take take, void* context)
      : StateVisitor(shard), take_(take), context_(context) {}
  bool loads() const override { return false; }

 protected:
  void device(const std::string& path, const device::Elements& elements, std::span<const Piece> pieces, Index,
              Held) override {
    const Index count = elements_of(pieces), size = device::bytes_of(elements.type);
    std::vector<std::byte> values(static_cast<std::size_t>(count * size));
    std::byte* target = values.data();
    for (const Piece& piece : pieces) {
      if (piece.count > 0) elements.download(target, piece.first, piece.count);
      target += piece.count * size;
    }
    hand(path, elements.type, values.data(), count);
  }
  void host(const std::string& path, std::vector<double>& values) override {
    hand(path, ElementType::float64, values.data(), std::ssize(values));
  }
  void host(const std::string& path, std::vector<Index>& values) override {
    hand(path, ElementType::int64, values.data(), std::ssize(values));
  }

 private:
  void hand(const std::string& path, ElementType type, const void* values, Index count) const {
    if (take_(context_, path.c_str(), name_of(type), values, count) == 0) return;
    throw Error("the caller could not save a part of the state", path);
  }

  onebit_take take_;
  void* context_;
};

/// Loads with a function of the caller.
class Loader final : public device::StateVisitor {
 public:
  Loader(const device::Shard& shard, onebit_give give, void* context)
      : StateVisitor(shard), give_(give), context_(context) {}
  bool loads() const override { return true; }

 protected:
  void device(const std::string& path, const device::Elements& elements, std::span<const Piece> pieces, Index,
              Held) override {
    const auto* source = static_cast<const std::byte*>(take(path, elements.type, elements_of(pieces)).data);
    for (const Piece& piece : pieces) {
      if (piece.count > 0) elements.upload(source, piece.first, piece.count);
      source += piece.count * device::bytes_of(elements.type);
    }
  }
  void host(const std::string& path, std::vector<double>& values) override {
    fill(values, take(path, ElementType::float64, kAnyLength));
  }
  void host(const std::string& path, std::vector<Index>& values) override {
    fill(values, take(path, ElementType::int64, std::ssize(values)));
  }

 private:
  static constexpr Index kAnyLength = -1;
  struct Item {
    const void* data;
    Index count;
  };

  Item take(const std::string& path, ElementType type, Index wanted) const {
    Item item{nullptr, 0};
    if (give_(context_, path.c_str(), name_of(type), &item.data, &item.count) != 0 || item.count < 0) {
      throw ConfigError("a part of the state is missing", path, "load what the same version saved");
    }
    if (wanted != kAnyLength && item.count != wanted) {
      throw ConfigError("a part of the state has the wrong length",
                        path + ": " + std::to_string(item.count) + " elements, expected " + std::to_string(wanted),
                        "load the state that this rank saved, with the same tensors, ranks and options");
    }
    return item;
  }

  template <class T>
  static void fill(std::vector<T>& values, const Item& item) {
    values.resize(static_cast<std::size_t>(item.count));
    if (item.count > 0) std::memcpy(values.data(), item.data, values.size() * sizeof(T));
  }

  onebit_give give_;
  void* context_;
};

}  // namespace

void save(const device::Shard& shard, const Visit& visit, onebit_take take, void* context) {
  Saver saver(shard, take, context);
  visit(saver);
}

void load(const device::Shard& shard, const Visit& visit, onebit_give give, void* context) {
  Loader loader(shard, give, context);
  visit(loader);
}

}  // namespace onebit::capi
