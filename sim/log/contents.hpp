#pragma once
// Checksums of every dataset and attribute that an HDF5 file contains or should contain. Internal to sim.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/log/h5.hpp"

namespace onebit::sim::h5 {

/// Checksums of what a program passes to HDF5 for a file. They are noted while the file is written and compared with
/// the closed file, because HDF5 1.10 writes much of the data late and loses some of the errors.
class Contents {
 public:
  /// Reads the contents of a file. Throws IoError if it cannot be read.
  static Contents of(const Object& file);

  /// Records elements of the given type that are written to a dataset (or an attribute), starting at byte first_byte,
  /// in the order of the file. A part that begins where another ends is joined to it. Noting the same part again
  /// replaces it; parts may not overlap otherwise.
  void note(const std::string& path, hid_t type, const void* data, Index elements, Index first_byte = 0);
  /// Notes the part [rows, 1, width] of a dataset [rows, layers, width], as write_layer takes it.
  void note_layer(const Object& dataset, hid_t type, const void* data, Index layer);
  /// Notes what a dataset already contains, reading it in pieces. Throws IoError.
  void note_stored(const Object& dataset);

  /// Compares with `found`; throws IoError naming the first object that is missing from `found` or has other contents
  /// there. file: the place that the message names.
  void require_in(const Contents& found, const Where& file) const;

  /// Returns one checksum of all datasets and attributes with their names, independent of the order of writing.
  std::uint32_t checksum() const;

 private:
  struct Part {
    Index bytes = 0;
    unsigned long crc = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };
  using Parts = std::map<Index, Part>;  // keyed by first byte

  void add(const std::string& path, Index first_byte, const void* data, Index bytes);
  void note_layers(const Object& dataset, hid_t type);
  void note_attributes(const Object& object);
  void note_group(const Object& group, std::set<haddr_t>& seen);
  static Part joined(const Parts& parts);

  std::map<std::string, Parts> objects_;
};

/// Calls use(values, rows, first row) for successive pieces of a dataset of at least one dimension. Values have the
/// dataset's own type. Throws IoError.
template <class Use>
void for_each_piece(const Object& dataset, const Use& use) {
  constexpr Index most_bytes = Index{8} << 20;
  const Id type(check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const auto rows = static_cast<Index>(extents(dataset)[0]);
  const Index row_bytes = elements_of_row(dataset) * static_cast<Index>(H5Tget_size(type.get()));
  if (rows == 0 || row_bytes == 0) return;
  check_plausible(dataset, static_cast<double>(rows) * static_cast<double>(row_bytes));
  const Index most = std::clamp<Index>(most_bytes / row_bytes, 1, rows);
  std::vector<char> piece(static_cast<std::size_t>(most * row_bytes));
  for (Index first = 0; first < rows; first += most) {
    const Index count = std::min(most, rows - first);
    read_rows(dataset, type.get(), {piece.data(), static_cast<std::size_t>(count * row_bytes)}, count, first);
    use(piece, count, first);
  }
}

/// Reads the contents of a file that was written and closed. Throws IoError.
Contents read_back(const Object& closed);
/// Throws IoError if a closed file does not contain what was written to it.
void verify(const Object& closed);

}  // namespace onebit::sim::h5
