#include "analysis/log/exchanges.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/log/log_options.hpp"
#include "analysis/log/recorded_phases.hpp"
#include "device/base/error.hpp"
#include "optim/stages.hpp"

namespace onebit::analysis {
namespace {

using netmodel::TrafficList;

/// Ends the step that is being collected: it extends the last range, or begins a new one.
void take_step(Index step, TrafficList& exchanges, std::vector<StepRange>& ranges) {
  if (exchanges.empty()) return;
  const Index last = ranges.empty() ? 0 : ranges.back().last;
  if (step - last > 1) ranges.push_back({last + 1, step - 1});
  if (step - last == 1 && last > 0 && ranges.back().each == exchanges) {
    ranges.back().last = step;
  } else {
    ranges.push_back({step, step, exchanges});
  }
  exchanges.clear();
}

/// Returns the equivalent exchange among all workers, because pricing assumes one. At the cut of a model, pairs of
/// workers exchange activations at the same time; each worker then counts as sending half of its bytes to each of its
/// neighbours. Throws IoError for other exchanges that are not among all workers: the log must be damaged.
netmodel::Traffic among_all(netmodel::Traffic exchange, const sim::LogReader& log) {
  const Index workers = log.header().workers;
  if (exchange.group_size == workers) return exchange;
  if (exchange.tensor == netmodel::kActivations && exchange.group_size == 2 && workers > 2) {
    exchange.collective = netmodel::Collective::neighbour;
    exchange.group_size = workers;
    exchange.messages = messages_sent(exchange.collective, workers);
    exchange.payload_bytes = ceil_div(exchange.payload_bytes, 4);  // half of what each sends to its partner
    return exchange;
  }
  throw IoError("cannot read log: an exchange of " + std::to_string(exchange.group_size) + " workers in a run of " +
                    std::to_string(log.header().workers),
                log.path() + ": /traffic");
}

/// Reads ranges, starting at step 1, without their stages.
std::vector<StepRange> read_ranges(const sim::LogReader& log) {
  std::vector<StepRange> ranges;
  TrafficList exchanges;
  Index step = 1;
  for (const sim::StepTraffic& row : log.traffic()) {
    if (row.step < step || row.step > kMostSteps)
      throw IoError("cannot read log: its steps do not ascend", log.path() + ": /traffic",
                    "it may be damaged: train the run again");
    if (row.step > step) take_step(step, exchanges, ranges);
    step = row.step;
    exchanges.push_back(among_all(row.traffic, log));
  }
  take_step(step, exchanges, ranges);
  return ranges;
}

/// Cuts a range where its phase changes.
void add_stages(const StepRange& all, const RecordedPhases& phases, std::string_view optimizer,
                std::vector<StepRange>& ranges) {
  const std::size_t begin = ranges.size();
  for (Index first = all.first, next = 0; first <= all.last; first = next) {
    next = std::min(phases.next_change(first), all.last + 1);
    const optim::Phase phase = phases.at(first, all.each);
    if (ranges.size() > begin && ranges.back().phase == phase) {
      ranges.back().last = next - 1;
    } else {
      ranges.push_back({first, next - 1, all.each, phase, optim::compresses(optimizer, phase),
                        optim::exchanges_gradients(optimizer, phase)});
    }
  }
}

}  // namespace

std::vector<StepRange> exchanges_of(const sim::LogReader& log) {
  std::vector<StepRange> all = read_ranges(log);
  RecordedPhases phases(log);
  const Index last = all.empty() ? 0 : all.back().last;
  if (phases.last() > last) all.push_back({last + 1, phases.last()});
  for (const StepRange& range : all) phases.learn(range.first, range.last, range.each);
  const std::string optimizer = option_of(log.header(), "optimizer").value_or("");
  std::vector<StepRange> ranges;
  for (const StepRange& range : all) add_stages(range, phases, optimizer, ranges);
  return ranges;
}

}  // namespace onebit::analysis
