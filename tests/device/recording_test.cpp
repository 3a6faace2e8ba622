// Launches that are recorded and replayed, on a GPU too, emulated or not, if there is one.
#include <numeric>

#include "device/base/error.hpp"
#include "device/launch/graph_cache.hpp"
#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

constexpr Index kSize = 24;

std::vector<float> numbers(float first) {
  std::vector<float> values(kSize * kSize);
  std::iota(values.begin(), values.end(), first);
  for (float& value : values) value = static_cast<float>(static_cast<int>(value) % 7 - 3);
  return values;
}

/// Computes out = (a b) b with a temporary buffer.
void multiply_twice(const Device& device, const Buffer<float>& a, const Buffer<float>& b, Buffer<float>& out) {
  constexpr GemmShape shape{.m = kSize, .n = kSize, .k = kSize};
  Buffer<float> room(device, kSize * kSize);
  gemm(device, shape, {a.data(), kSize}, {b.data(), kSize}, {room.data(), kSize});
  gemm(device, shape, {room.data(), kSize}, {b.data(), kSize}, {out.data(), kSize});
}

std::vector<float> expected(const std::vector<float>& a, const std::vector<float>& b) {
  const Device cpu = Device::cpu(1);
  Buffer<float> out(cpu, kSize * kSize);
  multiply_twice(cpu, on(cpu, a), on(cpu, b), out);
  return out.to_host();
}

}  // namespace

TEST_CASE("what is replayed is done with what the memory holds by then, on every backend") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    auto a = on(device, numbers(0)), b = on(device, numbers(1)), other = on(device, numbers(2));
    Buffer<float> out(device, kSize * kSize);
    GraphCache<const float*> replay;
    Index calls = 0;
    const auto run = [&](const Buffer<float>& left) {
      replay.run(device, left.data(), [&] {
        ++calls;
        multiply_twice(device, left, b, out);
      });
    };
    for (int round = 0; round < 6; ++round) {
      const auto first = static_cast<float>(10 * round);
      a.upload(numbers(first));
      run(a);
      CHECK(out.to_host() == expected(numbers(first), numbers(1)));
      run(other);
      CHECK(out.to_host() == expected(numbers(2), numbers(1)));
    }
    CHECK(calls == (device.records() ? 4 : 12));
    b = on(device, numbers(5));
    replay.forget();
    run(a);
    CHECK(out.to_host() == expected(a.to_host(), numbers(5)));
  }
}

TEST_CASE("a recording is made anew where the device's own memory has moved") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    if (!device.records()) continue;
    CAPTURE(backend);
    const auto values = on(device, std::vector<float>(300000, 2.0f));
    const auto offsets = on(device, std::vector<Index>{0});
    auto sums = Buffer<double>::zeros(device, 2);
    const auto add_up = [&](Index count, Index at) {
      reduce(device, 1, Chunks(count), ValueTerm{values.data(), 0, offsets.data()}, sums.data() + at);
    };
    add_up(5000, 0);
    const auto recording = device.record([&] { add_up(5000, 0); });
    sums.zero();
    recording->start();
    CHECK(recording->valid());
    add_up(300000, 1);  // needs more room
    CHECK_FALSE(recording->valid());
    CHECK(sums.to_host() == std::vector<double>{10000, 600000});
  }
}

TEST_CASE("work that fails while it is recorded leaves the device as it was") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    if (!device.records()) continue;
    CAPTURE(backend);
    const auto a = on(device, numbers(0)), b = on(device, numbers(1));
    Buffer<float> out(device, kSize * kSize);
    multiply_twice(device, a, b, out);
    const std::vector<float> before = out.to_host();
    CHECK_THROWS_AS(device.record([&] {
      multiply_twice(device, b, a, out);
      throw Error("stop", "here");
    }),
                    Error);
    CHECK(out.to_host() == before);
    device.record([&] { multiply_twice(device, b, a, out); })->start();
    CHECK(out.to_host() == expected(numbers(1), numbers(0)));
  }
}

TEST_CASE("products wherever they lie, fills and copies of rectangles are recorded too") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    if (!device.records()) continue;
    CAPTURE(backend);
    constexpr Index half = kSize / 2;
    const auto a = on(device, numbers(3)), b = on(device, numbers(4));
    Buffer<float> out(device, kSize * kSize), copied(device, half * half);
    // Four products of the quarters, next to each other in the same rows.
    const auto work = [&] {
      out.zero();
      gemm_batched(device, {.m = half, .n = half, .k = half, .accumulate = true}, {a.data(), kSize, half * kSize, half},
                   {b.data(), kSize, half * kSize, half}, {out.data(), kSize, half * kSize, half}, {2, 2});
      const Index row = half * Index{sizeof(float)};
      device.memory().copy({copied.data(), half, row, row}, device.memory(), {out.data() + half, half, row, 2 * row});
    };
    work();
    const std::vector<float> expected = out.to_host(), corner = copied.to_host();
    const auto recording = device.record(work);
    for (int round = 0; round < 2; ++round) {
      out.zero();
      copied.zero();
      recording->start();
      CHECK(out.to_host() == expected);
      CHECK(copied.to_host() == corner);
    }
    CHECK(recording->valid());
  }
}

TEST_CASE("keys beyond the most are done as usual, the others still replayed") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    Buffer<float> room(device, 4);
    constexpr Index keys = Index{GraphCache<Index>::kMost} + 5;
    GraphCache<Index> replay;
    Index calls = 0;
    for (int round = 0; round < 4; ++round) {
      for (Index key = 0; key < keys; ++key) {
        replay.run(device, key, [&] {
          ++calls;
          room.zero();
        });
      }
    }
    CHECK(calls == (device.records() ? 2 * (keys - 5) + 4 * 5 : 4 * keys));
  }
}

TEST_CASE("a device that is told not to record does everything again") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend).with_recordings(false);
    CHECK_FALSE(device.records());
    GraphCache<int> replay;
    int calls = 0;
    for (int round = 0; round < 4; ++round) replay.run(device, 1, [&] { ++calls; });
    CHECK(calls == 4);
  }
}

TEST_CASE("a plan counts what recordings hold for buffers that come and go, once for all of them") {
  constexpr Index bytes = Index{1} << 20;
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    if (!device.records()) continue;
    CAPTURE(backend);
    const Device plan = device.plan();
    GraphCache<int> replay;
    const auto held = [&] { return plan.memory().use().held; };
    const auto work = [&] { const Buffer<std::uint8_t> room(plan, bytes); };
    for (const int key : {1, 2}) replay.run(plan, key, work);
    CHECK(held() == bytes);
    for (const int key : {1, 2, 1, 2}) replay.run(plan, key, work);
    CHECK(held() == 2 * bytes);
  }
}
