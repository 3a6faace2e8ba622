#pragma once
// Whole runs with logs, and whether two of them agree bit for bit in state and in all columns except times.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::tests {

/// Returns everything that a cluster holds, by name, with rows by the worker's number.
using State = std::map<std::string, std::vector<std::byte>>;

class Dump final : public device::StateVisitor {
 public:
  Dump(State& state, const device::Shard& shard) : StateVisitor(shard), state_(state) {}
  bool loads() const override { return false; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece> pieces,
              Index total, Held) override {
    const Index size = device::bytes_of(elements.type);
    std::vector<std::byte>& all = state_[path];
    all.resize(static_cast<std::size_t>(total * size));
    for (const device::Piece& piece : pieces) {
      elements.download(all.data() + piece.global * size, piece.first, piece.count);
    }
  }
  void host(const std::string& path, std::vector<double>& values) override { list(path, values); }
  void host(const std::string& path, std::vector<Index>& values) override { list(path, values); }
  template <class Number>
  void list(const std::string& path, const std::vector<Number>& values) {
    const auto* first = reinterpret_cast<const std::byte*>(values.data());
    state_[path].assign(first, first + values.size() * sizeof(Number));
  }

  State& state_;
};

inline State state_of(sim::VirtualCluster& cluster) {
  State state;
  cluster.visit_state([&](const device::Shard& shard, const auto& use) {
    Dump dump(state, shard);
    use(dump);
  });
  return state;
}

/// Returns the names of parts in which two states differ.
inline std::vector<std::string> different(const State& a, const State& b) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second != bytes) names.push_back(name);
  }
  if (a.size() != b.size()) names.emplace_back("the number of names");
  return names;
}

template <class Value>
std::vector<std::byte> bits(const Value& value) {
  const auto bytes = [](const auto* first, std::size_t size) {
    const auto* begin = reinterpret_cast<const std::byte*>(first);
    return std::vector<std::byte>(begin, begin + size);
  };
  if constexpr (std::is_arithmetic_v<Value>) {
    return bytes(&value, sizeof(Value));
  } else {
    return bytes(value.data(), value.size() * sizeof(value[0]));
  }
}

/// Returns the columns, except times, in which rows differ.
template <class Row>
std::vector<std::string> different(const std::vector<Row>& a, const std::vector<Row>& b) {
  if (a.size() != b.size()) return {"the number of rows"};
  std::vector<std::string> names;
  sim::for_each_field<Row>([&](const sim::Column& column, auto member) {
    const auto same = [member](const Row& x, const Row& y) { return bits(x.*member) == bits(y.*member); };
    if (column.units != "s" && !std::equal(a.begin(), a.end(), b.begin(), same)) names.emplace_back(column.name);
  });
  return names;
}

inline std::vector<sim::Event> events_of_training(const sim::LogReader& log) {
  std::vector<sim::Event> events = log.events();
  std::erase_if(events, [](const sim::Event& event) { return event.kind == "stop" || event.kind == "resume"; });
  return events;
}

inline void check_same_log(const sim::LogReader& a, const sim::LogReader& b) {
  const std::vector<std::string> none;
  CHECK(different(a.steps(), b.steps()) == none);
  CHECK(different(a.workers(), b.workers()) == none);
  CHECK(different(a.tensors(), b.tensors()) == none);
  if (a.header().probed) CHECK(different(a.probes(), b.probes()) == none);
  CHECK(different(a.evaluations(), b.evaluations()) == none);
  CHECK(a.traffic() == b.traffic());
  CHECK(events_of_training(a) == events_of_training(b));
}

struct Ended {
  sim::RunResult result;
  State state;
};

/// Trains for at most `stop_after` steps; -1: to the end. The data of one run serve the next one.
inline Ended run(const sim::RunConfig& config, const std::string& path, sim::Existing existing, Index stop_after = -1) {
  static sim::DataCache data;
  sim::VirtualCluster cluster(config, sim::make_resources(config, data));
  sim::RunControl control;
  control.stop_requested = [&] { return cluster.step() == stop_after; };
  const sim::RunResult result = sim::train(cluster, config, path, existing, {}, control);
  return {result, state_of(cluster)};
}

/// Checks that a run on the CPU equals runs on other devices. worker_group: group size there, if it is given.
inline void check_same_runs(sim::RunConfig config, const std::vector<std::string>& others,
                            std::optional<Index> worker_group = {}) {
  const Folder folder;
  config.device = "cpu";
  const Ended expected = run(config, folder / "cpu.h5", sim::Existing::refuse);
  REQUIRE(expected.result.status == sim::RunStatus::finished);
  config.worker_group = worker_group.value_or(config.worker_group);
  for (const std::string& devices : others) {
    CAPTURE(config.optimizer.name, config.optimizer.exchange.up.name, config.model.name, devices);
    config.device = devices;
    const Ended result = run(config, folder / (devices + ".h5"), sim::Existing::refuse);
    CHECK(result.result.status == sim::RunStatus::finished);
    CHECK(different(expected.state, result.state) == std::vector<std::string>{});
    check_same_log(sim::LogReader(folder / "cpu.h5"), sim::LogReader(folder / (devices + ".h5")));
  }
}

}  // namespace onebit::tests
