// The codec of docs/add-a-codec.md: compiled, registered, and then tested by the properties of every codec.
#include "tests/compress/example_codec.hpp"

#include <fstream>
#include <sstream>

#include "compress/channels/compressed_mean.hpp"
#include "compress/codecs/segment_codec.hpp"
#include "tests/catch.hpp"

namespace onebit::compress {
namespace {

std::unique_ptr<Codec> largest(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true, .sparse = true}, Largest{});
}

const bool added = add_codec({"largest", "the largest element of a segment", largest});

std::string read(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(tests::source_path(name)).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the page on adding a codec shows the example as it is compiled") {
  const std::string code = read("tests/compress/example_codec.hpp");
  REQUIRE(code.size() > 500);
  CHECK(read("docs/add-a-codec.md").find("```cpp\n" + code + "```") != std::string::npos);
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

}  // namespace onebit::compress
