// The example of docs/add-a-layer.md: the page shows this file's code, and the code differentiates.
#include <fstream>
#include <sstream>

#include "tests/sim/models/example_layer.hpp"
#include "tests/sim/models/layer_check.hpp"

namespace onebit::tests {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(source_path(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the page on adding a layer shows the example as it is compiled") {
  const std::string code = read("tests/sim/models/example_layer.hpp");
  REQUIRE(code.size() > 500);
  CHECK(read("docs/add-a-layer.md").find("```cpp\n" + code + "```") != std::string::npos);
}

TEST_CASE("the example layer is that of an oracle") {
  check_layer({.name = "gain",
               .make = [](sim::Parameters& parameters) { return std::make_unique<sim::Gain>(parameters, "test", 5); },
               .outputs =
                   [](const oracle::Vector& weights, const oracle::Vector& input, const ExamplePlace&) {
                     oracle::Vector outputs(input.size());
                     for (std::size_t i = 0; i < input.size(); ++i) outputs[i] = input[i] * weights[i];
                     return outputs;
                   }});
}

}  // namespace onebit::tests
