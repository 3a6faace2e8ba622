#pragma once
// Visits the state of a run for a checkpoint: one function of an object both saves and loads its state. The saved data
// do not depend on how workers are divided among ranks: rows are stored by worker number.

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "device/comm/communicator.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::device {

enum class ElementType { float32, float64, int64, uint16, uint8, int8 };

Index bytes_of(ElementType type);

/// Elements [first, first + count) of a rank's memory. `global` is the position of element `first` among the elements
/// of all ranks.
struct Piece {
  Index first = 0;
  Index global = 0;
  Index count = 0;
};

/// Elements in a device's memory.
struct Elements {
  Memory* memory = nullptr;
  void* data = nullptr;
  ElementType type = ElementType::float32;

  /// Copies `count` elements, starting at element `first`, to host memory.
  void download(void* target, Index first, Index count) const;
  /// Copies host memory to `count` elements, starting at element `first`.
  void upload(const void* source, Index first, Index count) const;
};

class StateVisitor {
 public:
  explicit StateVisitor(const Shard& shard) : shard_(shard) {}
  virtual ~StateVisitor() = default;
  StateVisitor(const StateVisitor&) = delete;
  StateVisitor& operator=(const StateVisitor&) = delete;

  /// The shard whose state is visited.
  const Shard& shard() const { return shard_; }
  /// Whether values are read from the checkpoint rather than written to it.
  virtual bool loads() const = 0;

  /// Calls visit() and prefixes the names of everything that it visits with `name` and a slash.
  template <class Visit>
  void group(const std::string& name, const Visit& visit) {
    const std::string outer = prefix_;
    prefix_ += name + "/";
    visit();
    prefix_ = outer;
  }

  /// Visits numbers in host memory that are the same on every rank. When a list is loaded, it is resized to the length
  /// that was saved.
  void number(const std::string& name, Index& value);
  void number(const std::string& name, double& value);
  void number(const std::string& name, bool& value);
  void numbers(const std::string& name, std::vector<double>& values) { host(prefix_ + name, values); }
  void numbers(const std::string& name, std::deque<double>& values);

  /// Visits a buffer that is the same on every rank and already has the right size.
  template <class T>
  void shared(const std::string& name, Buffer<T>& buffer) {
    const Piece all{0, 0, buffer.size()};
    device(prefix_ + name, elements(buffer), {&all, 1}, buffer.size(), Held::by_every_rank);
  }

  /// Visits `stride` elements for each of this rank's workers; those of the first worker begin at element `before` of
  /// the buffer.
  template <class T>
  void rows(const std::string& name, Buffer<T>& buffer, Index stride, Index before = 0) {
    const Range own = shard_.own();
    const Piece mine{before, own.first * stride, own.count * stride};
    pieces(name, buffer, {&mine, 1}, shard_.workers() * stride);
  }
  /// Visits one number for each of this rank's workers, in host memory.
  void rows(const std::string& name, std::vector<Index>& values);

  /// Visits this rank's pieces of the `total` elements that the ranks hold together.
  template <class T>
  void pieces(const std::string& name, Buffer<T>& buffer, std::span<const Piece> mine, Index total) {
    device(prefix_ + name, elements(buffer), mine, total, Held::by_one_rank);
  }

 protected:
  enum class Held { by_every_rank, by_one_rank };
  /// Saves or loads one item. Throws the errors of the checkpoint file.
  virtual void device(const std::string& path, const Elements& elements, std::span<const Piece> pieces, Index total,
                      Held held) = 0;
  virtual void host(const std::string& path, std::vector<double>& values) = 0;
  virtual void host(const std::string& path, std::vector<Index>& values) = 0;

 private:
  template <class T>
  static Elements elements(Buffer<T>& buffer) {
    return {buffer.memory(), buffer.data(), type_of<T>()};
  }
  template <class T>
  static constexpr ElementType type_of() {
    if constexpr (std::is_same_v<T, float>) return ElementType::float32;
    if constexpr (std::is_same_v<T, double>) return ElementType::float64;
    if constexpr (std::is_same_v<T, Index>) return ElementType::int64;
    if constexpr (std::is_same_v<T, std::uint16_t>) return ElementType::uint16;
    if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
    if constexpr (std::is_same_v<T, std::int8_t>) return ElementType::int8;
  }

  const Shard& shard_;
  std::string prefix_;
};

}  // namespace onebit::device
