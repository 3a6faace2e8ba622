// One run over several processes: the same log and weights as in one process, and an end that is reported once.

#include <sched.h>

#include <cstring>

#include "compress/layout/layout.hpp"
#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/schema.hpp"
#include "sim/run/weights_file.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

#define ONEBIT_NEEDS_MPI()                                                                           \
  ONEBIT_SKIP_UNLESS(mpi_is_here(), "mpi", "not in this build, or no mpirun: MPI is not installed"); \
  const NoLeakCheck no_leak_check

Arguments mpirun(Index ranks, const Arguments& arguments) {
  return joined({"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)},
                onebit_command(arguments));
}

/// 14 workers are 4 blocks, the last of two.
Arguments blocks_run(const std::string& optimizer, const std::string& name, const Arguments& more = {}) {
  const bool fuses = optimizer == "onebit-adam" || optimizer == "zeroone-adam";
  const Arguments run = tiny_run(
      "run", {"--workers", "14", "--steps", "9", "--optimizer", optimizer, "--log.workers-every", "2",
              "--log.tensors-every", "3", "--eval.every", "4", "-o", name + ".h5", "--weights-out", name + ".weights"});
  return joined(joined(run, fuses ? Arguments{"--optimizer.granularity", "fused"} : Arguments{}), more);
}

bool is_time(std::string_view column) {
  return column.ends_with("_seconds");
}

/// Returns every number of a log except times and events, which include stops and resumptions.
std::vector<std::pair<std::string, std::vector<double>>> numbers_of(const sim::LogReader& log) {
  std::vector<std::pair<std::string, std::vector<double>>> columns;
  for (const sim::Column& column : sim::log_columns()) {
    const bool number = column.type == sim::ColumnType::float64 || column.type == sim::ColumnType::int64;
    const bool rows = column.shape == sim::Shape::rows || column.shape == sim::Shape::rows_by_workers ||
                      column.shape == sim::Shape::rows_by_tensors;
    if (!number || !rows || is_time(column.name) || column.group == "events") continue;
    if (!has(log.header(), column) || (column.group == "probes" && !log.header().probed)) continue;
    columns.emplace_back(sim::path_of(column), log.column(sim::path_of(column)));
  }
  return columns;
}

std::vector<sim::Event> events_of_training(const sim::LogReader& log) {
  std::vector<sim::Event> events = log.events();
  std::erase_if(events, [](const sim::Event& event) { return event.kind == "stop" || event.kind == "resume"; });
  return events;
}

void check_same_logs(const std::string& one, const std::string& other) {
  const sim::LogReader a(one), b(other);
  CHECK(a.status() == b.status());
  CHECK(b.closed());
  CHECK(events_of_training(a) == events_of_training(b));
  CHECK(a.traffic() == b.traffic());
  const auto columns = numbers_of(a), others = numbers_of(b);
  CHECK(columns.size() > 30);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto& [name, values] = columns[c];
    CAPTURE(name);
    REQUIRE(values.size() == others[c].second.size());
    CHECK(std::memcmp(values.data(), others[c].second.data(), values.size() * sizeof(double)) == 0);
  }
}

