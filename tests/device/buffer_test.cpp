#include "device/buffer.hpp"

#include <cstdint>
#include <limits>

#include "device/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::device;

TEST_CASE("a buffer starts as zeros and copies both ways") {
  const Device device = Device::cpu(1);
  Buffer<float> buffer(device, 5);
  CHECK(buffer.to_host() == std::vector<float>(5));
  buffer.upload(std::vector<float>{1, 2, 3}, 1);
  CHECK(buffer.to_host() == std::vector<float>{0, 1, 2, 3, 0});
  std::vector<float> part(2);
  buffer.download(part, 2);
  CHECK(part == std::vector<float>{2, 3});
  buffer.zero();
  CHECK(buffer.to_host() == std::vector<float>(5));
}

TEST_CASE("buffers are aligned, may be empty, and move") {
  const Device device = Device::cpu(1);
  CHECK(reinterpret_cast<std::uintptr_t>(Buffer<std::uint8_t>(device, 1).data()) % 64 == 0);
  CHECK(Buffer<float>(device, 0).to_host().empty());
  CHECK(Buffer<float>().to_host().empty());
  Buffer<int> first(device, 2);
  first.upload(std::vector<int>{4, 5});
  const Buffer<int> second = std::move(first);
  CHECK(second.to_host() == std::vector<int>{4, 5});
}

TEST_CASE("devices by name") {
  CHECK(Device::parse("cpu", 3).threads() == 3);
  CHECK(Device::parse("cpu", 0).threads() >= 1);
  CHECK(Device::cpu(2).name() == "cpu");
  CHECK_THROWS_WITH(Device::parse("tpu", 1), "unknown device (tpu); devices here: cpu");
  CHECK_THROWS_AS(Device::parse("cuda:0", 1), NotCompiled);
  CHECK_THROWS_AS(Device::cpu(-1), ConfigError);
}

TEST_CASE("an error is one line of what, where and hint") {
  CHECK(std::string(Error("what", "where", "hint").what()) == "what (where); hint");
  CHECK(std::string(Error("what", "").what()) == "what");
  CHECK(std::string(Error("what", "", "hint").what()) == "what; hint");
}
