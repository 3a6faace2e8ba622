#include "analysis/exchanges.hpp"

#include <algorithm>
#include <iterator>

#include "device/error.hpp"
#include "netmodel/selector.hpp"

namespace onebit::analysis {
namespace {

using netmodel::TrafficList;

/// Ends the step that is being collected: one more of the last stretch, or the first of another.
void take_step(Index step, TrafficList& exchanges, std::vector<Stretch>& stretches) {
  if (exchanges.empty()) return;
  const bool more = !stretches.empty() && step - stretches.back().last == 1 && stretches.back().each == exchanges;
  if (more) {
    stretches.back().last = step;
  } else {
    stretches.push_back({step, step, exchanges});
  }
  exchanges.clear();
}

}  // namespace

std::vector<Stretch> exchanges_of(const sim::LogReader& log) {
  std::vector<Stretch> stretches;
  TrafficList exchanges;
  Index step = 0;
  for (const sim::StepTraffic& row : log.traffic()) {
    if (row.step < step) throw IoError("cannot read log: its steps do not ascend", log.path() + ": /traffic");
    if (row.step > step) take_step(step, exchanges, stretches);
    step = row.step;
    exchanges.push_back(row.traffic);
  }
  take_step(step, exchanges, stretches);
  return stretches;
}

bool is_dense(const TrafficList& step, Index parameters) {
  Index bytes = 0;
  for (const netmodel::Traffic& exchange : step) {
    if (exchange.collective != netmodel::Collective::all_reduce) return false;
    bytes += exchange.payload_bytes;
  }
  return bytes >= parameters * static_cast<Index>(sizeof(float));
}

std::vector<double> seconds_of(const std::vector<Stretch>& stretches, const netmodel::Fabric& fabric,
                               const netmodel::CostModel& model) {
  std::vector<double> seconds;
  const TrafficList* last = nullptr;
  for (const Stretch& stretch : stretches) {
    const bool again = last != nullptr && *last == stretch.each;
    seconds.push_back(again ? seconds.back() : netmodel::total_cost(stretch.each, fabric, model).total.value);
    last = &stretch.each;
  }
  return seconds;
}

ExchangeClock::ExchangeClock(const std::vector<Stretch>& stretches, Index workers, const netmodel::Cluster& cluster,
                             const netmodel::CostModel& model, double compute_seconds)
    : compute_seconds_(compute_seconds) {
  const std::vector<double> seconds = seconds_of(stretches, netmodel::Fabric(cluster, workers), model);
  double before = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    legs_.push_back({stretches[i].first, stretches[i].last, before, seconds[i]});
    before += stretches[i].steps() * seconds[i];
  }
}

double ExchangeClock::at(Index step) const {
  const double computing = static_cast<double>(step) * compute_seconds_;
  const auto beyond = std::ranges::upper_bound(legs_, step, {}, &Leg::first);
  if (beyond == legs_.begin()) return computing;
  const Leg& leg = *std::prev(beyond);
  return computing + leg.before + static_cast<double>(std::min(step, leg.last) - leg.first + 1) * leg.each;
}

}  // namespace onebit::analysis
