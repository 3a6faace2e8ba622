#pragma once
// Memory that another process maps too, and the arrays in it.

#include <cstddef>
#include <span>
#include <string>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Memory of the system's own (memfd) that any process of this user can open by its path.
class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes it at least so large; whether it grew: its addresses are others then. Throws IoError.
  bool reserve(Index bytes);
  Index size() const { return size_; }
  std::string path() const;

  /// `count` elements at a byte offset.
  template <class T>
  std::span<T> at(Index offset, Index count) const {
    return {reinterpret_cast<T*>(data_ + offset), static_cast<std::size_t>(count)};
  }

 private:
  std::byte* data_ = nullptr;
  Index size_ = 0;
  int descriptor_ = -1;
};

/// Where the arrays of a request lie in the memory, one after another, each from a multiple of 64 bytes on.
struct ExternalArrays {
  struct Array {
    Index offset = 0;
    Index count = 0;  ///< of elements; an array of none is not there
  };
  Index bytes = 0;  ///< that all of them take; before the arrays, which add to it
  Array weights;    ///< float32 [rows][parameters]
  Array features;   ///< float32 [workers x batch][features]
  Array tokens;     ///< int32 [workers x batch][context]
  Array labels;     ///< int32 [workers x batch][targets]
  Array gradients;  ///< float32 [workers][parameters]
  Array losses;     ///< float64 [workers]

  /// Weights alone.
  ExternalArrays(Index parameters, Index rows);
  /// What `batch` needs to be evaluated, or, with gradients, to be trained on.
  ExternalArrays(Index parameters, Index rows, const Batch& batch, bool with_gradients);

  /// " weights=0 features=64 ...": the offsets of those that are there.
  std::string words() const;

 private:
  Array add(Index count, Index element);
};

}  // namespace onebit::sim
