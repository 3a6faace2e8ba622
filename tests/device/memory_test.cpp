// Memory accounting: blocks that are reused, scratch that is kept, and devices that only plan.

#include "device/base/system.hpp"
#include "device/launch/launch.hpp"
#include "device/memory/block_pool.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

TEST_CASE("a pool gives the smallest waiting block that is large enough and not twice too large") {
  BlockPool pool;
  char blocks[3] = {};
  for (int i = 0; i < 3; ++i) pool.add(&blocks[i], 100 * (3 - i));  // 300, 200, 100
  CHECK(pool.take(100) == nullptr);
  for (char& block : blocks) pool.keep(&block);
  CHECK(pool.take(301) == nullptr);
  CHECK(pool.take(49) == nullptr);
  CHECK(pool.take(101) == &blocks[1]);
  CHECK(pool.take(101) == nullptr);  // 300 would waste more than it gives
  CHECK(pool.take(150) == &blocks[0]);
  CHECK(pool.take(100) == &blocks[2]);
  CHECK(pool.keep(&blocks[2]) == 100);
  const MemoryUse use = pool.use();
  CHECK(use.used == 500);
  CHECK(use.held == 600);
  CHECK(use.peak == 600);
  CHECK(use.allocations == 3);
}

TEST_CASE("buffers that come and go ask the system once, on the CPU and in a plan") {
  for (const Device& device : {Device::cpu(1), Device::cpu(1).plan()}) {
    CAPTURE(device.name());
    for (int round = 0; round < 3; ++round) {
      const Buffer<float> one(device, 1000), other(device, 9), large(device, 3 << 20);
      const MemoryUse use = device.memory().use();
      CHECK(use.allocations == 3);
      CHECK(use.used == 4032 + 64 + (12 << 20));  // whole cache lines, whole huge pages
      CHECK(use.held == use.used);
    }
    CHECK(device.memory().use().used == 0);
    CHECK(device.memory().use().peak == 4032 + 64 + (12 << 20));
  }
}

TEST_CASE("a freed buffer is no longer counted, on every backend") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    // CUDA does not promise when its pool stops counting a freed buffer: earlier ones may be in `before`, and the last
    // one may still be counted in the end.
    const Index before = device.memory().use().used, late = device.is_gpu() ? 2 * 40000 : 0;
    const Index certain = device.is_gpu() ? 0 : before;
    for (int round = 0; round < 10; ++round) {
      const Buffer<double> buffer(device, 5000);
      CHECK(device.memory().use().used >= certain + 40000);
      CHECK(device.memory().use().peak >= certain + 40000);
    }
    device.synchronize();  // a GPU frees memory after the kernels that use it
    CHECK(device.memory().use().used <= before + late);
    CHECK(device.memory().available() > 0);
  }
}

TEST_CASE("the scratch of a reduction stays for the next one") {
  const Device device = device_of("cpu");
  const Index n = 3 * kChunk + 5;
  const auto values = on(device, std::vector<float>(static_cast<std::size_t>(n), 0.5f));
  const auto offsets = on(device, std::vector<Index>{0});
  const ValueTerm term{values.data(), 0, offsets.data()};
  Buffer<double> sums(device, 1);
  const Chunks chunks(n);
  reduce(device, 1, chunks, term, sums.data());
  const Index allocations = device.memory().use().allocations;
  for (int i = 0; i < 5; ++i) reduce(device, 1, chunks, term, sums.data());
  CHECK(device.memory().use().allocations == allocations);
  CHECK(sums.to_host()[0] == 0.5 * static_cast<double>(n));
}

TEST_CASE("a plan runs no kernel, holds nothing, and downloads tiny positive numbers") {
  const Device device = device_of("cpu").plan();
  CHECK(device.plans());
  CHECK_FALSE(device_of("cpu").plans());
  CHECK(device.threads() == 2);
  CHECK(device.name() == "cpu");
  Buffer<float> values = on(device, std::vector<float>{3, 4, 5});
  Buffer<double> sums(device, 1);
  reduce(device, 1, Chunks(3), ValueTerm{values.data(), 0, nullptr}, sums.data());  // would fault if it ran
  values.zero();
  for (const float value : values.to_host()) CHECK((value > 0 && value < 1e-30f));
  CHECK((sums.to_host()[0] > 0 && sums.to_host()[0] < 1e-30));
}

TEST_CASE("the system tells how much memory there is") {
  const Index before = resident_memory().own;
  CHECK(before > 1 << 16);
  const std::vector<char> touched(64 << 20, 'x');
  CHECK(resident_memory().own >= before + (60 << 20));
  CHECK(available_memory() > 0);
  CHECK(touched.back() == 'x');
}

TEST_CASE("devices are described with their threads and the processor") {
  const std::string one = devices_text("cpu", 1), two = devices_text("cpu:2", 2), name = processor_name();
  CHECK(one == "cpu, 1 thread" + (name.empty() ? "" : " of " + name));
  CHECK(two.starts_with("cpu:2, 2 threads"));
}