bool same_weights(const Folder& folder, const std::string& one, const std::string& other) {
  const std::vector<compress::Tensor> tensors = sim::LogReader(folder / (one + ".h5")).header().tensors;
  const auto weights = [&](const std::string& name) {
    return sim::read_weights(folder / (name + ".weights"), tensors);
  };
  const std::vector<float> a = weights(one), b = weights(other);
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Returns the member `key` of every rank in the JSON output of a run.
std::vector<Index> of_ranks(const std::string& json, const std::string& key) {
  std::vector<Index> values;
  std::size_t at = json.find("\"ranks\"");
  const std::string name = "\"" + key + "\": ";
  while ((at = json.find(name, at)) != std::string::npos) values.push_back(std::stol(json.substr(at += name.size())));
  return values;
}

/// Elements of the model of tiny_run: 4,5,3 with biases.
constexpr Index kParameters = 4 * 5 + 5 + 5 * 3 + 3;
const std::vector<Index> kHeld = {4, 4, 4, 2};  ///< workers of four ranks

/// Bytes that a rank of four receives in a dense step: from every other rank, a partial sum of this rank's columns, in
/// double, and the other rank's part of the mean.
Index dense_bytes(Index rank) {
  const auto columns = [](Index r) { return kParameters * (r + 1) / 4 - kParameters * r / 4; };
  return 3 * columns(rank) * 8 + (kParameters - columns(rank)) * 4;
}

/// Bytes in a compressed step: from every worker of other ranks the bits of our servers' chunks with a scale, and from
/// every server of other ranks its chunk with a scale.
Index compressed_bytes(Index rank) {
  const Index chunk = round_up(kParameters, compress::padding_quantum(14)) / 14 / 8;
  const Index own = kHeld[static_cast<std::size_t>(rank)], others = 14 - own;
  return others * (own * chunk + 4) + others * (chunk + 4);
}

/// Compares the states of two checkpoints, except what concerns their logs. Arguments: the least number of items,
/// files.
constexpr const char* kCompareCheckpoints = R"(
import sys, h5py
def state(path):
    found = {}
    with h5py.File(path, 'r') as file:
        file.visititems(lambda name, item: found.update({name: item[()].tobytes()})
                        if isinstance(item, h5py.Dataset) and not name.startswith('run/') else None)
    return found
one, other = map(state, sys.argv[2:])
assert len(one) >= int(sys.argv[1]) and one.keys() == other.keys(), (one.keys(), other.keys())
assert not [name for name in one if one[name] != other[name]], [name for name in one if one[name] != other[name]]
)";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

Arguments endless(const Arguments& more = {}) {
  return onebit_command(tiny_run(
      "run", joined({"--workers", "16", "--steps", "100000000", "--log.flush", "0.01", "-o", "run.h5", "--ranks", "4"},
                    more)));
}

Index committed(const std::string& path) {
  try {
    return sim::LogReader(path).committed_rows();
  } catch (const Error&) {
    return 0;
  }
}

/// Returns the process that is a rank of the run in `folder`; 0 if there is none.
pid_t find_rank(const Folder& folder, int rank) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code ignored;
    if (!fs::equivalent(entry.path() / "cwd", folder.path(), ignored)) continue;
    const std::string variables = "\n" + read_file(entry.path() / "environ");
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    if (variables.find(wanted + std::string(1, '\0')) == std::string::npos) continue;
    if (fs::read_symlink(entry.path() / "exe", ignored) == fs::canonical(ONEBIT_PROGRAM)) {
      return static_cast<pid_t>(std::stol(entry.path().filename()));
    }
  }
  return 0;
}

const Arguments kClicks = {"--data",        "clicks", "--data.examples", "400",
                           "--data.tables", "12",     "--data.max-rows", "50"};

/// Trains each model in one process and in two and three ranks, and compares logs and checkpoints.
void check_ranks_of(const std::vector<Arguments>& models) {
  const std::string python = find_python("h5py");
  const Arguments problem = {
      "--workers",          "10", "--batch", "4", "--steps", "6", "--threads", "1", "--eval.every", "3",
      "--checkpoint.every", "6"};
  for (const Arguments& model : models) {
    const Folder folder;
    const auto run = [&](const std::string& name) {
      return joined(joined(joined({"run"}, problem), model), {"-o", name + ".h5"});
    };
    const Outcome one = run_onebit(folder, run("one"));
    CAPTURE(model, one.err);
    REQUIRE(one.status == 0);
    for (const Index ranks : {2, 3}) {
      const std::string name = std::to_string(ranks);
      const Outcome several = run_in(folder, mpirun(ranks, run(name)));
      CAPTURE(ranks, several.out, several.err);
      REQUIRE(several.status == 0);
      check_same_logs(folder / "one.h5", folder / (name + ".h5"));
      if (python.empty()) continue;
      const Outcome same =
          run_in(folder, {python, "-c", kCompareCheckpoints, "2", "one.h5.checkpoint-6", name + ".h5.checkpoint-6"});
      CAPTURE(same.out, same.err);
      CHECK(same.status == 0);
    }
  }
}

}  // namespace

