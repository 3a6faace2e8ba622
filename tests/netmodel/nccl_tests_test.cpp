// Outputs of nccl-tests as its versions print them.

#include "netmodel/measured/nccl_tests.hpp"

#include "device/base/error.hpp"
#include "tests/netmodel/nccl_output.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const std::string kOldHeader =
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kBareHeader =
    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
    "#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

}  // namespace

TEST_CASE("nccl-tests: columns are those of the header line, with and without a root") {
  const std::string old_rows =
      "           8             2   float     sum    43.21    0.00    0.00  0e+00    43.50    0.00    0.00  0e+00\n"
      "   134217728      33554432   float     sum   1210.0  110.92  194.11  2e-07   1208.1  111.10  194.42  2e-07\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 97.1\n";
  const auto old_version = read(ranks(1, 8, true) + kOldHeader + old_rows);
  REQUIRE(old_version.size() == 2);
  CHECK((old_version[1].nodes == 1 && old_version[1].gpus_per_node == 8));
  check_row(old_version[0], Collective::all_reduce, 8, 43.21e-6);
  check_row(old_version[1], Collective::all_reduce, 134217728, 1210e-6);
  const auto without_header = read(ranks(1, 8, true) + old_rows);
  REQUIRE(without_header.size() == 2);
  check_row(without_header[0], Collective::all_reduce, 8, 43.21e-6);
  check_row(without_header[1], Collective::all_reduce, 134217728, 1210e-6);
  const std::string new_row =
      "   134217728      33554432     float     sum      -1   1210.0  110.92  194.11    N/A   1208.1  111.10  194.42  "
      "N/A\n";
  for (const std::string& header : {kNewHeader, std::string()}) {
    check_row(read("# nccl-tests version 2.17.1\n# Collective test starting: all_reduce_perf\n" + ranks(2, 4) + header +
                   new_row + "# Collective test concluded: all_reduce_perf\n")
                  .at(0),
              Collective::all_reduce, 134217728, 1210e-6);
  }
  std::string other_units = kNewHeader;
  other_units.replace(other_units.find("(us)"), 4, "(ms)");
  other_units.replace(other_units.find("(B)"), 3, "(MB)");
  check_row(read(ranks(2, 4) + other_units + "  100  1 float sum -1  2.0  50.00  87.50 0 2.0 50.00 87.50 0\n").at(0),
            Collective::all_reduce, 1e8, 2e-3);
}

TEST_CASE("nccl-tests: other collectives are what they are") {
  const std::string row =
      "   134217728      4194304     float    none      -1   1210.0  110.92   97.06      0   1208.1  111.10   97.21   "
      "0\n";
  const auto of = [&](const std::string& program) {
    return read("# Collective test starting: " + program + "\n" + ranks(2, 4) + kNewHeader + row);
  };
  check_row(of("all_gather_perf").at(0), Collective::all_gather, 134217728 / 8.0, 1210e-6);  // a worker's own block
  check_row(of("alltoall_perf").at(0), Collective::all_to_all, 134217728, 1210e-6);
  check_row(of("reduce_scatter_perf").at(0), Collective::reduce_scatter, 134217728, 1210e-6);
  check_row(read("$ mpirun -H a:4,b:4 ./build/alltoall_perf -b 128M\n" + ranks(2, 4) + kNewHeader + row).at(0),
            Collective::all_to_all, 134217728, 1210e-6);
  CHECK_THROWS_WITH(of("all_reduce_perf"), Contains("busbw 97.06 at algbw 110.92 does not match all_reduce_perf"));
  CHECK_THROWS_WITH(of("sendrecv_perf"), Contains("sendrecv_perf measures a collective that cannot be priced"));
}

TEST_CASE("nccl-tests: a file that does not say its collective is an all-reduce or refused") {
  const std::string bare =
      "   134217728      4194304   float   1210.0  110.92   97.06  0e+00   1208.1  111.10   97.21  0e+00\n";
  CHECK_THROWS_WITH(read(ranks(2, 4, true) + kBareHeader + bare), Contains("does not match all_reduce_perf on 8 GPUs"));
  CHECK_THROWS_WITH(read(ranks(2, 4, true) + bare), Contains("does not match all_reduce_perf on 8 GPUs"));
  // On two GPUs, an all-reduce and a broadcast have the same busbw; a broadcast has a root and no reduction.
  const std::string two = ranks(2, 1);
  check_row(read(two + kNewHeader + " 1000000 250000 float sum -1 100.0 10.00 10.00 0 100.0 10.00 10.00 0\n").at(0),
            Collective::all_reduce, 1e6, 1e-4);
  CHECK_THROWS_AS(read(two + kNewHeader + " 1000000 250000 float none 0 100.0 10.00 10.00 0 100.0 10.00 10.00 0\n"),
                  ConfigError);
  CHECK_THROWS_AS(read(two + kNewHeader + " 1000000 250000 float sum 0 100.0 10.00 10.00 0 100.0 10.00 10.00 0\n"),
                  ConfigError);
  CHECK_THROWS_WITH(read(two + kNewHeader + " 8 2 float sum -1 43.21 0.00 0.00 0 43.21 0.00 0.00 0\n"),
                    Contains("does not show which collective"));
}

