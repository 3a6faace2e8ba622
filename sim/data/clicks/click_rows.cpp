#include "sim/data/clicks/click_rows.hpp"

#include <cstddef>
#include <utility>

#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

constexpr Index most_features = 65536;
constexpr Index most_examples = Index{1} << 32;

template <class T>
std::span<T> row_of(std::vector<T>& values, Index example, Index width) {
  return std::span(values).subspan(static_cast<std::size_t>(example * width), static_cast<std::size_t>(width));
}

}  // namespace

ClickRows::ClickRows(const std::string& name, const DataConfig& config, Index slots, Index row_bytes) {
  check_no_files(config, name);
  check_range(config.features, 0, most_features, "--data.features");
  check_range(config.examples, 1, most_examples, "--data.examples");
  DataFacts& facts = made_.facts;
  facts = {.name = name,
           .features = config.features == 0 ? click_features : config.features,
           .tables = bag_tables(config, slots),
           .classes = 2};
  facts.context = slots_of(facts.tables);
  const Index values = dense_volume({config.examples, facts.features}, "--data.examples x --data.features");
  const Index ids = dense_volume({config.examples, facts.context}, "--data.examples x --data.tables x --data.bag");
  Index rows = 0;
  for (const BagTable& table : facts.tables) rows += table.rows;
  constexpr Index example_bytes = sizeof(std::int32_t) + sizeof(std::uint32_t) + sizeof(double);
  check_memory(4 * (values + ids) + example_bytes * config.examples + row_bytes * rows, "--data " + name);
  values_.resize(static_cast<std::size_t>(values));
  made_.bags.resize(static_cast<std::size_t>(ids));
  made_.labels.resize(static_cast<std::size_t>(config.examples));
  made_.standardise = false;
  made_.in_order = true;
}

std::span<float> ClickRows::features(Index example) {
  return row_of(values_, example, made_.facts.features);
}

std::span<std::int32_t> ClickRows::bags(Index example) {
  return row_of(made_.bags, example, made_.facts.context);
}

DenseExamples ClickRows::examples() {
  DataFacts& facts = made_.facts;
  Fnv1a hash;
  hash.add(values_.data(), values_.size() * sizeof(float));
  hash.add(made_.bags.data(), made_.bags.size() * sizeof(std::int32_t));
  hash.add(made_.labels.data(), made_.labels.size() * sizeof(std::int32_t));
  facts.hash = hash.hex();
  std::string line = facts.name + ": " + std::to_string(made_.labels.size());
  line.append(" examples, ")
      .append(std::to_string(facts.features))
      .append(" features, ")
      .append(describe(facts.tables));
  facts.provenance.push_back(line);
  made_.features = float_rows(std::move(values_), facts.features);
  return std::move(made_);
}

}  // namespace onebit::sim