TEST_CASE("mpi: the same log and weights in one, two and four ranks as in one process", "[once]") {
  ONEBIT_NEEDS_MPI();
  for (const std::string optimizer : {"adam", "onebit-adam", "lamb", "onebit-lamb", "zeroone-adam"}) {
    const Folder folder;
    Arguments more = {"--optimizer.lr", "0.01", "--optimizer.clip", "0.5"};
    if (optimizer.starts_with("onebit")) more = joined(more, {"--freeze", "fixed:4"});
    if (optimizer == "onebit-adam") more = joined(more, {"--probe.every", "2", "--probe.curvature", "2"});
    if (optimizer == "zeroone-adam") {
      more = {"--optimizer.lr", "0.01", "--optimizer.var-freeze-step", "4", "--optimizer.local-step-scaler", "2"};
    }
    const Outcome one = run_onebit(folder, blocks_run(optimizer, "one", more));
    CAPTURE(optimizer, one.err);
    REQUIRE(one.status == 0);
    for (const Index ranks : {1, 2, 4}) {
      if (ranks == 1 && optimizer != "onebit-adam") continue;  // one process, no matter what started it
      const std::string name = std::to_string(ranks);
      const Outcome several = run_in(folder, mpirun(ranks, blocks_run(optimizer, name, more)));
      CAPTURE(ranks, several.out, several.err);
      REQUIRE(several.status == 0);
      check_same_logs(folder / "one.h5", folder / (name + ".h5"));
      CHECK(same_weights(folder, "one", name));
      CHECK(several.err.empty());
    }
  }
}

TEST_CASE("mpi: models whose tables are split have the same bits in two and three ranks as in one process", "[once]") {
  ONEBIT_NEEDS_MPI();
  const Arguments dlrm = joined(kClicks, {"--model", "dlrm-nano", "--boundary.codec", "dct-mp", "--boundary.k", "0.3"});
  check_ranks_of({joined(dlrm, {"--tables.split", "table", "--boundary.renew", "3", "--optimizer", "sgd"}),
                  joined(dlrm, {"--tables.split", "row", "--tables.optimizer", "adagrad", "--optimizer", "onebit-adam",
                                "--freeze", "fixed:3"}),
                  joined(kClicks, {"--model", "des-deepfm", "--model.hidden", "8", "--optimizer", "adam"})});
}

TEST_CASE("mpi: models that are cut have the same bits in two and three ranks as in one process") {
  ONEBIT_NEEDS_MPI();
  check_ranks_of(
      {joined(kClicks, {"--model", "dlrm-nano", "--boundary.codec", "dct-mp", "--boundary.k", "0.3", "--tables.split",
                        "column", "--boundary.scope", "neuron", "--optimizer", "momentum-sgd"}),
       joined(kClicks, {"--model", "des-fm", "--boundary.codec", "int8", "--optimizer", "sgd"}),
       {"--data", "synthetic", "--model", "mlp", "--model.layers", "32,8,10", "--model.cut", "1", "--boundary.codec",
        "int8", "--optimizer", "sgd"}});
}

