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

/// Ends the step that is being collected: one more of the last stretch, or the first of another.
void take_step(Index step, TrafficList& exchanges, std::vector<Stretch>& stretches) {
  if (exchanges.empty()) return;
  const Index last = stretches.empty() ? 0 : stretches.back().last;
  if (step - last > 1) stretches.push_back({last + 1, step - 1});
  if (step - last == 1 && last > 0 && stretches.back().each == exchanges) {
    stretches.back().last = step;
  } else {
    stretches.push_back({step, step, exchanges});
  }
  exchanges.clear();
}

/// Prices are those of exchanges among all workers: what a log says otherwise is damage, found before it is priced.
void require_all_workers(const netmodel::Traffic& exchange, const sim::LogReader& log) {
  if (exchange.group_size == log.header().workers) return;
  throw IoError("cannot read log: an exchange of " + std::to_string(exchange.group_size) + " workers in a run of " +
                    std::to_string(log.header().workers),
                log.path() + ": /traffic");
}

/// From step 1 on, without stages.
std::vector<Stretch> read_stretches(const sim::LogReader& log) {
  std::vector<Stretch> stretches;
  TrafficList exchanges;
  Index step = 1;
  for (const sim::StepTraffic& row : log.traffic()) {
    if (row.step < step || row.step > kMostSteps)
      throw IoError("cannot read log: its steps do not ascend", log.path() + ": /traffic");
    require_all_workers(row.traffic, log);
    if (row.step > step) take_step(step, exchanges, stretches);
    step = row.step;
    exchanges.push_back(row.traffic);
  }
  take_step(step, exchanges, stretches);
  return stretches;
}

/// Cuts a stretch where its phase changes.
void add_stages(const Stretch& all, const RecordedPhases& phases, std::string_view optimizer,
                std::vector<Stretch>& stretches) {
  const std::size_t begin = stretches.size();
  for (Index first = all.first, next = 0; first <= all.last; first = next) {
    next = std::min(phases.next_change(first), all.last + 1);
    const optim::Phase phase = phases.at(first, all.each);
    if (stretches.size() > begin && stretches.back().phase == phase) {
      stretches.back().last = next - 1;
    } else {
      stretches.push_back({first, next - 1, all.each, phase, optim::compresses(optimizer, phase)});
    }
  }
}

}  // namespace

std::vector<Stretch> exchanges_of(const sim::LogReader& log) {
  std::vector<Stretch> all = read_stretches(log);
  RecordedPhases phases(log);
  const Index last = all.empty() ? 0 : all.back().last;
  if (phases.last() > last) all.push_back({last + 1, phases.last()});
  for (const Stretch& stretch : all) phases.learn(stretch.first, stretch.last, stretch.each);
  const std::string optimizer = option_of(log.header(), "optimizer").value_or("");
  std::vector<Stretch> stretches;
  for (const Stretch& stretch : all) add_stages(stretch, phases, optimizer, stretches);
  return stretches;
}

}  // namespace onebit::analysis
