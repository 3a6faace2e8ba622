#pragma once
// MNIST and data in the same format: Fashion-MNIST, KMNIST, EMNIST, your own images.

#include <memory>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Reads one file of images (IDX, magic 0x00000803, unsigned bytes [n x height x width]) and one of labels (magic
/// 0x00000801, [n]), each plain or gzipped. config.paths is images, labels; or one folder with such a pair, named
/// *images*idx3-ubyte[.gz] and *labels*idx1-ubyte[.gz]; where several are, the one that begins with "train". Without
/// paths: the folder $ONEBIT_DATA or mnist/ in it. config.test is images, labels, of the same size.
///
/// features = byte / 255, standardised (see make_dense), converted when they are sampled: the files stay in memory, or
/// mapped, as they are. classes = largest label + 1. The hash covers the unpacked bytes of all files, headers included:
/// packing does not change it. Throws ConfigError naming file, offset (after unpacking) and reason for anything
/// damaged, missing, ambiguous or beyond dense_limit; IoError where the system refuses to read.
std::unique_ptr<DataSource> make_idx(const DataConfig& config);

/// Where the values of a file are.
struct IdxLayout {
  std::vector<Index> sizes;  ///< positive
  Index header = 0;          ///< bytes before the values; these are all that follows
};

constexpr Index idx_header(Index dimensions) {
  return 4 + 4 * dimensions;
}

/// Checks a whole file of unsigned bytes with so many dimensions.
IdxLayout parse_idx(const Bytes& bytes, Index dimensions);

}  // namespace onebit::sim
