// The codecs of docs/add-a-codec.md: compiled, registered, and then tested by the properties of every codec.
#include <fstream>
#include <sstream>

#include "compress/channels/compressed_mean.hpp"
#include "compress/codecs/codec_options.hpp"
#include "compress/codecs/segment_codec.hpp"
#include "tests/catch.hpp"
#include "tests/compress/example_codec.hpp"
#include "tests/compress/example_linear.hpp"
#include "tests/compress/rows.hpp"

namespace onebit::compress {
namespace {

std::unique_ptr<Codec> largest(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true, .sparse = true}, Largest{});
}

std::unique_ptr<Codec> window(const CodecConfig& config) {
  return make_segment_codec(config.name, {.sparse = true, .linear = true}, Window{sent_count(config)});
}

std::unique_ptr<Channel> window_mean(const device::Shard& shard, const ExchangeLayout& layout, std::span<const Tensor>,
                                     const ExchangeConfig& config) {
  return std::make_unique<WindowMean>(shard, layout, Window{sent_count(config.up)});
}

const bool added = add_codec({"largest", "the largest element of a segment", largest}) &&
                   add_codec({"window", "k elements of a segment in turn (k)", window, window_mean});

std::string read(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(tests::source_path(name)).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the page on adding a codec shows the examples as they are compiled") {
  for (const std::string name : {"tests/compress/example_codec.hpp", "tests/compress/example_linear.hpp"}) {
    const std::string code = read(name);
    REQUIRE(code.size() > 500);
    CHECK(read("docs/add-a-codec.md").find("<!-- " + name + " -->\n```cpp\n" + code + "```") != std::string::npos);
  }
}

TEST_CASE("the example codec is in the table and exchanges through an all-gather") {
  REQUIRE(added);
  const device::Device device = device::Device::cpu(1);
  const std::vector<Tensor> tensors = {{"a", 3}, {"b", 2}};
  ExchangeConfig config;
  config.up.name = "largest";
  CompressedMean exchange(device::whole(device, 2), tensors, config);
  const auto rows = device::Buffer<float>::copy_of(device, std::vector<float>{1, -4, 2, 0, 6, 3, 2, 2, -8, 1});
  const auto ones = device::Buffer<float>::copy_of(device, std::vector<float>{1, 1});
  exchange.begin(1);
  exchange.absorb({0, 2}, {.rows = rows.data(), .stride = 5, .factors = ones.data()});
  device::Buffer<float> result(device, 5);
  netmodel::TrafficList traffic;
  exchange.exchange(result.data(), traffic);
  CHECK(result.to_host() == std::vector<float>{1.5, -2, 0, -4, 3});
  CHECK(exchange.worker_errors().to_host() == std::vector<float>{1, 0, 2, 0, 0, 0, 2, 2, 0, 1});
  REQUIRE(traffic.size() == 2);
  CHECK(traffic[0].payload_bytes == 8);
  CHECK(traffic[0].collective == netmodel::Collective::all_gather);
}

namespace {

/// Two workers that send windows of 2 elements of a tensor of 5 and of one of 3.
class Windows {
 public:
  explicit Windows(const std::string& backend)
      : device_(tests::device_of(backend)), exchange_(device::whole(device_, 2), kTensors, config()) {}

  std::vector<float> step(const std::vector<float>& rows) {
    const auto input = tests::on(device_, rows), ones = tests::on(device_, std::vector<float>{1, 1});
    device::Buffer<float> result(device_, 8);
    exchange_.begin(++steps_);
    for (Index w = 0; w < 2; ++w) {
      exchange_.absorb({w, 1}, {.rows = input.data() + 8 * w, .stride = 8, .factors = ones.data() + w});
    }
    traffic.clear();
    exchange_.exchange(result.data(), traffic);
    return result.to_host();
  }
  std::vector<float> errors() const { return exchange_.worker_errors().to_host(); }
  const CompressedMean& exchange() const { return exchange_; }