TEST_CASE("mpi: a rank holds its workers and receives what the exchanges must move") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  const Outcome dense = run_in(folder, mpirun(4, blocks_run("adam", "dense", {"--json"})));
  CAPTURE(dense.out, dense.err);
  REQUIRE(dense.status == 0);
  CHECK(of_ranks(dense.out, "workers") == kHeld);
  CHECK(of_ranks(dense.out, "first_worker") == std::vector<Index>{0, 4, 8, 12});
  const Outcome packed =
      run_in(folder, mpirun(4, blocks_run("onebit-adam", "packed", {"--json", "--freeze", "fixed:4"})));
  std::vector<Index> dense_received, packed_received;
  for (Index rank = 0; rank < 4; ++rank) {
    dense_received.push_back(9 * dense_bytes(rank));
    packed_received.push_back(4 * dense_bytes(rank) + 5 * compressed_bytes(rank));
  }
  CHECK(of_ranks(dense.out, "bytes_received") == dense_received);
  CHECK(of_ranks(packed.out, "bytes_received") == packed_received);
  const Outcome table = run_in(folder, mpirun(2, blocks_run("adam", "table")));
  CHECK_THAT(table.out, Contains("received"));
  CHECK_THAT(line_of(table.out, "1 "), Contains("8 to 13"));
  CHECK(sim::LogReader(folder / "table.h5").header().devices ==
        "2 ranks of " + device::devices_text("cpu", 1) + " each");
}

TEST_CASE("mpi: processes share the cores that they may use") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  cpu_set_t cores;
  REQUIRE(sched_getaffinity(0, sizeof cores, &cores) == 0);
  const int share = std::max(1, CPU_COUNT(&cores) / 2);
  const Outcome run = run_in(folder, mpirun(2, blocks_run("adam", "run", {"--threads", "0"})));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(sim::LogReader(folder / "run.h5").header().devices ==
        "2 ranks of " + device::devices_text("cpu", share) + " each");
}

TEST_CASE("mpi: a run that diverges in one rank ends in all, and says so once, as in one process") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  const Arguments wild = {"--optimizer.lr", "1e30"};
  const Outcome one = run_onebit(folder, blocks_run("sgd", "one", wild));
  const Outcome several = run_onebit(folder, blocks_run("sgd", "several", joined(wild, {"--ranks", "4"})));
  CAPTURE(one.err, several.out, several.err);
  CHECK(one.status == 1);
  CHECK(several.status == 1);
  CHECK(several.err == one.err);
  CHECK(count(several.err, "onebit: error: ") == 1);
  check_same_logs(folder / "one.h5", folder / "several.h5");
  CHECK(sim::LogReader(folder / "several.h5").status() == sim::RunStatus::diverged);
}

TEST_CASE("mpi: a rank that is killed ends the run, and is named", "[once]") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  Process process(folder / "", endless());
  REQUIRE(process.poll([&] { return committed(folder / "run.h5") >= 20; }));
  const pid_t rank = find_rank(folder, 2);
  REQUIRE(rank > 0);
  const Index before = committed(folder / "run.h5");
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(kill(rank, SIGKILL) == 0);
  const Outcome run = process.finish();
  CAPTURE(run.err);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(run.status == 1);
  CHECK_THAT(run.err, StartsWith("onebit: error: rank 2 died (signal 9)"));
  CHECK(count(run.err, "\n") == 1);
  CHECK(committed(folder / "run.h5") >= before);
  CHECK(run_onebit(folder, {"inspect", "run.h5"}).status == 0);
}