TEST_CASE("nccl-tests: rows that contradict themselves are refused") {
  const std::string head = "# Collective test starting: all_reduce_perf\n" + ranks(2, 4) + kNewHeader;
  CHECK_THROWS_WITH(read(head + " 1000000 250000 float sum -1 100.0 20.00 35.00 0 100.0 20.00 35.00 0\n"),
                    Contains("size / time is 10, but algbw is 20"));
  CHECK_THROWS_WITH(read(head + " 1000000 250000 float sum 100.0 10.00 17.50 0 100.0 10.00 17.50 0\n"),
                    Contains("size / time"));
  CHECK_THROWS_WITH(read(head + " 1000000 250000 float sum -1\n"), Contains("the row has only 5 words"));
  CHECK_THROWS_WITH(read(ranks(2, 4) + " 1000000 250000 float sum -1 100.0 20.00 35.00 0\n"),
                    Contains("no header line, and no time"));
  std::string cpu_time = kNewHeader;
  for (std::size_t at = 0; (at = cpu_time.find("   time", at)) != std::string::npos;)
    cpu_time.replace(at, 7, "cputime");
  CHECK_THROWS_WITH(read(ranks(2, 4) + cpu_time + " 1000000 250000 float sum -1 100.0 10.00 17.50 0\n"),
                    Contains("no column time"));
}

TEST_CASE("nccl-tests: a program may have a suffix, and its name may be missing where it is an all-reduce") {
  const std::string row = " 1000000 250000 float none -1 100.0 10.00 8.75 0 100.0 10.00 8.75 0\n";
  const std::string start = "# Collective test starting: all_gather_perf";
  check_row(read(start + "_mpi\n" + ranks(2, 4) + kNewHeader + row).at(0), Collective::all_gather, 125000, 1e-4);
  CHECK_THROWS_AS(read(start + ".log\n" + ranks(2, 4) + kNewHeader + row), ConfigError);
  CHECK_THROWS_WITH(read("$ srun ./sendrecv_perf_mpi\n" + ranks(2, 4) + kNewHeader + row), Contains("sendrecv_perf"));
}

TEST_CASE("nccl-tests: rows of 0 bytes are skipped, whatever else they say") {
  const std::string zeros =
      "           0             0     float     sum      -1     6.36    0.00    0.00      0     6.40    0.00    0.00   "
      "   0\n"
      "           0             0     float     sum      -1     0.00     nan    -nan    N/A     0.00     nan    -nan   "
      " N/A\n";
  const std::string row = " 1000000 250000 float sum -1 100.0 10.00 17.50 0 100.0 10.00 17.50 0\n";
  for (const std::string& header : {kNewHeader, std::string()}) {
    const auto rows = read(ranks(2, 4) + header + zeros + row);
    REQUIRE(rows.size() == 1);
    check_row(rows[0], Collective::all_reduce, 1e6, 1e-4);
  }
}

TEST_CASE("nccl-tests: a time of ten seconds has two digits, and the rate has more") {
  const std::string head = "# Collective test starting: all_reduce_perf\n" + ranks(2, 4);
  const std::string slow = " 17179869184 4294967296 float sum -1 1.0e+07 1.64 2.87 N/A 1.0e+07 1.64 2.87 N/A\n";
  const std::string slower = " 17179869184 4294967296 float sum -1 1.4e+08 0.12 0.21 N/A 1.4e+08 0.12 0.21 N/A\n";
  for (const std::string& header : {kNewHeader, std::string()}) {
    const auto rows = read(head + header + slow + slower);
    REQUIRE(rows.size() == 2);
    check_row(rows[0], Collective::all_reduce, 17179869184, 17179869184 / 1.64e9);
    check_row(rows[1], Collective::all_reduce, 17179869184, 140);  // the rate has two digits as well
  }
  CHECK_THROWS_WITH(read(head + kNewHeader + " 17179869184 1 float sum -1 1.0e+07 2.10 3.67 0\n"),
                    Contains("size / time is 1.7"));
}

