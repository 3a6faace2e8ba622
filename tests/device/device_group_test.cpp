#include "device/comm/device_group.hpp"

#include <atomic>
#include <numeric>
#include <thread>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

using Bytes = std::vector<std::uint8_t>;

Block bytes_at(Buffer<std::uint8_t>& buffer, Index offset, Index count) {
  return {buffer.data() + offset, 1, count, count};
}

/// Every rank sends r + 1 bytes "10 * own + r" to rank r; returns what each rank has received, in rank order.
std::vector<Bytes> send_around(DeviceGroup& group) {
  std::vector<Bytes> received(static_cast<std::size_t>(group.size()));
  group.run([&](Index rank) {
    const Shard& shard = group.shard(rank);
    Bytes bytes;
    for (Index r = 0; r < group.size(); ++r) {
      bytes.insert(bytes.end(), static_cast<std::size_t>(r + 1), static_cast<std::uint8_t>(10 * rank + r));
    }
    auto source = on(shard.device, bytes);
    Buffer<std::uint8_t> target(shard.device, group.size() * (rank + 1));
    std::vector<Blocks> to, from;
    for (Index r = 0, offset = 0; r < group.size(); offset += ++r) {
      to.push_back({bytes_at(source, offset, r + 1)});
      from.push_back({bytes_at(target, r * (rank + 1), rank + 1)});
    }
    shard.communicator->all_to_all(shard.device, to, from);
    received[static_cast<std::size_t>(rank)] = target.to_host();
  });
  return received;
}

}  // namespace

TEST_CASE("shards are contiguous, whole blocks of 4 and cover all workers") {
  CHECK(shard_ranges(16, 1).front().count == 16);
  for (Index workers = 1; workers <= 40; ++workers) {
    for (Index ranks = 1; ranks <= ceil_div(workers, 4); ++ranks) {
      CAPTURE(workers, ranks);
      Index next = 0;
      for (const Range& range : shard_ranges(workers, ranks)) {
        CHECK(range.first == next);
        CHECK(range.first % 4 == 0);
        CHECK(range.count > 0);
        next = range.end();
      }
      CHECK(next == workers);
    }
  }
  CHECK_THROWS_WITH(
      shard_ranges(16, 5),
      "too many devices for the number of workers (5 devices, 16 workers); a device holds whole blocks of 4 "
      "workers, so use at most 4 devices");
}

TEST_CASE("blocks reach their rank, on the CPU and on debug devices, and are counted") {
  for (const char* devices : {"cpu", "cpu:2", "cpu:5", "debug:3"}) {
    CAPTURE(devices);
    DeviceGroup group(parse_devices(devices, 2), 20);
    for (int round = 0; round < 3; ++round) {
      const std::vector<Bytes> received = send_around(group);
      for (Index rank = 0; rank < group.size(); ++rank) {
        Bytes expected;
        for (Index r = 0; r < group.size(); ++r) {
          expected.insert(expected.end(), static_cast<std::size_t>(rank + 1), static_cast<std::uint8_t>(10 * r + rank));
        }
        CHECK(received[static_cast<std::size_t>(rank)] == expected);
      }
    }
    for (Index rank = 0; rank < group.size(); ++rank) {
      CHECK(group.shard(rank).communicator->bytes_received() == 3 * (group.size() - 1) * (rank + 1));
    }
  }
}

namespace {

/// Option values with several devices, for every backend that is available.
std::vector<std::string> groups() {
  std::vector<std::string> found = {"cpu:2", "debug:2"};
  if (backends().back() == "cuda:0") found.emplace_back("cuda:0,0");
  return found;
}

}  // namespace

