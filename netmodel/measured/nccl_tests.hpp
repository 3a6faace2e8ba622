#pragma once
// The output of the programs of nccl-tests, read line by line.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netmodel/measured/measurements.hpp"

namespace onebit::netmodel {

/// Returns the factor by which nccl-tests multiplies algbw, which is size / time, to get busbw.
double bus_factor(Collective collective, Index ranks);

/// Returns the payload of a rank, as in Traffic, for a size as nccl-tests counts it: the size of an all-gather is that
/// of its result.
Bytes payload_of_size(Collective collective, Bytes size, Index ranks);

/// Reads the output of any version of all_reduce_perf, all_gather_perf, alltoall_perf, reduce_scatter_perf and
/// broadcast_perf, one run after another. Nodes and GPUs come from the list of ranks; columns and units come from the
/// two header lines. Without these, units are bytes, us and GB/s, and the columns are found by algbw = size / time. The
/// collective comes from the program's name, which may have a suffix such as _mpi. If the file does not contain the
/// name, busbw / algbw must be the ratio of an all-reduce. What NCCL and launchers print in between is skipped.
class NcclTests {
 public:
  /// Reads a line from which launcher prefixes have been removed (log_line.hpp). Returns its out-of-place measurement;
  /// none if the line is not a row, or is a row of 0 bytes. Throws std::invalid_argument with the reason if a row is
  /// refused: numbers that contradict each other (size / time is not algbw; busbw is not that of the collective and the
  /// listed ranks), a collective that cannot be priced, ranks that are not listed. Throws the same exception for a rank
  /// that is listed for two processes or in a different group from the ranks before it.
  std::optional<Measurement> take(const std::string& line);

  /// Throws std::invalid_argument if the output did not show which collective was measured.
  void finish() const;

 private:
  using Words = std::vector<std::string>;

  /// Positions of the out-of-place values in a row.
  struct Layout {
    std::size_t size = 0, time = 0, algbw = 0, busbw = 0;
  };

  void take_comment(const Words& words);
  void take_program(const std::string& word);
  void take_rank(const Words& words);
  void take_units(const Words& units);
  void begin_run();
  void begin_list();
  Layout layout_of(const Words& row) const;
  Layout layout_by_numbers(const Words& row) const;
  Collective collective_of(const Words& row, const Layout& layout, double algbw, double busbw);

  std::map<std::string, Index> hosts_;         ///< number of ranks on each host
  std::map<std::string, std::string> listed_;  ///< the line that lists each rank, by its number
  std::string group_;                          ///< group of the listed ranks; empty: a version without groups
  Index ranks_ = 0;
  std::string program_;                             ///< all_reduce_perf, ...; empty: no name read yet
  Words columns_;                                   ///< columns of the header line; empty: no such line
  double bytes_ = 1, seconds_ = 1e-6, rate_ = 1e9;  ///< SI values of the units of size, time and algbw
  bool in_rows_ = false;
  bool told_ = false;  ///< whether a row has identified the collective
};

}  // namespace onebit::netmodel