TEST_CASE("nccl-tests: more columns, as of graphs, of timestamps and of single iterations") {
  std::string text = ranks(2, 4) + kNewHeader;
  text.replace(text.find("warmup"), 6, "agg iters: 1 validation: 0 graph: 10 warmup");
  const std::string row = " 1000000 250000 float sum -1 100.0 10.00 17.50 N/A";
  check_row(read(text + row + " 90.0 11.11 19.44 N/A 2025-03-01 10:00:00\n").at(0), Collective::all_reduce, 1e6, 1e-4);
  const std::string iterations =
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min\n"
      "# (B) (elements) (us) (GB/s) (GB/s) (us) (us) (us) (%) (us) (GB/s) (GB/s) (us)\n";
  check_row(read(ranks(2, 4) + iterations + row + " 99.0 101.0 100.9 1.00 90.0 11.11 19.44 N/A 89.0\n").at(0),
            Collective::all_reduce, 1e6, 1e-4);
}

TEST_CASE("nccl-tests: ranks of several processes that measure alone, and of several groups, are refused") {
  const std::string row = " 1000000 250000 float sum -1 100.0 10.00 10.00 0 100.0 10.00 10.00 0\n";
  std::string twice = ranks(2, 1);
  twice.replace(twice.find("Rank 1"), 6, "Rank 0");
  CHECK_THROWS_WITH(read(twice + kNewHeader + row),
                    Contains("nccl.txt:5") && Contains("rank 0 is listed for two processes") && Contains("MPI=1"));
  std::string groups = ranks(2, 1);
  groups.replace(groups.find("Group  0", groups.find("Rank 1")), 8, "Group  1");
  CHECK_THROWS_WITH(read(groups + kNewHeader + row), Contains("several groups") && Contains("NCCL_TESTS_SPLIT"));
  // Two programs without MPI that do not mix their lists measured one node each.
  const auto alone = read(ranks(1, 2) + ranks(1, 2) + kNewHeader + row);
  REQUIRE(alone.size() == 1);
  CHECK((alone[0].nodes == 1 && alone[0].gpus_per_node == 2));
}

TEST_CASE("nccl-tests: the ranks of a run that failed before its first row do not count, nor do repeated lists") {
  const std::string row = " 1000000 250000 float sum -1 100.0 10.00 17.50 0 100.0 10.00 17.50 0\n";
  const std::string list = ranks(2, 4), again = list.substr(list.find("#  Rank"));
  const auto rows = read(ranks(4, 4) + "node3: Test NCCL failure common.cu:1204 'unhandled system error'\n" + list +
                         again + kNewHeader + row + again + row);
  REQUIRE(rows.size() == 2);
  CHECK((rows[1].nodes == 2 && rows[1].gpus_per_node == 4));
}

TEST_CASE("nccl-tests: nodes with different numbers of GPUs are refused") {
  std::string uneven = ranks(2, 4);
  uneven.replace(uneven.find("node1 "), 6, "node0 ");
  CHECK_THROWS_WITH(
      read(uneven + kNewHeader + " 1000000 250000 float sum -1 100.0 10.00 17.50 0 100.0 10.00 17.50 0\n"),
      Contains("the nodes have different numbers of GPUs"));
}

TEST_CASE("nccl-tests: a run in which nothing tells the collective is refused, also where others follow") {
  const std::string unclear = ranks(2, 1) + kNewHeader + " 8 2 float sum -1 43.21 0.00 0.00 0 43.21 0.00 0.00 0\n";
  const std::string clear = "# Collective test starting: all_reduce_perf\n" + unclear;
  CHECK(read(clear + clear).size() == 2);
  CHECK_THROWS_WITH(read(unclear + clear), Contains("does not show which collective"));
}

TEST_CASE("nccl-tests: several runs in one file, each with its own ranks and program") {
  const auto rows =
      read("# Collective test starting: all_reduce_perf\n" + ranks(1, 4) + kNewHeader +
           " 1000000 250000 float sum -1 100.0 10.00 15.00 0 100.0 10.00 15.00 0\n"
           "# Collective test concluded: all_reduce_perf\n" +
           ranks(2, 4, true) + kOldHeader + " 1000000 250000 float sum 200.0 5.00 8.75 0 200.0 5.00 8.75 0\n");
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].nodes == 1 && rows[0].gpus_per_node == 4));
  CHECK((rows[1].nodes == 2 && rows[1].gpus_per_node == 4));
  check_row(rows[1], Collective::all_reduce, 1e6, 2e-4);
}
