// Exchanges between processes. This program starts itself with mpirun; the hidden cases run in every rank.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "device/base/error.hpp"
#include "device/comm/device_group.hpp"
#include "device/comm/mpi/communicator.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

struct Output {
  int status = -1;
  std::string text;
};

Output output_of(const std::string& command) {
  std::array<char, 4096> bytes{};
  Output output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  while (std::fgets(bytes.data(), bytes.size(), pipe) != nullptr) output.text += bytes.data();
  output.status = pclose(pipe);
  return output;
}

mpi::MpiProcessGroup& ranks() {
  return dynamic_cast<mpi::MpiProcessGroup&>(*processes());
}

/// Returns what rank `from` sends to rank `to`: two blocks, the first of which has rows with gaps.
std::vector<std::uint8_t> message(Index from, Index to) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(3 * (to + 2) + 5));
  std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(50 * from + 10 * to));
  return bytes;
}

/// Layout of a message in memory: rows of `width` bytes at a distance of `pitch`, and five bytes after them.
Blocks blocks_at(Buffer<std::uint8_t>& memory, Index at, Index width, Index pitch) {
  return {{memory.data() + at, 3, width, pitch}, {memory.data() + at + 3 * pitch, 1, 5, 5}};
}

constexpr Index kPlace = 64;  ///< bytes for a message with its gaps

void put(std::vector<std::uint8_t>& memory, Index at, Index width, Index pitch,
         const std::vector<std::uint8_t>& bytes) {
  for (Index i = 0; i < std::ssize(bytes); ++i) {
    const Index place = i < 3 * width ? i / width * pitch + i % width : 3 * pitch + i - 3 * width;
    memory[static_cast<std::size_t>(at + place)] = bytes[static_cast<std::size_t>(i)];
  }
}

}  // namespace

TEST_CASE("mpi: what processes exchange, in three ranks") {
  const bool there = *ONEBIT_MPI_LIBRARY != 0 && std::system("mpirun --version >/dev/null 2>&1") == 0;
  ONEBIT_SKIP_UNLESS(there, "mpi", "not in this build, or no mpirun: MPI is not installed");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  // Open MPI unloads its modules without freeing their memory, so a list of known leaks could not name them.
  const Output run = output_of("ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 ONEBIT_MPI_PLUGIN=" ONEBIT_MPI_LIBRARY
                               " OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none -n 3 " +
                               self + " '[.mpi-rank]'");
  CAPTURE(run.text);
  CHECK(run.status == 0);
  std::size_t passed = 0;
  for (std::size_t at = 0; (at = run.text.find("All tests passed", at)) != std::string::npos; ++at) ++passed;
  CHECK(passed == 3);
}

TEST_CASE("mpi: a process that mpirun has not started is alone") {
  CHECK(mpi_environment().size == 1);
  CHECK(processes()->size() == 1);
  CHECK(processes()->any(true));
  CHECK_FALSE(processes()->any(false));
  CHECK(processes()->communicator()->all_gather(std::vector<double>{1, 2}) == std::vector<double>{1, 2});
}

TEST_CASE("rank: places", "[.mpi-rank]") {
  CHECK(ranks().size() == 3);
  CHECK(ranks().rank() == mpi_environment().rank);
  CHECK(ranks().hosts() == 1);
  CHECK(ranks().neighbours() == 3);
  CHECK(ranks().threads() == 1);
}

TEST_CASE("rank: blocks reach their rank, whole and in pieces, and are counted", "[.mpi-rank]") {
  for (const char* device_name : {"cpu", "debug"}) {
    for (const Index piece : {Index{1}, Index{7}, mpi::kPiece}) {
      CAPTURE(device_name, piece);
      const Device device = device_of(device_name, 1);
      const Index own = ranks().rank();
      std::vector<std::uint8_t> values(3 * kPlace), expected(3 * kPlace);
      for (Index r = 0; r < 3; ++r) {
        put(values, r * kPlace, r + 2, r + 4, message(own, r));
        put(expected, r * kPlace, own + 2, own + 3, message(r, own));
      }
      auto source = on(device, values);
      auto target = Buffer<std::uint8_t>::zeros(device, 3 * kPlace);
      std::vector<Blocks> to, from;
      for (Index r = 0; r < 3; ++r) {
        to.push_back(blocks_at(source, r * kPlace, r + 2, r + 4));
        from.push_back(blocks_at(target, r * kPlace, own + 2, own + 3));
      }
      mpi::MpiCommunicator communicator(ranks(), piece);
      ranks().run([&] { communicator.all_to_all(device, to, from); });
      CHECK(target.to_host() == expected);
      CHECK(communicator.bytes_received() == 2 * (3 * (own + 2) + 5));
    }
  }
}