TEST_CASE("mpi: a run goes on from its checkpoint on another number of ranks, with the same bits", "[once]") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  const auto run = [](const std::string& name, const Arguments& more) {
    return joined(blocks_run("onebit-adam", name,
                             {"--steps", "120", "--freeze", "fixed:20", "--checkpoint.every", "10", "--checkpoint.keep",
                              "20", "--log.flush-every", "1"}),
                  more);
  };
  REQUIRE(run_onebit(folder, run("one", {})).status == 0);
  Process killed(folder / "", onebit_command(run("several", {"--ranks", "4"})));
  REQUIRE(killed.poll([&] { return committed(folder / "several.h5") >= 35; }));
  REQUIRE(kill(find_rank(folder, 2), SIGKILL) == 0);
  CHECK(killed.finish().status == 1);
  Process stopped(folder / "", onebit_command(run("several", {"--ranks", "2", "--resume"})));
  stopped.poll([&] { return committed(folder / "several.h5") >= 70; });
  stopped.send(SIGTERM);
  const Outcome half = stopped.finish();
  CAPTURE(half.out, half.err);
  CHECK((half.status == 130 || half.status == 0));
  const Outcome last = run_onebit(folder, {"run", "-o", "several.h5", "--ranks", "3", "--resume"});
  CAPTURE(last.out, last.err);
  CHECK(count(last.err, "continuing several.h5 from its checkpoint at step ") <= 1);
  CHECK(last.status == 0);
  check_same_logs(folder / "one.h5", folder / "several.h5");
  CHECK(same_weights(folder, "one", "several"));
  const Outcome done = run_onebit(folder, run("several", {"--ranks", "2", "--resume"}));
  CHECK(done.status == 0);
  CHECK(count(done.out, "finished") == 1);
  const std::string python = find_python("h5py");
  if (python.empty()) return;
  const Outcome same =
      run_in(folder, {python, "-c", kCompareCheckpoints, "9", "one.h5.checkpoint-120", "several.h5.checkpoint-120"});
  CAPTURE(same.out, same.err);
  CHECK(same.status == 0);
}

TEST_CASE("mpi: Ctrl-C ends a run over ranks with a complete log and a summary") {
  ONEBIT_NEEDS_MPI();
  for (const int signal : {SIGINT, SIGTERM}) {
    const Folder folder;
    Process process(folder / "", endless());
    REQUIRE(process.poll([&] { return committed(folder / "run.h5") >= 20; }));
    process.send(signal);
    const Outcome run = process.finish();
    CAPTURE(run.out, run.err);
    CHECK(run.status == 130);
    CHECK_THAT(run.err, Contains("onebit: stopped; to continue: onebit run ") && Contains(" --ranks "));
    CHECK(count(run.err, "\n") == 1);
    CHECK_THAT(line_of(run.out, "status"), Contains("stopped"));
    const sim::LogReader log(folder / "run.h5");
    CHECK(log.status() == sim::RunStatus::stopped);
    CHECK(log.closed());
    CHECK(find_rank(folder, 0) == 0);
  }
}

TEST_CASE("mpi: errors over ranks are one line and leave nothing behind", "[once]") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  const auto check = [&](const Arguments& command, const std::string& part) {
    const Outcome run = run_in(folder, command);
    CAPTURE(part, run.out, run.err);
    CHECK(run.status == 2);
    CHECK(count(run.err, "onebit: error: ") == 1);
    CHECK_THAT(run.err, Contains(part));
    CHECK(run.out.empty());
    CHECK(entries(folder).empty());
  };
  const Arguments run = tiny_run("run", {"-o", "run.h5", "--workers", "8"});
  check(mpirun(3, run), "too many devices for the number of workers");
  check(mpirun(2, joined(run, {"--devices", "cpu:2"})), "with several processes, each can use only one device");
  check(mpirun(2, joined(run, {"--ranks", "3"})), "differs from the number of processes");
  check(mpirun(2, tiny_run("compare", {"-o", "out"})), "this command runs in a single one");
  check(mpirun(2, {"bench", "step"}), "only bench mpi runs over ranks");
  check(onebit_command(joined(run, {"--ranks", "3"})), "too many devices for the number of workers");
  check(onebit_command(joined(run, {"--ranks", "2", "--memory", "1MB"})), "does not fit in memory");
  check(onebit_command(joined(run, {"--ranks", "0"})), "option out of range");
  check(onebit_command({"bench", "mpi"}), "need at least two processes");
  const Variable none("ONEBIT_MPIRUN", "no-such-mpirun");
  check(onebit_command(joined(run, {"--ranks", "2"})), "cannot start mpirun");
}

