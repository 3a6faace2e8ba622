#include "compress/channels/channel.hpp"

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::netmodel;

TEST_CASE("the dense channel averages and records one all-reduce") {
  DenseMean channel(device::whole(device::Device::cpu(1), 3), 2);
  const std::vector<float> rows = {1, 10, 99, 2, 20, 99, 6, 60, 99};
  channel.absorb({0, 2}, rows.data(), 3);
  channel.absorb({2, 1}, rows.data() + 6, 3);
  std::vector<float> mean(2);
  TrafficList traffic;
  channel.exchange(mean.data(), traffic);
  CHECK(mean == std::vector<float>{3, 30});
  REQUIRE(traffic.size() == 1);
  CHECK(traffic == DenseMean::plan(3, 2));
  CHECK(traffic[0].collective == Collective::all_reduce);
  CHECK(traffic[0].direction == Direction::both);
  CHECK(traffic[0].type == WireType::fp32);
  CHECK(traffic[0].group_size == 3);
  CHECK(traffic[0].messages == 4);
  CHECK(traffic[0].payload_bytes == 8);
  CHECK(traffic[0].tensor == -1);
  CHECK(traffic[0].overlaps_backward);
}

TEST_CASE("the dense channel adds its record to those of the step") {
  DenseMean channel(device::whole(device::Device::cpu(1), 1), 1);
  const float row = 5;
  float mean = 0;
  TrafficList traffic;
  for (int step = 0; step < 2; ++step) {
    channel.absorb({0, 1}, &row, 1);
    channel.exchange(&mean, traffic);
    CHECK(mean == 5);
  }
  CHECK(traffic.size() == 2);
  CHECK(sent_bytes(traffic[0]).value == 0);
}