TEST_CASE("rank: numbers are gathered in rank order, also where ranks have none", "[.mpi-rank]") {
  std::vector<double> own(static_cast<std::size_t>(ranks().rank()), 10.0 * static_cast<double>(ranks().rank()));
  ranks().run([&] { CHECK(ranks().communicator()->all_gather(own) == std::vector<double>{10, 20, 20}); });
  ranks().run([&] {
    CHECK(ranks().any(ranks().rank() == 2));
    CHECK_FALSE(ranks().any(false));
  });
}

TEST_CASE("rank: what one throws all throw, whatever exchange they are in", "[.mpi-rank]") {
  bool after = false;
  const auto failing = [&](Index failed, const auto& fail) {
    if (ranks().rank() == failed) fail();
    ranks().communicator()->all_gather({});
    after = true;
  };
  for (const Index failed : {0, 1, 2}) {
    CHECK_THROWS_AS(ranks().run([&] { failing(failed, [] { throw NumericError("bad", ""); }); }), NumericError);
    CHECK_THROWS_AS(ranks().run([&] { failing(failed, [] { throw NotCompiled("no", ""); }); }), NotCompiled);
    CHECK_THROWS_AS(ranks().run([&] { failing(failed, [] { throw IoError("io", ""); }); }), IoError);
    CHECK_THROWS_AS(ranks().run([&] { failing(failed, [] { throw std::bad_alloc(); }); }), std::bad_alloc);
    CHECK_THROWS_WITH(ranks().run([&] { failing(failed, [] { throw ConfigError("what", "where", "hint"); }); }),
                      "what (where); hint");
  }
  CHECK_FALSE(after);
  CHECK_THROWS_WITH(ranks().run([&] {
    if (ranks().rank() > 0) throw Error("rank " + std::to_string(ranks().rank()), "");
  }),
                    "rank 1");
  ranks().run([&] { CHECK(ranks().any(true)); });  // it works again
}

TEST_CASE("rank: an error outside of the others' work takes them out of it", "[.mpi-rank]") {
  bool caught_inside = false, after = false;
  const auto work = [&] {
    if (ranks().rank() == 1) throw IoError("disk full", "");
    try {
      ranks().run([&] { ranks().communicator()->all_gather({}); });
    } catch (const Error&) {
      caught_inside = true;
    }
    after = true;
  };
  CHECK_THROWS_WITH(ranks().run(work), "disk full");
  CHECK_FALSE(caught_inside);
  CHECK_FALSE(after);
  ranks().run([&] { CHECK(ranks().any(true)); });
}

TEST_CASE("rank: an error of work that all are in can be handled", "[.mpi-rank]") {
  ranks().run([&] {
    CHECK_THROWS_AS(ranks().run([] {
      if (ranks().rank() == 2) throw NumericError("diverged", "");
      ranks().communicator()->all_gather({});
    }),
                    NumericError);
    CHECK(ranks().any(ranks().rank() == 0));
  });
}

TEST_CASE("rank: exchanges that do not match are an error, not a wait for ever", "[.mpi-rank]") {
  const auto uneven = [](Index absent) {
    if (ranks().rank() != absent) ranks().communicator()->all_gather({});
  };
  for (const Index absent : {0, 1, 2}) {
    CHECK_THROWS_WITH(ranks().run([&] { uneven(absent); }), "processes do not take part in the same exchanges (mpi)");
  }
  ranks().run([&] { CHECK(ranks().any(true)); });
}

TEST_CASE("rank: blocks of different shapes are refused by all", "[.mpi-rank]") {
  const Device device = device_of("cpu", 1);
  auto memory = Buffer<std::uint8_t>::zeros(device, 16);
  const Index sent = ranks().rank() == 1 ? 4 : 3;
  const std::vector<Blocks> to(3, {{memory.data(), 1, sent, sent}}), from(3, {{memory.data() + 8, 1, 3, 3}});
  CHECK_THROWS_WITH(ranks().run([&] { ranks().communicator()->all_to_all(device, to, from); }),
                    "blocks sent and received differ in shape (rank 1 to rank 0)");
}

TEST_CASE("rank: a group holds the workers of its rank", "[.mpi-rank]") {
  DeviceGroup group({device_of("cpu", 1)}, 14, processes());
  CHECK(group.size() == 1);
  CHECK(group.shard(0).own().first == std::array<Index, 3>{0, 4, 8}[static_cast<std::size_t>(ranks().rank())]);
  CHECK(group.shard(0).workers() == 14);
  CHECK_THROWS_WITH(group.run([&](Index) {
    if (ranks().rank() == 2) throw NumericError("rank 2 failed", "");
    group.shard(0).communicator->all_gather({});
  }),
                    "rank 2 failed");
  CHECK_THROWS_WITH(DeviceGroup(parse_devices("cpu:2", 2), 14, processes()), Contains("can use only one device"));
  CHECK_THROWS_WITH(DeviceGroup({device_of("cpu", 1)}, 8, processes()),
                    Contains("too many devices for the number of workers"));
}