TEST_CASE("mpi: a file that only the first rank opens and that is there ends all ranks") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  write_file(folder / "run.h5", "mine");
  const Outcome run = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--workers", "8", "--ranks", "2"}));
  CAPTURE(run.err);
  CHECK(run.status == 2);
  CHECK(count(run.err, "\n") == 1);
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("run.h5"));
  CHECK(read_file(folder / "run.h5") == "mine");
}

TEST_CASE("mpi: a program without MPI refuses to be one of several processes") {
  const Folder folder;
  const Variable rank("OMPI_COMM_WORLD_RANK", "0"), size("OMPI_COMM_WORLD_SIZE", "4");
  const Variable plugin("ONEBIT_MPI_PLUGIN", folder / "none.so");
  const Outcome run = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--workers", "16"}));
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("this build has no MPI plugin"));
  CHECK(count(run.err, "\n") == 1);
  CHECK(entries(folder).empty());
}

TEST_CASE("mpi: what mpirun says of the end becomes one line") {
  const Folder folder;
  const std::string rule(74, '-');
  const auto says = [&](const std::string& text, int status) {
    write_file(folder / "mpirun", "#!/bin/sh\nprintf %b '" + text + "' >&2\nexit " + std::to_string(status) + "\n");
    fs::permissions(folder / "mpirun", fs::perms::owner_all);
    const Variable mpirun("ONEBIT_MPIRUN", folder / "mpirun");
    return run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--workers", "8", "--ranks", "2"}));
  };
  const std::string ended =
      rule + "\\nPrimary job  terminated normally, but 1 process returned\\na non-zero exit code.\\n" + rule + "\\n";
  const std::string killed = "mpirun noticed that process rank 13 with PID 5 on node a-b.c exited on signal 11 (x).";

  const Outcome died = says("\\rstep 3/9" + ended + rule + "\\n" + killed + "\\n" + rule + "\\n", 139);
  CHECK(died.status == 1);
  CHECK(died.err ==
        "\rstep 3/9\nonebit: error: rank 13 died (signal 11); the log holds everything written up to its last flush\n");

  const Outcome failed = says("onebit: error: mine\\n" + ended, 2);
  CHECK(failed.status == 2);
  CHECK(failed.err == "onebit: error: mine\n");

  const Outcome silent = says(ended, 2);
  CHECK(silent.status == 1);
  CHECK_THAT(silent.err, StartsWith("onebit: error: a rank failed before it had joined the others (status 2)"));

  const Outcome refused = says(rule + "\\nNot enough\\n  slots.\\n" + rule + "\\n", 1);
  CHECK(refused.status == 1);
  CHECK(refused.err == "onebit: error: mpirun failed (Not enough slots.)\n");

  const Outcome fine = says("mpirun: Forwarding signal 10 to job\\nnote\\n", 0);
  CHECK(fine.status == 0);
  CHECK(fine.err == "note\n");
}

TEST_CASE("mpi: measured collectives are a table of the network model") {
  ONEBIT_NEEDS_MPI();
  const Folder folder;
  const Outcome bench = run_onebit(folder, {"bench", "mpi", "--ranks", "2", "--rounds", "1", "-o", "rows.csv"});
  CAPTURE(bench.out, bench.err);
  REQUIRE(bench.status == 0);
  const std::string rows = read_file(folder / "rows.csv");
  CHECK_THAT(rows, StartsWith("nodes,gpus,collective,bytes,seconds\n1,2,all_reduce,4096,"));
  for (const char* collective : {"all_reduce", "all_to_all", "all_gather"}) CHECK(count(rows, collective) == 4);
  CHECK(run_onebit(folder, {"bench", "mpi", "--ranks", "2", "--rounds", "1", "-o", "rows.csv"}).status == 2);
  const Outcome price = run_onebit(folder, {"price", "--workload", "bert-large", "--batch", "16", "--optimizer", "adam",
                                            "--cluster", "eth10", "--cluster.nodes", "1", "--cluster.gpus-per-node",
                                            "2", "--cost-model", "table", "--cost-table", "rows.csv"});
  CAPTURE(price.err);
  CHECK(price.status == 0);
}
