#include "compress/channels/global_top_k.hpp"

#include "compress/channels/compressed_mean.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/global_top_k.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

using FloatRows = std::vector<std::vector<float>>;

ExchangeConfig tree(double k) {
  ExchangeConfig config;
  config.up = {.name = "top-k", .k = k};
  config.pattern = ExchangePattern::tree;
  config.granularity = Granularity::fused;
  return config;
}

/// One exchange of a vector on one device.
class Tree {
 public:
  Tree(const ExchangeConfig& config, Index workers, Index elements, const std::string& backend = "cpu")
      : device_(device_of(backend)),
        tensors_{{"x", elements}},
        mean(device::whole(device_, workers), tensors_, config) {}

  std::vector<float> operator()(const FloatRows& rows) {
    std::vector<float> flat;
    for (const std::vector<float>& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    const auto n = static_cast<Index>(rows.size());
    const auto values = on(device_, flat), ones = on(device_, std::vector<float>(rows.size(), 1.0f));
    mean.begin(++step_);
    mean.absorb({0, n}, {.rows = values.data(), .stride = tensors_[0].size, .factors = ones.data()});
    device::Buffer<float> result(device_, tensors_[0].size);
    traffic.clear();
    mean.exchange(result.data(), traffic);
    return result.to_host();
  }

 private:
  device::Device device_;
  std::vector<Tensor> tensors_;
  Index step_ = 0;

 public:
  CompressedMean mean;
  netmodel::TrafficList traffic;
};

}  // namespace

// Round 1: worker 0 adds up (2, 3, 0), keeps 3 and drops the 2 of worker 1; worker 2 keeps 5 and drops worker 3's 1.
// Round 2: 5 is kept, 3 dropped. The 2 belongs to an element in the result, so it stays with worker 0.
TEST_CASE("what a merge drops of an element that is in the result stays with the worker that dropped it") {
  for (const std::string& backend : backends()) {
    Tree exchange(tree(1), 4, 3, backend);
    CHECK(exchange({{1, 3, 0}, {2, 0, 0}, {5, 0, 0}, {0, 0, 1}}) == std::vector<float>{1.25, 0, 0});
    CHECK(exchange.mean.worker_errors().to_host() == std::vector<float>{3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  }
}

TEST_CASE("an element that comes to 0 stays with its workers") {
  Tree exchange(tree(1), 2, 3);
  CHECK(exchange({{0, 3, 0}, {0, -3, 1}}) == std::vector<float>{0, 0, 0});
  CHECK(exchange.mean.worker_errors().to_host() == std::vector<float>{0, 3, 0, 0, -3, 1});
}

TEST_CASE("global top-k does what a plain one does, on every backend") {
  constexpr Index kElements = 500;
  for (const std::string& backend : backends()) {
    for (const Index workers : {1, 2, 3, 4, 6, 8, 11}) {
      for (const Index k : {1, 20, 500}) {
        Tree exchange(tree(static_cast<double>(k)), workers, kElements, backend);
        oracle::GlobalTopK plain(static_cast<std::size_t>(workers), kElements, static_cast<std::size_t>(k));
        for (Index step = 1; step <= 4; ++step) {
          FloatRows rows;
          oracle::Rows wide;
          for (Index w = 0; w < workers; ++w) {
            rows.push_back(oracle::whole_numbers(kElements, 10000, 3, step, w));
            wide.emplace_back(rows.back().begin(), rows.back().end());
          }
          const oracle::Vector expected = plain(wide);
          const std::vector<float> result = exchange(rows);
          CAPTURE(backend, workers, k, step);
          CHECK(result == std::vector<float>(expected.begin(), expected.end()));
          oracle::Vector errors;
          for (const oracle::Vector& row : plain.errors) errors.insert(errors.end(), row.begin(), row.end());
          CHECK(exchange.mean.worker_errors().to_host() == std::vector<float>(errors.begin(), errors.end()));
        }
      }
    }
  }
}

TEST_CASE("the traffic of a tree is one payload an edge, up and down") {
  Tree exchange(tree(10), 6, 1000);
  exchange(FloatRows(6, oracle::normals(1000, 4)));
  REQUIRE(exchange.traffic.size() == 2);
  CHECK(exchange.traffic == exchange.mean.plan());
  for (const netmodel::Traffic& record : exchange.traffic) {
    CHECK(record.collective == netmodel::Collective::tree);
    CHECK(record.payload_bytes == 10 * 4 + 13);  // ten indices of 10 bits
    CHECK(record.messages == 3);
    CHECK(sent_bytes(record).value == 3 * 53);
  }
  CHECK(exchange.traffic[0].direction == netmodel::Direction::up);
  CHECK(exchange.traffic[1].direction == netmodel::Direction::down);
}

TEST_CASE("a tree's codec error is that of the workers' own top-k") {
  Tree exchange(tree(1), 2, 2);
  exchange({{3, 4}, {4, 3}});  // the result is (4, 0) / 2, or what ties give; each worker left 3 of length 5
  CHECK(exchange.mean.worker_codec().error == Approx(0.6));
  CHECK(exchange.mean.worker_codec().sent_share == 0.5);
}

TEST_CASE("a tree takes a new density") {
  Tree exchange(tree(1), 2, 4);
  exchange.mean.set_density(0.5);
  CHECK(exchange({{1, 2, 3, 4}, {1, 2, 3, 4}}) == std::vector<float>{0, 0, 3, 4});
}

TEST_CASE("the share of elements that workers sent drifts until a threshold is renewed, and dense codecs have none") {
  ExchangeConfig config;
  config.up = {.name = "dct", .k = 0.25, .renew = 3};
  config.pattern = ExchangePattern::gather;
  config.granularity = Granularity::fused;
  config.feedback = Feedback::none;
  for (const std::string& backend : backends()) {
    Tree exchange(config, 2, 8, backend);
    exchange({{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}});  // the thresholds are 7
    CHECK(exchange.mean.worker_codec().sent_share == 0.25);
    exchange({{9, 9, 9, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 1}});
    CHECK(exchange.mean.worker_codec().sent_share == 3.0 / 16);
    exchange({{5, 4, 3, 2, 1, 0, 0, 0}, {8, 7, 6, 5, 4, 3, 2, 1}});  // renewed
    CHECK(exchange.mean.worker_codec().sent_share == 0.25);
  }
  config.up = {.name = "sign-l2"};
  config.pattern = ExchangePattern::automatic;
  Tree dense(config, 2, 8);
  dense({{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}});
  CHECK(std::isnan(dense.mean.worker_codec().sent_share));
}
