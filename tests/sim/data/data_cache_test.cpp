#include "sim/data/data_cache.hpp"

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::sim;

namespace {

DataConfig clicks(std::uint32_t seed) {
  return {
      .name = "clicks", .split = "size:0", .workers = 3, .seed = seed, .examples = 300, .tables = 4, .max_rows = 20};
}

Batch drawn(const DataSource& data) {
  Batch batch;
  data.sample(5, {0, 3}, 4, batch);
  return batch;
}

}  // namespace

TEST_CASE("a cache gives runs of other seeds the same examples and the draws of their own seed") {
  DataCache cache;
  const auto first = cache.get(clicks(1)), second = cache.get(clicks(2)), again = cache.get(clicks(1));
  CHECK(first->rows() == second->rows());
  CHECK(first == again);
  const Batch expected = drawn(*make_data(clicks(2))), found = drawn(*second);
  CHECK(found.features == expected.features);
  CHECK(found.tokens == expected.tokens);
  CHECK(found.labels == expected.labels);
  CHECK(found.features != drawn(*first).features);
  CHECK(found.place.seed == 2);
  CHECK(second->hash() == first->hash());
  CHECK(second->holdout_size() == first->holdout_size());
}

TEST_CASE("a cache makes other data anew") {
  DataCache cache;
  const auto first = cache.get(clicks(1));
  DataConfig other = clicks(1);
  other.zipf = 1.2;
  CHECK(cache.get(other)->hash() != first->hash());
  CHECK(cache.get(clicks(1))->hash() == first->hash());
}
