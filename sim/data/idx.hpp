#pragma once
// MNIST and what is packed like it: Fashion-MNIST, KMNIST, EMNIST, your own images.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Reads one file of images (IDX, magic 0x00000803, unsigned bytes [n x height x width]) and one of labels (magic
/// 0x00000801, [n]), each plain or gzipped. config.paths is images, labels; or one folder with such a pair, named
/// *images*idx3-ubyte[.gz] and *labels*idx1-ubyte[.gz]; where several are, the one that begins with "train". Without
/// paths: the folder $ONEBIT_DATA or mnist/ in it.
///
/// features = byte / 255, standardised (see make_dense); classes = largest label + 1. The hash covers the unpacked
/// bytes of both files, headers included: packing does not change it. Memory is taken as data arrives, never on a
/// header's word. Throws ConfigError naming file, offset (after unpacking) and reason for anything damaged, missing,
/// ambiguous or beyond dense_limit; IoError where the system refuses to read.
std::unique_ptr<DataSource> make_idx(const DataConfig& config);

}  // namespace onebit::sim
