#pragma once
// Features that are bytes of files and stay where they were read.

#include <array>
#include <vector>

#include "sim/data/features/dense.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Records of equal size in one or more files. The features of a record are its bytes after some offset. A feature's
/// value is byte / 255, standardised.
class ByteRows final : public FeatureRows {
 public:
  /// Adds `count` records of `stride` bytes, which the file must contain. The features of its first record begin at
  /// byte `first` of the file.
  void add(Bytes file, Index first, Index stride, Index count);

  void read(Index example, std::span<float> row) const override;
  std::vector<float> values() const override;
  void read_bytes(Index example, std::span<std::uint8_t> row) const override;
  void standardise(std::span<const Standard> channels) override;

 private:
  struct File {
    Bytes bytes;
    Index first, stride;
    Index end;  // number of examples in this file and the files before it
  };

  using Values = std::array<float, 256>;
  static Values values_of(const Standard& standard);
  const std::uint8_t* record(Index example) const;

  std::vector<File> files_;
  std::vector<Values> channels_ = {values_of({})};  // values that bytes stand for
};

}  // namespace onebit::sim
