#pragma once
// Helpers for tests of models of which workers own the tables.

#include <cstring>

#include "sim/models/model.hpp"
#include "tests/oracle/vectors.hpp"
#include "tests/sim/same_runs.hpp"

namespace onebit::tests {

/// Returns the elements of a model's tables.
inline std::vector<float> tables_of(sim::Model& model, const device::Shard& shard) {
  State state;
  Dump dump(state, shard);
  model.visit_state(dump);
  for (const auto& [name, bytes] : state) {
    if (!name.ends_with("tables")) continue;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  return {};
}

/// Central differences of value() with respect to every number.
template <class Value>
oracle::Vector central_differences(oracle::Vector numbers, const Value& value) {
  constexpr double step = 1e-5;
  oracle::Vector result;
  for (double& number : numbers) {
    const double middle = number;
    number = middle + step;
    const double above = value(numbers);
    number = middle - step;
    result.push_back((above - value(numbers)) / (2 * step));
    number = middle;
  }
  return result;
}

}  // namespace onebit::tests
