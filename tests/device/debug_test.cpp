// The debug device catches what a GPU would get wrong: missing transfers in both directions, unwritten memory, and
// accesses past the end.
#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/faults.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

TEST_CASE("debug: memory is NaN until it is written") {
  const Device device = Device::debug(1);
  const Buffer<float> fresh(device, 3);
  for (const float value : fresh.to_host()) CHECK(std::isnan(value));
  auto used = Buffer<double>::zeros(device, 2);
  used.poison();
  for (const double value : used.to_host()) CHECK(std::isnan(value));
  auto plain = Buffer<double>::zeros(Device::cpu(1), 2);
  plain.poison();
  CHECK(plain.to_host() == std::vector<double>(2));
}

TEST_CASE("debug: host code that touches device memory faults, kernels and copies do not") {
  const Device device = Device::debug(2);
  auto buffer = on(device, std::vector<int>{1, 2, 3});
  volatile int* data = buffer.data();
  CHECK(faults([&] { (void)data[1]; }));
  CHECK(faults([&] { data[1] = 5; }));
  for_each(device, 3, VisitKernel{buffer.data()});
  CHECK(buffer.to_host() == std::vector<int>{2, 3, 4});
  CHECK(faults([&] { (void)data[1]; }));
  CHECK_FALSE(faults([&] { for_each(device, 3, VisitKernel{buffer.data()}); }));
}

TEST_CASE("debug: a kernel that runs past the end faults") {
  const Device device = Device::debug(1);
  auto buffer = Buffer<int>::zeros(device, 16);  // a multiple of 64 bytes: the next element is on a closed page
  CHECK(faults([&] { for_each(device, 17, VisitKernel{buffer.data()}); }));
}

TEST_CASE("debug: a kernel with a pointer to host memory or to another device's is refused by name") {
  ONEBIT_SKIP_UNLESS(debug::kChecksPointers, "gcc", "this compiler cannot clear padding, so pointers are not checked");
  const Device device = Device::debug(1);
  std::vector<int> host(3);
  CHECK_THROWS_WITH(
      for_each(device, 3, VisitKernel{host.data()}),
      "a kernel was given a pointer to memory outside its device (onebit::tests::VisitKernel); upload the "
      "data, or exchange it between devices");
  const Device other = Device::debug(1);
  auto theirs = Buffer<int>::zeros(other, 3);
  CHECK_THROWS_AS(for_each(device, 3, VisitKernel{theirs.data()}), Error);
  CHECK_NOTHROW(for_each(other, 3, VisitKernel{theirs.data()}));
  CHECK(host == std::vector<int>(3));
  auto values = Buffer<float>::zeros(device, 3);
  double sum = 0;
  CHECK_THROWS_AS(reduce(device, 1, Chunks(Index{3}), CountTerm{values.data()}, &sum), Error);
}
