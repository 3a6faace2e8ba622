// The example of docs/add-an-optimizer.md: the page shows this file's code, and the code trains.
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/optim/example_sgd.hpp"

namespace onebit::optim {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(tests::source_path(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the page on adding an optimizer shows the example as it is compiled") {
  const std::string code = read("tests/optim/example_sgd.hpp");
  REQUIRE(code.size() > 500);
  CHECK(read("docs/add-an-optimizer.md").find("```cpp\n" + code + "```") != std::string::npos);
}

TEST_CASE("the example optimizer descends on a quadratic") {
  const device::Device device = device::Device::cpu(1);
  const Problem problem{.shard = device::whole(device, 2), .tensors = {{"x", 3}}, .total_steps = 50};
  Sgd sgd(problem, OptimizerConfig{});
  device::Buffer<float> x(device, 3);
  x.upload(std::vector<float>{1, -2, 4});
  for (Index step = 1; step <= 50; ++step) {
    sgd.begin(step, 0.25);
    std::vector<float> rows;  // worker 0 sees x + 1, worker 1 sees x - 1: the mean gradient is x
    for (float shift : {1.0f, -1.0f}) {
      for (float value : x.to_host()) rows.push_back(value + shift);
    }
    device::Buffer<float> gradients(device, 6);
    gradients.upload(rows);
    sgd.absorb({0, 2}, gradients.data(), 3);
    const StepReport report = sgd.finish(x);
    REQUIRE(report.traffic == compress::DenseMean::plan(2, 3));
  }
  for (float value : x.to_host()) CHECK(std::abs(value) < 1e-5f);
}

TEST_CASE("the example optimizer decays weights and reports the norm of its step") {
  const device::Device device = device::Device::cpu(1);
  const Problem problem{.shard = device::whole(device, 1), .tensors = {{"x", 2}}};
  OptimizerConfig config;
  config.weight_decay = 0.5;
  Sgd sgd(problem, config);
  device::Buffer<float> x(device, 2);
  x.upload(std::vector<float>{4, 8});
  const auto gradient = device::Buffer<float>::copy_of(device, std::vector<float>{10, 12});
  sgd.begin(1, 0.25);
  sgd.absorb({0, 1}, gradient.data(), 2);
  const StepReport report = sgd.finish(x);
  CHECK(x.to_host() == std::vector<float>{1, 4});  // 4 - 0.25 (10 + 0.5 * 4), 8 - 0.25 (12 + 0.5 * 8)
  CHECK(double{report.update_norm} == 5);
}

}  // namespace onebit::optim
