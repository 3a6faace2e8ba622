#include "netmodel/step/goal.hpp"

#include <map>
#include <sstream>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;

TEST_CASE("a schedule of two ranks, by hand") {
  const Fabric fabric(round_cluster(), 2);
  const Plan ring = plan(request(Collective::all_reduce, Algorithm::ring, 2000), fabric);
  std::ostringstream out;
  write_goal(out, {&ring, 1}, Seconds(1e-3), Seconds(2e-6), fabric);
  CHECK(out.str() ==
        "num_ranks 2\n"
        "\nrank 0 {\nl1: calc 1000000\n"
        "l2: send 1000b to 1 tag 0\nl2 requires l1\nl3: recv 1000b from 1 tag 0\nl3 requires l1\n"
        "l4: send 1000b to 1 tag 1\nl4 requires l2\nl4 requires l3\n"
        "l5: recv 1000b from 1 tag 1\nl5 requires l2\nl5 requires l3\n"
        "l6: calc 2000\nl6 requires l4\nl6 requires l5\n}\n"
        "\nrank 1 {\nl1: calc 1000000\n"
        "l2: recv 1000b from 0 tag 0\nl2 requires l1\nl3: send 1000b to 0 tag 0\nl3 requires l1\n"
        "l4: recv 1000b from 0 tag 1\nl4 requires l2\nl4 requires l3\n"
        "l5: send 1000b to 0 tag 1\nl5 requires l2\nl5 requires l3\n"
        "l6: calc 2000\nl6 requires l4\nl6 requires l5\n}\n");
}

TEST_CASE("every message of a schedule is sent once and received once") {
  for (const AlgorithmEntry& entry : algorithms()) {
    CAPTURE(name(entry.collective), name(entry.algorithm));
    const Fabric fabric(round_cluster(2), 6);
    const Plan all = plan(request(entry.collective, entry.algorithm, 1e6), fabric);
    std::ostringstream out;
    write_goal(out, {&all, 1}, Seconds(0), Seconds(0), fabric);
    std::map<std::string, int> open;
    std::istringstream lines(out.str());
    std::string rank;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string label, what, bytes, way, other, tag, number;
      if (line.starts_with("rank ")) rank = line.substr(5, line.find(' ', 5) - 5);
      words >> label >> what >> bytes >> way >> other >> tag >> number;
      if (what == "send") ++open[rank + ">" + other + " " + bytes + " " + number];
      if (what == "recv") --open[other + ">" + rank + " " + bytes + " " + number];
    }
    CHECK_FALSE(open.empty());
    for (const auto& [message, count] : open) CHECK(count == 0);
  }
}
