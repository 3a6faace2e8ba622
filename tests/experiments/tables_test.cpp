// Tables, intervals and JSON without the program.

#include <limits>
#include <sstream>

#include "experiments/output/interval_output.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::experiments;

TEST_CASE("tables: columns are aligned by characters, not by bytes") {
  Table table({"arm", "loss", "runs"});
  table.add({"adam", interval_text({1.25, 0.125, 3}), "3"});
  table.add({"b", interval_text({10, std::numeric_limits<double>::quiet_NaN(), 1}), "1"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() ==
        "arm          loss  runs\n"
        "adam  1.25 ± 0.12     3\n"
        "b              10     1\n");
}

TEST_CASE("tables: intervals of shares are percentages") {
  CHECK(percent_interval({0.5, 0.01, 3}) == "50% ± 1%");
  CHECK(percent_interval({0.5, std::numeric_limits<double>::quiet_NaN(), 1}) == "50%");
}
