// The parts of an external model: words, shared memory, the process. tests/experiments/external_test.cpp tests whole
// runs.

#include "sim/models/external.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using Catch::Matchers::Contains;

namespace {

/// Takes lines until one is refused.
[[noreturn]] void receive_all(ExternalProcess& process) {
  for (;;) process.receive();
}

/// Whether a process has a command line. One that has ended has none, even before its parent knows, and neither has one
/// that is just becoming another program.
bool runs(const std::string& id) {
  std::ifstream file("/proc/" + id + "/cmdline");
  return file.peek() != std::ifstream::traits_type::eof();
}

/// Whether all processes run, or soon will.
bool all_run(const std::vector<std::string>& ids) {
  for (int i = 0; i < 1000; ++i) {
    if (std::ranges::all_of(ids, runs)) return true;
    usleep(10'000);
  }
  return false;
}

/// Whether processes that have been killed are gone, or soon will be.
bool all_gone(const std::vector<std::string>& ids) {
  for (int i = 0; i < 1000 && std::ranges::any_of(ids, runs); ++i) usleep(10'000);
  return std::ranges::none_of(ids, runs);
}

}  // namespace

TEST_CASE("external: tensors follow one another, by rows where they are matrices") {
  TensorList tensors;
  for (const char* line : {"tensor w 3 4", "tensor  b 4 ", "tensor scale", "tensor conv 2 3 5 5"}) {
    CHECK(tensors.add(line).empty());
  }
  for (const char* line : {"", "ready", "tensor", "tensors w 3", "tensor w 3", "tensor x 0", "tensor x -1",
                           "tensor x 3,4", "tensor x 1.5", "tensor x 9223372036854775807", "tensor x 1099511627776"}) {
    CAPTURE(line);
    CHECK_FALSE(tensors.add(line).empty());
    CHECK(tensors.count() == 4);
  }
  CHECK(tensors.take() == std::vector<compress::Tensor>{{"w", 12, 3}, {"b", 4}, {"scale", 1}, {"conv", 150, 2}});
}

TEST_CASE("external: a model has at most 65,536 tensors and 2^40 parameters") {
  TensorList largest;
  CHECK(largest.add("tensor x 1048576 1048576").empty());
  CHECK(largest.add("tensor y") == "the model is implausibly large");
  TensorList most;
  for (int i = 0; i < 65'536; ++i) most.add("tensor t" + std::to_string(i) + " 2");
  CHECK(most.count() == 65'536);
  CHECK(most.add("tensor more 2") == "there are more than 65,536 tensors");
}

TEST_CASE("external: sums of an evaluation are read, and what cannot be is not") {
  Evaluation sums;
  REQUIRE(read_evaluation("ok examples=8 loss=2.5e-1 correct=3 more=1", sums));
  CHECK(sums.loss == 0.25);
  CHECK(sums.correct == 3);
  CHECK(sums.examples == 8);
  CHECK(read_evaluation("ok loss=nan correct=0 examples=1", sums));
  CHECK(std::isnan(sums.loss));
  for (const char* line :
       {"ok", "ok loss=1 correct=1", "ok loss=x correct=1 examples=1", "ok loss=1 correct=2 examples=1",
        "ok loss=1 correct=-1 examples=1", "ok loss=1 correct=0 examples=0", "ok loss=1 correct=0.5 examples=1"}) {
    CAPTURE(line);
    CHECK_FALSE(read_evaluation(line, sums));
  }
}

TEST_CASE("external: arrays of a request do not overlap and begin at cache lines") {
  Batch batch;
  batch.workers = 3;
  batch.batch = 2;
  batch.features.resize(6 * 7);
  batch.labels.resize(6);
  const ExternalArrays arrays(5, 3, batch, true);
  CHECK(arrays.words() == " weights=0 features=64 labels=256 gradients=320 losses=384");
  CHECK(arrays.bytes == 448);
  CHECK(ExternalArrays(5, 1, batch, false).words() == " weights=0 features=64 labels=256");
  CHECK(ExternalArrays(17, 1).bytes == 128);
}

TEST_CASE("external: shared memory grows, keeps what it held, and is a file to others") {
  SharedMemory memory;
  REQUIRE(memory.reserve(100));
  memory.at<float>(64, 9)[8] = 3;
  CHECK_FALSE(memory.reserve(100));
  REQUIRE(memory.reserve(1'000'000));
  CHECK(memory.at<float>(64, 9)[8] == 3);
  std::fstream file(memory.path(), std::ios::in | std::ios::out | std::ios::binary);
  const float value = 7;
  file.seekp(64).write(reinterpret_cast<const char*>(&value), sizeof value).flush();
  REQUIRE(file.good());
  CHECK(memory.at<float>(64, 1)[0] == 7);
}

TEST_CASE("external: a process answers line by line") {
  ExternalProcess process("echo first; while read line; do echo \"got $line\"; done; echo last");
  process.send("a b", 60);
  CHECK(process.receive() == "first");
  CHECK(process.receive() == "got a b");
  process.send("c", 60);
  CHECK(process.receive() == "got c");
}

TEST_CASE("external: a process that ends or hangs is told, and much on standard error does not hold it up") {
  ExternalProcess noisy(
      "i=0; while [ $i -lt 5000 ]; do echo a line that is not the last one >&2; i=$((i+1)); done; "
      "echo the last >&2; echo done; read line; read line; exit 5");
  noisy.send("begin", 60);
  CHECK(noisy.receive() == "done");
  noisy.send("go", 60);
  CHECK_THROWS_WITH(noisy.receive(), Contains("exit status 5: the last (model.command i=0;"));
  noisy.send("anybody?", 60);
  CHECK_THROWS_AS(noisy.receive(), WorkerError);
  ExternalProcess silent("trap '' TERM INT HUP; sleep 1000");
  silent.send("go", 0.2);
  CHECK_THROWS_WITH(silent.receive(), Contains("no answer within 0.2 seconds"));
}

TEST_CASE("external: the lines of an answer have one time together, and sending is part of it") {
  const std::string drip = "while :; do echo line; sleep 0.02; done",
                    letters = "while :; do printf x; sleep 0.02; done", errors = "yes >&2";
  for (const std::string& command : {drip, letters, errors}) {
    CAPTURE(command);
    ExternalProcess process(command);
    process.send("go", 0.2);
    CHECK_THROWS_WITH(receive_all(process), Contains("answer within 0.2 seconds"));
  }
  ExternalProcess deaf("sleep 1000");
  CHECK_THROWS_WITH(deaf.send(std::string(10'000'000, 'x'), 0.2), Contains("no answer within 0.2 seconds"));
}

TEST_CASE("external: an answer has at most 16 MiB") {
  ExternalProcess process("yes 'a line that is repeated until the answer is too long'");
  process.send("go", 60);
  CHECK_THROWS_WITH(receive_all(process), Contains("answer is longer than 16 MiB"));
}

TEST_CASE("external: a program may write much while it ends") {
  const tests::Folder folder;
  const auto start = std::chrono::steady_clock::now();
  {
    ExternalProcess process("read end; head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; echo > '" +
                            (folder / "written") + "'");
  }
  CHECK(std::filesystem::exists(folder / "written"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("external: after a stop request an honest program may still answer") {
  ExternalProcess process("read line; sleep 0.3; echo answer");
  stop_waits_if([] { return true; });
  process.send("go", 60);
  CHECK(process.receive() == "answer");
  stop_waits_if(nullptr);
}

TEST_CASE("external: a program is ended with all that it has started, and nothing else is") {
  const std::string start =
      "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; (sh -c 'setsid sleep 1000 & echo $!' &); "
      "env -i sleep 1000 & echo $!; ";
  const auto processes_of = [](ExternalProcess& process) {
    process.send("go", 60);
    std::vector<std::string> ids;
    while (ids.size() < 4) ids.push_back(process.receive());
    CHECK(all_run(ids));
    return ids;
  };
  ExternalProcess other(start + "read more");
  const std::vector<std::string> others = processes_of(other);
  for (const char* end :
       {"read more", "read go; read more; exit 3", "trap '' TERM; sleep 1000", "read go; read more; kill -KILL 0"}) {
    CAPTURE(end);
    std::vector<std::string> ids;
    {
      ExternalProcess process(start + end);
      ids = processes_of(process);
      if (end != std::string("read more")) {
        process.send("end", 0.2);
        CHECK_THROWS_AS(process.receive(), WorkerError);
        CHECK(all_gone(ids));
      }
    }
    CHECK(all_gone(ids));
  }
  CHECK(all_run(others));
}
