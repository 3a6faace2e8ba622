#pragma once
// Memory that is shared with another process, and the arrays in it.

#include <cstddef>
#include <span>
#include <string>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Anonymous memory (memfd) that any process of this user can open by its path.
class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Makes the memory at least `bytes` large. Returns whether the buffer had to grow; if it did, its address has
  /// changed. Throws IoError.
  bool reserve(Index bytes);
  Index size() const { return size_; }
  std::string path() const;

  /// Views `count` elements at a byte offset.
  template <class T>
  std::span<T> at(Index offset, Index count) const {
    return {reinterpret_cast<T*>(data_ + offset), static_cast<std::size_t>(count)};
  }

 private:
  std::byte* data_ = nullptr;
  Index size_ = 0;
  int descriptor_ = -1;
};

/// Offsets of a request's arrays in the memory, one after another, each a multiple of 64 bytes.
struct ExternalArrays {
  struct Array {
    Index offset = 0;
    Index count = 0;  ///< number of elements; 0 if the array is absent
  };
  Index bytes = 0;  ///< bytes of all arrays; declared before them, because they add to it
  Array weights;    ///< float32 [rows][parameters]
  Array features;   ///< float32 [workers x batch][features]
  Array tokens;     ///< int32 [workers x batch][context]
  Array labels;     ///< int32 [workers x batch][targets]
  Array gradients;  ///< float32 [workers][parameters]
  Array losses;     ///< float64 [workers]

  /// Lays out only the weights.
  ExternalArrays(Index parameters, Index rows);
  /// Lays out the arrays that are needed to evaluate `batch` or, with gradients, to train on it.
  ExternalArrays(Index parameters, Index rows, const Batch& batch, bool with_gradients);

  /// Returns the offsets of the arrays that are present, as " weights=0 features=64 ...".
  std::string words() const;

 private:
  Array add(Index count, Index element);
};

}  // namespace onebit::sim
