#include "netmodel/wire/traffic.hpp"

#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::netmodel;

namespace {

Traffic record(Collective collective, Index workers, Index payload, Direction direction = Direction::both) {
  Traffic traffic;
  traffic.collective = collective;
  traffic.direction = direction;
  traffic.group_size = workers;
  traffic.payload_bytes = payload;
  return traffic;
}

}  // namespace

TEST_CASE("sent bytes are exact") {
  CHECK(sent_bytes(record(Collective::all_reduce, 4, 1000)).value == 1500);
  CHECK(sent_bytes(record(Collective::all_to_all, 4, 1000)).value == 750);
  CHECK(sent_bytes(record(Collective::all_gather, 4, 1000)).value == 3000);
  CHECK(sent_bytes(record(Collective::tree, 4, 1000)).value == 2000);
  CHECK(sent_bytes(record(Collective::tree, 5, 1000)).value == 3000);
  CHECK(sent_bytes(record(Collective::tree, 2, 1000)).value == 1000);
  CHECK(sent_bytes(record(Collective::all_reduce, 3, 3)).value == 4);  // (2/3) rounded would give 3.9999..
  CHECK(sent_bytes(record(Collective::all_to_all, 49, 49)).value == 48);
  CHECK(sent_bytes(record(Collective::all_reduce, 1000, 1'000'000'007'000)).value == 1'998'000'013'986.0);
}

TEST_CASE("a group of one and an empty payload send nothing") {
  for (const auto collective :
       {Collective::all_reduce, Collective::all_to_all, Collective::all_gather, Collective::tree}) {
    CHECK(sent_bytes(record(collective, 1, 4096)).value == 0);
    CHECK(sent_bytes(record(collective, 8, 0)).value == 0);
    CHECK(messages_sent(collective, 1) == 0);
  }
}

TEST_CASE("a dense all-reduce counts half up and half down, other records in their own direction") {
  const Traffic dense = record(Collective::all_reduce, 4, 1000);
  CHECK(sent_bytes(dense, Direction::up).value == 750);
  CHECK(sent_bytes(dense, Direction::down).value == 750);
  CHECK(sent_bytes(dense, Direction::both).value == 1500);
  const Traffic push = record(Collective::all_to_all, 4, 1000, Direction::up);
  CHECK(sent_bytes(push, Direction::up).value == 750);
  CHECK(sent_bytes(push, Direction::down).value == 0);
  CHECK(sent_bytes(push, Direction::both).value == 750);
}

TEST_CASE("messages of one worker") {
  CHECK(messages_sent(Collective::all_reduce, 8) == 14);
  CHECK(messages_sent(Collective::all_to_all, 8) == 7);
  CHECK(messages_sent(Collective::all_gather, 8) == 7);
  CHECK(messages_sent(Collective::tree, 8) == 3);
  CHECK(messages_sent(Collective::tree, 9) == 4);
  CHECK(messages_sent(Collective::tree, 1) == 0);
}

TEST_CASE("records that make no sense are refused") {
  CHECK_THROWS_AS(sent_bytes(record(Collective::all_reduce, 0, 8)), ConfigError);
  CHECK_THROWS_AS(sent_bytes(record(Collective::all_reduce, 2, -8)), ConfigError);
  CHECK_THROWS_AS(messages_sent(Collective::all_gather, 0), ConfigError);
}

TEST_CASE("names of the enumerations") {
  CHECK(name(Collective::all_to_all) == "all_to_all");
  CHECK(name(Collective::tree) == "tree");
  CHECK(name(Direction::down) == "down");
  CHECK(name(WireType::bits) == "bits");
}
