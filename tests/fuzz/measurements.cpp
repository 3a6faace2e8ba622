#include "netmodel/measured/measurements.hpp"

#include <cmath>

#include "netmodel/cost/table_model.hpp"
#include "netmodel/measured/calibrate.hpp"
#include "netmodel/plan/selector.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

namespace {

/// Whether a fit, which prices every row many thousand times, takes well below a second.
bool is_small(const std::vector<netmodel::Measurement>& rows) {
  Index gpus = 0;
  for (const netmodel::Measurement& row : rows) gpus += row.nodes * row.gpus_per_node;
  return gpus <= 24 && rows.size() <= 4;
}

}  // namespace

/// Measured collectives, a table or the output of nccl-tests: read, priced with, and fitted to.
ONEBIT_FUZZ(measurements, input) {
  static fuzz::ScratchFile file;
  const std::uint8_t use = input.byte() % 4;
  file.assign(input.rest());
  const std::vector<netmodel::Measurement> rows = netmodel::read_measurements(file.path());
  const netmodel::Cluster& start = netmodel::find_cluster("paper-ethernet");
  if (use == 1 && is_small(rows)) {
    for (const netmodel::Fit& fit : netmodel::calibrate(rows, start)) netmodel::check(fit.cluster);
  }
  if (use == 2) {
    const netmodel::TableModel table(rows, [](const std::string&) {});
    const auto priced =
        netmodel::price(netmodel::Collective::all_reduce, netmodel::Bytes(1e6), netmodel::Fabric(start, 8), table);
    fuzz::require(!std::isnan(priced.estimate.total.value));
  }
}
