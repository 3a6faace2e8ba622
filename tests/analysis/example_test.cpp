// The example of docs/add-an-analysis.md: the page shows this file's code, and the code reads logs.
#include <fstream>
#include <sstream>

#include "tests/analysis/example_clipping.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(source_path(path)).rdbuf();
  return text.str();
}

ClippingView clipping_of(const std::vector<double>& shares, const std::string& bound = "1") {
  const Folder folder;
  sim::LogHeader header = sample_header();
  header.config = {{"optimizer.clip", bound}};
  sim::LogWriter log(folder / "run.h5", header, false);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sim::StepRow row = sample_step(static_cast<Index>(i) + 1);
    row.clip_share = shares[i];
    log.append(row);
  }
  log.close(sim::RunStatus::finished);
  return view_clipping(sim::LogReader(folder / "run.h5"));
}

}  // namespace

TEST_CASE("the page on adding an analysis shows the example as it is compiled") {
  const std::string code = read("tests/analysis/example_clipping.hpp");
  REQUIRE(code.size() > 500);
  CHECK(read("docs/add-an-analysis.md").find("```cpp\n" + code + "```") != std::string::npos);
}

TEST_CASE("the example analysis counts the rows with clipped gradients, and skips those without a share") {
  const ClippingView view = clipping_of({0, 0.25, sim::not_applicable, 1, 0, 0.5});
  CHECK(view.rows == 5);
  CHECK(view.clipped == 0.6);
}

TEST_CASE("the example analysis says why it has nothing to say") {
  CHECK_THROWS_WITH(clipping_of({}), Contains("no clipped share"));
  CHECK_THROWS_WITH(clipping_of({sim::not_applicable}), Contains("no clipped share"));
  CHECK_THROWS_WITH(clipping_of({0, 0}, "0"), Contains("--optimizer.clip"));
}
