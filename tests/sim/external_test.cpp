// The parts of an external model: words, shared memory, the process. tests/experiments/external_test.cpp tests whole
// runs.

#include "sim/models/external.hpp"

#include <cmath>
#include <fstream>

#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::sim;
using Catch::Matchers::Contains;

TEST_CASE("external: tensors follow one another, by rows where they are matrices") {
  std::vector<compress::Tensor> tensors;
  for (const char* line : {"tensor w 3 4", "tensor  b 4 ", "tensor scale", "tensor conv 2 3 5 5"}) {
    CHECK(add_tensor(line, tensors).empty());
  }
  CHECK(tensors == std::vector<compress::Tensor>{{"w", 12, 3}, {"b", 4}, {"scale", 1}, {"conv", 150, 2}});
  for (const char* line : {"", "ready", "tensor", "tensors w 3", "tensor w 3", "tensor x 0", "tensor x -1",
                           "tensor x 3,4", "tensor x 1.5", "tensor x 9223372036854775807", "tensor x 1099511627776"}) {
    CAPTURE(line);
    CHECK_FALSE(add_tensor(line, tensors).empty());
    CHECK(tensors.size() == 4);
  }
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
  CHECK(process.receive(60) == "first");
  process.send("a b");
  process.send("c");
  CHECK(process.receive(60) == "got a b");
  CHECK(process.receive(60) == "got c");
}

TEST_CASE("external: a process that ends or hangs is told, and much on standard error does not hold it up") {
  ExternalProcess noisy(
      "i=0; while [ $i -lt 5000 ]; do echo a line that is not the last one >&2; i=$((i+1)); done; "
      "echo the last >&2; echo done; read line; exit 5");
  CHECK(noisy.receive(60) == "done");
  noisy.send("go");
  CHECK_THROWS_WITH(noisy.receive(60), Contains("exit status 5: the last (model.command i=0;"));
  noisy.send("anybody?");
  CHECK_THROWS_AS(noisy.receive(60), WorkerError);
  ExternalProcess silent("trap '' TERM INT HUP; sleep 1000");
  CHECK_THROWS_WITH(silent.receive(0.2), Contains("no answer within 0.2 seconds"));
}
