#include "netmodel/measured/log_line.hpp"

#include "device/base/error.hpp"
#include "tests/netmodel/nccl_output.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// A run of two nodes of two GPUs, with three sizes besides 0, and what NCCL says in between.
const std::string kRun =
    "# nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907\n"
    "# Collective test starting: all_reduce_perf_mpi\n" +
    ranks(2, 2) + kNewHeader +
    "node0:21:27 [0] NCCL INFO Channel 00/02 :    0   1\n"
    "           0             0     float     sum      -1     6.36    0.00    0.00      0     6.40    0.00    0.00     "
    " 0\n"
    "           8             2     float     sum      -1    43.21    0.00    0.00      0    43.50    0.00    0.00     "
    " 0\n"
    "\n"
    "node1:22:28 [1] transport/net.cc:304 NCCL WARN all_gather_perf is not what runs here\n"
    "     1048576        262144     float     sum      -1    120.5    8.70   13.05    N/A    119.9    8.75   13.12    "
    "N/A\n"
    "17179869184    4294967296     float     sum      -1  1717987   10.00   15.00      0  1717987   10.00   15.00      "
    "0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 9.3500 \n"
    "#\n"
    "# Collective test concluded: all_reduce_perf_mpi\n";

/// The lines of a text, each with a prefix and an end.
std::string with(const std::string& prefix, const std::string& text, const std::string& end = "\n") {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all += prefix + line + end;
  return all;
}

void check_run(const std::string& log) {
  CAPTURE(log);
  const std::vector<Measurement> rows = read(log);
  REQUIRE(rows.size() == 3);
  for (const Measurement& row : rows) CHECK((row.nodes == 2 && row.gpus_per_node == 2));
  check_row(rows[0], Collective::all_reduce, 8, 43.21e-6);
  check_row(rows[1], Collective::all_reduce, 1048576, 120.5e-6);
  check_row(rows[2], Collective::all_reduce, 17179869184, 1.717987);
}

}  // namespace

TEST_CASE("log lines: prefixes of launchers are removed, and nothing else is") {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {" 0: #  Rank  0", " #  Rank  0"},
      {"12:      8388608   2097152", "      8388608   2097152"},
      {" 0:", ""},
      {"[1,0]<stdout>:#", "#"},
      {"   [1,15]<stderr>:  text", "  text"},
      {"[prterun-host-7@1,3]<stdout>: # size", " # size"},
      {"[1,0]<stdout> 8 2", " 8 2"},
      {"(head, rank=0, pid=3808) [1,0]<stdout>:# nThread", "# nThread"},
      {"(worker1, rank=1, pid=2769, ip=10.100.10.12) Worker", " Worker"},
      {"\x1b[36m(head, rank=0, pid=3808)\x1b[0m # \x1b[1;32msize", " # size"},
      {"# size\r", "# size"},
      {"# size\r\r", "# size"},
      {"pulling 10%\rpulling 99%\r# size\r", "# size"},
      {"\x1b[", ""},
      {"", ""},
      // These are no prefixes.
      {"10-4-3-3:97095:97196 [0] NCCL INFO", "10-4-3-3:97095:97196 [0] NCCL INFO"},
      {"12:30:00 text", "12:30:00 text"},
      {"[R6-GPU:125] 15 more processes", "[R6-GPU:125] 15 more processes"},
      {"[1,0] text", "[1,0] text"},
      {"[1,a]<stdout>:8", "[1,a]<stdout>:8"},
      {"(head) 8 2", "(head) 8 2"},
      {"        8   2 float", "        8   2 float"},
      {"nodes,gpus,bytes,seconds", "nodes,gpus,bytes,seconds"}};
  for (const auto& [line, wanted] : lines) {
    CAPTURE(line);
    CHECK(program_line(line) == wanted);
  }
}

TEST_CASE("logs: a run reads the same through every launcher") {
  check_run(kRun);
  for (const std::string prefix :
       {" 0: ", "[1,0]<stdout>:", "[1,0]<stdout> ",
        "(head, rank=0, pid=3808) [1,0]<stdout>:", "\x1b[36m(head, rank=0, pid=3808)\x1b[0m "}) {
    check_run(with(prefix, kRun));
    check_run(with(prefix, kRun, "\r\n"));
  }
  check_run(with("\x1b[32m", kRun, "\x1b[0m\n"));
}

TEST_CASE("logs: what launchers and other ranks print in between is skipped, commas and leading digits included") {
  const std::string before =
      "Authorization required, but no authorization protocol specified\n"
      "\n"
      "Warning: Permanently added 'worker-0.default.svc,10.11.5.31' (ECDSA) to the list of known hosts.\n"
      "mpirun -np 4 -x NCCL_DEBUG=INFO,WARN ./build/all_reduce_perf_mpi -b 8 -e 16G -f 2 -g 1\n"
      "  1st MCA variable: btl_tcp_if_include\n"
      "[node0:12569] 15 more processes have sent help message help-mca-var.txt / mutually-exclusive-vars\n"
      "2026-04-19 11:13:22 started\n";
  check_run(before + kRun);
  check_run(with("[1,0]<stderr>:", before) + with("[1,0]<stdout>:", kRun));
  std::string mixed;
  std::istringstream lines(kRun);
  for (std::string line; std::getline(lines, line);) {
    mixed += "[1,0]<stdout>:" + line +
             "\n[1,3]<stdout>:10.0.0.2:97095:97196 [3] NCCL INFO Channel 01/0 : 3[3] -> 0[0]\n" +
             "[1,3]<stderr>:\n15 more processes\n";
  }
  check_run(mixed);
}

TEST_CASE("logs: an error names the line of the log") {
  std::string broken = with("[1,0]<stdout>:", kRun);
  const std::size_t row = broken.find("120.5");
  broken.replace(row, 5, "110.5");
  const auto number = std::count(broken.begin(), broken.begin() + static_cast<std::ptrdiff_t>(row), '\n') + 1;
  CHECK_THROWS_WITH(read(broken), Contains("nccl.txt:" + std::to_string(number)) && Contains("algbw is 8.7"));
  CHECK_THROWS_WITH(read(kRun + " 8388608 2097152 float sum -1 node0: Test CUDA failure common.cu:389\n"),
                    Contains("not a number: node0:"));
  CHECK_THROWS_WITH(read(with("node0 says ", kRun)), Contains("no rows"));
}

TEST_CASE("measurements of several files are kept, with their places") {
  const Folder folder;
  write_file(folder / "a.csv", "nodes,gpus,bytes,seconds\n2,4,1e6,1e-3\n");
  write_file(folder / "b.txt", with(" 0: ", kRun));
  const std::vector<std::string> paths = {folder / "a.csv", folder / "b.txt", folder / "a.csv"};
  const std::vector<Measurement> rows = read_measurements(paths);
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].where == paths[0] + ":2");
  CHECK(rows[4].where == rows[0].where);
  CHECK_THAT(rows[2].where, Contains("b.txt:"));
  write_file(folder / "c.csv", "nodes,gpus,bytes,seconds\n2,4,1e6,1e-3\n2,4,1e6,0\n");
  CHECK_THROWS_WITH(read_measurements({paths[0], folder / "c.csv"}), Contains("c.csv:3"));
  write_file(folder / "none.csv", "nodes,gpus,bytes,seconds\n");
  CHECK_THROWS_WITH(read_measurements({paths[0], folder / "none.csv"}), Contains("none.csv") && Contains("no rows"));
}
