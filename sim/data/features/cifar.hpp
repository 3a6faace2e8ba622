#pragma once
// CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky 2009).

#include <memory>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Read files of records, plain or gzipped. A record has a label of one byte (CIFAR-100: two such labels, first a
/// coarse one, then the fine one, which is used) and 3,072 bytes of image [3 x 32 x 32]. config.paths names files, or
/// one folder, from which data_batch_*.bin are read in the order of their names (CIFAR-100: train*.bin). Without paths,
/// the folder is $ONEBIT_DATA or its subfolder cifar-10-batches-bin/ (cifar-100-binary/). The held-out split is read
/// from config.test. If no test files are named, it is test_batch.bin (test.bin) of the folder; if that does not exist,
/// the share config.holdout of the examples is held out.
///
/// The features are byte / 255, standardised with one mean and deviation for each colour (see make_dense). They are
/// converted when they are sampled, from the bytes as they were read or mapped. The hash covers the unpacked bytes of
/// all files. Throws ConfigError naming file, offset and reason for a file that is not a whole number of records, a
/// label out of range, and more than dense_limit features in a file.
std::unique_ptr<DataSource> make_cifar10(const DataConfig& config);
std::unique_ptr<DataSource> make_cifar100(const DataConfig& config);

/// The two forms of records.
struct CifarFormat {
  Index label_bytes;  ///< bytes before the image; the last one is the label
  Index classes;
};
inline constexpr CifarFormat cifar10{1, 10};
inline constexpr CifarFormat cifar100{2, 100};

inline constexpr Index cifar_features = 3 * 32 * 32;

/// Checks a whole file and returns its labels. Refuses a file without labels.
std::vector<std::int32_t> parse_cifar(const Bytes& bytes, const CifarFormat& format);

}  // namespace onebit::sim
