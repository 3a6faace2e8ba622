#pragma once
// MNIST and data in the same format, such as Fashion-MNIST, KMNIST, EMNIST or your own images.

#include <memory>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Reads one file of images (IDX, magic 0x00000803, unsigned bytes [n x height x width]) and one of labels (magic
/// 0x00000801, [n]), each plain or gzipped. config.paths names the images and the labels, or one folder with such a
/// pair, named *images*idx3-ubyte[.gz] and *labels*idx1-ubyte[.gz]; if there are several pairs, the one whose names
/// begin with "train" is used. Without paths, the folder is $ONEBIT_DATA or its subfolder mnist/. config.test names
/// images and labels of the same size.
///
/// The features are byte / 255, standardised (see make_dense). They are converted when they are sampled, from the bytes
/// as they were read or mapped. classes = largest label + 1. The hash covers the unpacked bytes of all files, headers
/// included, so packing does not change it. Throws ConfigError naming file, offset (after unpacking) and reason for
/// anything damaged, missing, unreadable, ambiguous or beyond dense_limit; IoError if mapping a file fails.
std::unique_ptr<DataSource> make_idx(const DataConfig& config);

/// Where the values of a file are.
struct IdxLayout {
  std::vector<Index> sizes;  ///< sizes of the dimensions, all positive
  Index header = 0;          ///< bytes before the values, which fill the rest of the file
};

constexpr Index idx_header(Index dimensions) {
  return 4 + 4 * dimensions;
}

/// Checks the header of a file of unsigned bytes with `dimensions` dimensions. Returns the size that the file should
/// have.
Index idx_size(const Bytes& begin, Index dimensions);

/// Checks that the whole file contains unsigned bytes with `dimensions` dimensions, and returns its layout.
IdxLayout parse_idx(const Bytes& bytes, Index dimensions);

}  // namespace onebit::sim
