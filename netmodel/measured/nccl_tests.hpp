#pragma once
// What the programs of nccl-tests print, line by line.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netmodel/measured/measurements.hpp"

namespace onebit::netmodel {

/// Reads the output of any version of all_reduce_perf, all_gather_perf, alltoall_perf, reduce_scatter_perf and
/// broadcast_perf, one run after another: nodes and GPUs from the list of ranks, columns and units from the two header
/// lines (if those are missing, from the numbers themselves), the collective from the program's name or, if the file
/// does not contain it, from busbw / algbw, which must be those of an all-reduce.
class NcclTests {
 public:
  /// Reads a line. Returns its out-of-place row; none if the line is no row, or one of 0 bytes. Throws
  /// std::invalid_argument that says why a row is refused: numbers that contradict each other (size / time is not
  /// algbw; busbw is not that of the collective and the listed ranks), a collective that has no price, ranks that are
  /// not listed.
  std::optional<Measurement> take(const std::string& line);

  /// Throws std::invalid_argument if nothing has told which collective was measured.
  void finish() const;

 private:
  using Words = std::vector<std::string>;

  /// Positions in a row, out-of-place.
  struct Layout {
    std::size_t size = 0, time = 0, algbw = 0, busbw = 0;
  };

  void take_comment(const Words& words);
  void take_program(const std::string& word);
  void take_units(const Words& units);
  void begin_run();
  Layout layout_of(const Words& row) const;
  Layout layout_by_numbers(const Words& row) const;
  Collective collective_of(const Words& row, const Layout& layout, double algbw, double busbw);

  std::map<std::string, Index> hosts_;  ///< number of ranks on each
  Index ranks_ = 0;
  std::string program_;                             ///< all_reduce_perf, ...; empty: not yet named
  Words columns_;                                   ///< of the header line; empty: there was none
  double bytes_ = 1, seconds_ = 1e-6, rate_ = 1e9;  ///< of the units of size, time and algbw
  bool in_rows_ = false;
  bool told_ = false;  ///< whether a row has told the collective
};

}  // namespace onebit::netmodel