  netmodel::TrafficList traffic;

 private:
  static ExchangeConfig config() {
    ExchangeConfig config;
    config.up = {.name = "window", .k = 2};
    return config;
  }
  inline static const std::vector<Tensor> kTensors = {{"a", 5}, {"b", 3}};
  device::Device device_;
  CompressedMean exchange_;
  Index steps_ = 0;
};

const std::vector<float> kRows = {1, -4, 2, 0,  6, 3, 2, -8,  // worker 0: a, b
                                  3, 2,  2, -8, 1, 1, 0, 5};  // worker 1

}  // namespace

TEST_CASE("the linear example sends the mean of a window, and the window moves on") {
  for (const std::string& backend : tests::backends()) {
    CAPTURE(backend);
    Windows windows(backend);
    // Step 1: elements 2 and 3 of a, 2 and 0 of b.
    CHECK(windows.step(kRows) == std::vector<float>{0, 0, 2, -4, 0, 2, 0, -1.5f});
    CHECK(windows.errors() == std::vector<float>{1, -4, 0, 0, 6, 0, 2, 0, 3, 2, 0, 0, 1, 0, 0, 0});
    // Step 2: elements 4 and 0 of a, 1 and 2 of b, with the errors of step 1.
    CHECK(windows.step(kRows) == std::vector<float>{4, 0, 0, 0, 7, 0, 2, -1.5f});
    CHECK(windows.errors() == std::vector<float>{0, -8, 2, 0, 0, 3, 0, 0, 0, 4, 2, -8, 0, 1, 0, 0});
  }
}

TEST_CASE("the linear example is all-reduced: four numbers for the windows of two tensors") {
  Windows windows("cpu");
  windows.step(kRows);
  REQUIRE(windows.traffic.size() == 1);
  const netmodel::Traffic& record = windows.traffic[0];
  CHECK(record.collective == netmodel::Collective::all_reduce);
  CHECK(record.direction == netmodel::Direction::both);
  CHECK(record.type == netmodel::WireType::fp32);
  CHECK(record.payload_bytes == 16);
  CHECK(netmodel::sent_bytes(record).value == 16);  // a ring of 2 sends 2 (2 - 1) / 2 of the payload
  CHECK(windows.exchange().plan() == windows.traffic);
}

TEST_CASE("the linear example keeps what it did not send until its turn comes") {
  Windows windows("cpu");
  std::vector<float> sum = windows.step(kRows);
  for (int step = 2; step <= 3; ++step) {  // three windows of 2 cover 5 elements
    const std::vector<float> result = windows.step(std::vector<float>(kRows.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += result[i];
  }
  CHECK(sum == std::vector<float>{2, -1, 2, -4, 3.5f, 2, 1, -1.5f});
  CHECK(windows.errors() == std::vector<float>(16));
}

TEST_CASE("the linear example measures its errors against the common result") {
  Windows windows("cpu");
  windows.step(kRows);
  // Worker 0: ||e||^2 = 57 and ||e + r||^2 = 1 + 16 + 4 + 16 + 36 + 4 + 4 + 2.25; worker 1: 14 and 40.25.
  const double expected = (std::sqrt(57 / 83.25) + std::sqrt(14 / 40.25)) / 2;
  CHECK(windows.exchange().worker_codec().error == Approx(expected).epsilon(1e-12));
}

TEST_CASE("the linear example encodes one vector for servers") {
  tests::RowCodec codec({.name = "window", .k = 2}, 5);
  const tests::RowOutcome outcome = codec({1, 2, 3, 4, 5}, 2);
  CHECK(outcome.decoded == std::vector<float>{1, 0, 0, 0, 5});
  CHECK(outcome.error == std::vector<float>{0, 2, 3, 4, 0});
  CHECK(outcome.bytes == 16);
}

}  // namespace onebit::compress
