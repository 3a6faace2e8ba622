// Stages on two streams. Hand-computed.

#include "netmodel/step/streams.hpp"

#include "tests/catch.hpp"

using namespace onebit::netmodel;

namespace {

Stage stage(const std::string& name, StageKind kind, double time, std::vector<std::string> after = {}) {
  return {.name = name, .kind = kind, .time = Seconds(time), .after = std::move(after)};
}

/// A layer of 2 s, its exchange of 5 s, another layer of 3 s meanwhile, and a layer of 1 s that needs both.
Streams forked() {
  Streams streams;
  streams.add(stage("a", StageKind::forward, 2));
  streams.add(stage("send", StageKind::model_parallel, 5, {"a"}));
  streams.add(stage("b", StageKind::forward, 3));
  streams.add(stage("nothing", StageKind::codec, 0));
  streams.add(stage("c", StageKind::backward, 1, {"send", "absent"}));
  return streams;
}

}  // namespace

TEST_CASE("streams: stages begin when their stream and what they need are ready") {
  Streams streams = forked();
  streams.run(false);
  REQUIRE(streams.stages().size() == 4);  // what takes no time is left out
  const auto& [a, send, b, c] =
      std::tie(streams.stages()[0], streams.stages()[1], streams.stages()[2], streams.stages()[3]);
  CHECK(send.begin.value == 2);
  CHECK(b.begin.value == 2);
  CHECK(c.begin.value == 7);
  CHECK(streams.end().value == 8);
  CHECK((a.critical && send.critical && !b.critical && c.critical));
  CHECK(send.hidden.value == 3);
  CHECK(streams.total(StageKind::forward).value == 5);
  CHECK(streams.waiting(StageKind::model_parallel).value == 2);
}

TEST_CASE("streams: without overlap every stage waits for all earlier ones") {
  Streams streams = forked();
  streams.run(true);
  CHECK(streams.end().value == 11);
  for (const Stage& each : streams.stages()) {
    CHECK(each.critical);
    CHECK(each.hidden.value == 0);
  }
  streams.run(false);
  CHECK(streams.end().value == 8);
}

TEST_CASE("streams: the network takes its stages in order, and an empty step takes no time") {
  Streams streams;
  streams.add(stage("layer", StageKind::backward, 4));
  streams.add(stage("first", StageKind::data_parallel, 2, {"layer"}));
  streams.add(stage("second", StageKind::model_parallel, 3));
  streams.run(false);
  CHECK(streams.stages()[2].begin.value == 6);
  CHECK(streams.end().value == 9);
  CHECK(streams.waiting(StageKind::data_parallel).value == 2);
  Streams empty;
  empty.run(false);
  CHECK(empty.end().value == 0);
}