TEST_CASE("exchanges follow each other: none sees what comes after it, large as it may be") {
  constexpr Index rounds = 6, size = Index{1} << 21;
  for (const std::string& devices : groups()) {
    CAPTURE(devices);
    DeviceGroup group(parse_devices(devices, 2), 12);
    const Index ranks = group.size();
    std::vector<Bytes> received(static_cast<std::size_t>(ranks));
    group.run([&](Index rank) {
      const Device& device = group.shard(rank).device;
      Buffer<std::uint8_t> source(device, size), own(device, rounds * ranks * size);
      for (Index round = 0; round < rounds; ++round) {
        device.memory().fill(source.data(), static_cast<int>(10 * round + rank), size);
        const std::vector<Blocks> to(static_cast<std::size_t>(ranks), {bytes_at(source, 0, size)});
        std::vector<Blocks> from;
        for (Index peer = 0; peer < ranks; ++peer) from.push_back({bytes_at(own, (round * ranks + peer) * size, size)});
        group.shard(rank).communicator->all_to_all(device, to, from);
      }
      source.zero();
      received[static_cast<std::size_t>(rank)] = own.to_host();
    });
    Bytes expected;
    for (Index i = 0; i < rounds * ranks; ++i) {
      expected.insert(expected.end(), size, static_cast<std::uint8_t>(10 * (i / ranks) + i % ranks));
    }
    for (const Bytes& own : received) {
      const bool same = own == expected;
      CHECK(same);
    }
  }
}

TEST_CASE("numbers are gathered in rank order, also where ranks have none") {
  for (const char* devices : {"cpu", "cpu:4"}) {
    DeviceGroup group(parse_devices(devices, 2), 16);
    std::vector<std::vector<double>> all(static_cast<std::size_t>(group.size()));
    group.run([&](Index rank) {
      std::vector<double> own(static_cast<std::size_t>(rank));
      std::iota(own.begin(), own.end(), 10.0 * static_cast<double>(rank));
      all[static_cast<std::size_t>(rank)] = group.shard(rank).communicator->all_gather(own);
    });
    const auto expected = group.size() == 1 ? std::vector<double>{} : std::vector<double>{10, 20, 21, 30, 31, 32};
    for (const std::vector<double>& numbers : all) CHECK(numbers == expected);
  }
}

TEST_CASE("a rank that fails releases the others, and the first rank's error is the group's") {
  DeviceGroup group(parse_devices("cpu:3", 3), 12);
  std::atomic<int> after = 0;
  const auto failing = [&](Index rank) {
    if (rank > 0) throw NumericError("rank " + std::to_string(rank) + " failed", "");
    group.shard(rank).communicator->all_gather({});
    ++after;
  };
  for (int round = 0; round < 20; ++round) CHECK_THROWS_WITH(group.run(failing), "rank 1 failed");
  CHECK(after == 0);
  CHECK(send_around(group)[2].size() == 9);  // it works again
  CHECK_THROWS_AS(group.run([](Index rank) {
    if (rank == 0) throw ConfigError("rank 0", "");
  }),
                  ConfigError);
}

TEST_CASE("an exchange in which a rank does not take part is an error, not a wait for ever") {
  DeviceGroup group(parse_devices("cpu:3", 3), 12);
  for (const Index absent : {0, 1, 2}) {
    const auto uneven = [&](Index rank) {
      if (rank != absent) group.shard(rank).communicator->all_gather({});
    };
    for (int round = 0; round < 20; ++round) {
      CHECK_THROWS_WITH(group.run(uneven), "devices do not take part in the same exchanges (device group)");
    }
  }
  CHECK(send_around(group)[2].size() == 9);
}

TEST_CASE("blocks of different shapes are refused") {
  const std::string devices = GENERATE(from_range(groups()));
  DeviceGroup group(parse_devices(devices, 2), 8);
  const auto mismatched = [&](Index rank) {
    const Shard& shard = group.shard(rank);
    auto memory = Buffer<std::uint8_t>::zeros(shard.device, 8);
    const std::vector<Blocks> to(2, {bytes_at(memory, 0, 3 + rank)});
    const std::vector<Blocks> from(2, {bytes_at(memory, 4, 3)});
    shard.communicator->all_to_all(shard.device, to, from);
  };
  CHECK_THROWS_WITH(group.run(mismatched), "blocks sent and received differ in shape (rank 1 to rank 0)");
}

TEST_CASE("every rank has a thread of its own, the first the caller's") {
  DeviceGroup group(parse_devices("cpu:2", 2), 8);
  std::vector<std::thread::id> ids(2);
  group.run([&](Index rank) { ids[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); });
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(ids[1] != ids[0]);
}
