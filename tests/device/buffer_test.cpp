#include "device/memory/buffer.hpp"

#include <cstdint>
#include <limits>
#include <numeric>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

TEST_CASE("a buffer copies both ways, on every backend") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    auto buffer = Buffer<float>::zeros(device, 5);
    CHECK(buffer.to_host() == std::vector<float>(5));
    buffer.upload(std::vector<float>{1, 2, 3}, 1);
    CHECK(buffer.to_host() == std::vector<float>{0, 1, 2, 3, 0});
    std::vector<float> part(2);
    buffer.download(part, 2);
    CHECK(part == std::vector<float>{2, 3});
    buffer.zero();
    CHECK(buffer.to_host() == std::vector<float>(5));
  }
}

TEST_CASE("fetched values are those of that time, whatever happens to the buffer, on every backend") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    std::vector<Future<float>> fetched;
    for (const float first : {1.0f, 2.0f, 3.0f}) {
      Buffer<float> buffer = on<float>(device, {first, 5, 6});
      fetched.push_back(buffer.fetch());
      fetched.push_back(buffer.fetch(1));
      buffer.upload(std::vector<float>{-1, -1, -1});
    }
    for (const std::size_t k : {2u, 0u, 1u}) {
      const auto first = static_cast<float>(k + 1);
      CHECK(std::vector<float>(fetched[2 * k]) == std::vector<float>{first, 5, 6});
      CHECK(fetched[2 * k + 1].size() == 1);
      CHECK(fetched[2 * k + 1][0] == first);
    }
    const Future<float> nothing = Buffer<float>(device, 0).fetch();
    CHECK(nothing.begin() == nothing.end());
  }
}

TEST_CASE("buffers are aligned, may be empty, and move") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device device = device_of(backend);
    CHECK(reinterpret_cast<std::uintptr_t>(Buffer<std::uint8_t>(device, 1).data()) % 64 == 0);
    CHECK(Buffer<float>(device, 0).to_host().empty());
    CHECK(Buffer<float>().to_host().empty());
    Buffer<int> first = on(device, std::vector<int>{4, 5});
    Buffer<int> second = std::move(first);
    CHECK(second.to_host() == std::vector<int>{4, 5});
    second = on(device, std::vector<int>{6});
    CHECK(second.to_host() == std::vector<int>{6});
  }
}

TEST_CASE("blocks are copied within a device and between devices") {
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    const Device one = device_of(backend), other = device_of(backend);
    std::vector<std::uint8_t> bytes(60);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    auto source = on(one, bytes);
    for (const Device& target_device : {one, other}) {
      auto target = Buffer<std::uint8_t>::zeros(target_device, 24);
      target_device.memory().copy({target.data() + 1, 3, 5, 8}, one.memory(), {source.data() + 7, 3, 5, 20});
      std::vector<std::uint8_t> expected(24);
      for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t i = 0; i < 5; ++i) expected[1 + 8 * row + i] = static_cast<std::uint8_t>(7 + 20 * row + i);
      }
      one.synchronize();
      CHECK(target.to_host() == expected);
    }
  }
}

TEST_CASE("devices by name") {
  CHECK(parse_devices("cpu", 3).front().threads() == 3);
  CHECK(parse_devices("cpu", 0).front().threads() >= 1);
  CHECK(parse_devices("cpu:1", 2).size() == 1);
  CHECK(Device::cpu(2).name() == "cpu");
  CHECK(Device::debug(2).name() == "debug");
  const std::vector<Device> split = parse_devices("cpu:3", 7);
  REQUIRE(split.size() == 3);
  CHECK(split[0].threads() + split[1].threads() + split[2].threads() == 7);
  CHECK(parse_devices("debug:4", 2)[3].threads() == 1);
  const std::string hint = "; examples are cpu, cpu:2, debug and cuda:0,1; see 'onebit list devices'";
  for (const std::string name :
       {"tpu", "cpu:", "cpu:0", "cpu:x", "cpu:-1", "cpu:1000000000000", "cuda:", "cuda:0,", "cuda:,0", "cuda:a"}) {
    CHECK_THROWS_WITH(parse_devices(name, 1), "unknown device (" + name + ")" + hint);
  }
  CHECK_THROWS_AS(Device::cpu(-1), ConfigError);
}

TEST_CASE("every device that is listed works, and CUDA is there or says why not") {
  bool cuda = false;
  for (const auto& [name, doc] : list_devices()) {
    CHECK_FALSE(doc.empty());
    if (name.starts_with("cuda")) cuda = true;
    if (name == "cuda") {
      CHECK_THROWS_AS(parse_devices(name, 1), ConfigError);
    } else {
      CHECK(parse_devices(name, 1).front().name() == name);
    }
  }
  CHECK(cuda);
}

TEST_CASE("an error is one line of what, where and hint") {
  CHECK(std::string(Error("what", "where", "hint").what()) == "what (where); hint");
  CHECK(std::string(Error("what", "").what()) == "what");
  CHECK(std::string(Error("what", "", "hint").what()) == "what; hint");
  CHECK(std::string(Error(std::string("a\0b\nc", 5), "").what()) == "a\\x00b\\x0ac");
  const std::string large = Error("what", std::string(1'000'000, 'x') + "end", "hint").what();
  CHECK(large.size() < 5000);
  CHECK(large.starts_with("what (xxx"));
  CHECK(large.ends_with("xend); hint"));
  std::string umlauts = "x";
  for (int i = 0; i < 10'000; ++i) umlauts += "\xc3\xa4";
  const std::string cut = Error(umlauts, "").what();
  CHECK(cut.find("\xc3\xa4 ... \xc3\xa4") != cut.npos);
}

TEST_CASE("a buffer is made from host memory, but not in a plan, which counts the copy") {
  Index made = 0;
  const auto numbers = [&] {
    ++made;
    return std::vector<float>{1, 2, 3};
  };
  for (const std::string& backend : backends()) {
    CAPTURE(backend);
    CHECK(Buffer<float>::made(device_of(backend), 3, numbers).to_host() == std::vector<float>{1, 2, 3});
  }
  const Index before = made;
  const Device planning = Device::cpu(1).plan();
  CHECK(Buffer<float>::made(planning, 3, numbers).size() == 3);
  CHECK(made == before);
  CHECK(dynamic_cast<const plan::PlanMemory&>(planning.memory()).largest_transfer() == 12);
}
