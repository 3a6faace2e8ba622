#pragma once
// CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky 2009).

#include <memory>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Files of records: one byte of label (CIFAR-100: coarse label, then the fine one, which is used) and 3,072 bytes of
/// image [3 x 32 x 32], plain or gzipped. config.paths is files, or one folder: data_batch_*.bin in the order of their
/// names (CIFAR-100: train.bin); without paths, the folder $ONEBIT_DATA, or cifar-10-batches-bin/ (cifar-100-binary/)
/// in it. Held out are the files of config.test; else test_batch.bin (test.bin) of the folder; else config.holdout.
///
/// features = byte / 255, standardised with one mean and deviation for each colour (see make_dense), converted when
/// they are sampled: files stay in memory, or mapped, as they are. The hash covers the unpacked bytes of all files.
/// Throws ConfigError naming file, offset and reason for a file that is not a whole number of records, a label
/// out of range, and more than dense_limit features in a file.
std::unique_ptr<DataSource> make_cifar10(const DataConfig& config);
std::unique_ptr<DataSource> make_cifar100(const DataConfig& config);

/// The two forms of records.
struct CifarFormat {
  Index label_bytes;  ///< before the image; the last one is the label
  Index classes;
};
inline constexpr CifarFormat cifar10{1, 10};
inline constexpr CifarFormat cifar100{2, 100};

inline constexpr Index cifar_features = 3 * 32 * 32;

/// Checks a whole file; returns the labels, one or more.
std::vector<std::int32_t> parse_cifar(const Bytes& bytes, const CifarFormat& format);

}  // namespace onebit::sim
