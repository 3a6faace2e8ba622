// What the CUDA backend does when CUDA fails: its error messages and second attempts. Emulated GPUs fail on request.
#include <new>

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "tests/catch.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"
#include "tests/emulator/stream.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr int kGpu = 1;

/// Restores what a test changes on the GPU.
struct Restore {
  ~Restore() {
    emulator::fail(kGpu, cudaSuccess);
    emulator::set_memory(kGpu, std::size_t{1} << 30);
    emulator::keep_unused(kGpu, 0, 0);
    emulator::need_memory_to_start(kGpu, 0);
    emulator::set_blocks_together();
  }
};

void multiply(const Device& device, Buffer<float>& matrix) {
  gemm(device, {.m = 2, .n = 2, .k = 2}, {matrix.data(), 2}, {matrix.data(), 2}, {matrix.data(), 2});
}

/// The results of a kernel for two large items that share as many blocks as the device has.
std::vector<double> results_of_large_items(const Device& device) {
  constexpr Index rows = 2, n = 9001, huge = Index{1} << 30;
  const auto data = on(device, oracle::normals(rows * n, 17));
  Buffer<float> doubled(device, rows * n);
  auto results = Buffer<double>::zeros(device, 4 * rows);
  for_each_large_item(device, {.count = rows, .longest = huge, .total = rows * huge},
                      LanesKernel{data.data(), n, doubled.data(), results.data()});
  return results.to_host();
}

}  // namespace

TEST_CASE("a product that fails is named with CUDA's reason") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  auto matrix = on(device, std::vector<float>{1, 2, 3, 4});
  multiply(device, matrix);
  emulator::fail(kGpu, cudaErrorIllegalAddress);
  CHECK_THROWS_WITH(multiply(device, matrix), Contains("cublasGemmStridedBatchedEx") && Contains("emulated failure") &&
                                                  Contains("illegal memory access") && Contains("cuda:1"));
}

TEST_CASE("an error while recordings exist names the option that turns them off") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  auto matrix = on(device, std::vector<float>{1, 2, 3, 4});
  multiply(device, matrix);
  {
    const auto recording = device.record([&] { matrix.zero(); });
    recording->start();
    emulator::fail(kGpu, cudaErrorIllegalAddress);
    CHECK_THROWS_WITH(matrix.to_host(), Contains("illegal memory access") && Contains("--graphs false"));
    CHECK_THROWS_WITH(recording->start(), Contains("illegal memory access") && Contains("--graphs false"));
    CHECK_THROWS_WITH(multiply(device, matrix), Contains("illegal memory access") && Contains("--graphs false"));
  }
  CHECK_THROWS_WITH(matrix.to_host(), Contains("CUDA_LAUNCH_BLOCKING=1") && !Contains("--graphs"));
}

TEST_CASE("an allocation waits for memory that is being freed, and gets what the pool or finished graphs keep") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  device.synchronize();
  emulator::set_memory(kGpu, 1000);
  { const Buffer<float> first(device, 200); }
  CHECK_NOTHROW(Buffer<float>(device, 200));
  device.synchronize();
  emulator::keep_unused(kGpu, 600, 0);
  CHECK_NOTHROW(Buffer<float>(device, 200));
  device.synchronize();
  emulator::keep_unused(kGpu, 0, 600);
  CHECK_NOTHROW(Buffer<float>(device, 200));
  device.synchronize();
  CHECK_THROWS_AS(Buffer<float>(device, 300), std::bad_alloc);
}

TEST_CASE("a kernel or a product that lacks memory to start gets what the pool keeps") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  auto matrix = on(device, std::vector<float>{1, 2, 3, 4});
  auto visits = on(device, std::vector<int>{0, 0, 0});
  const auto visit = [&] { for_each(device, 3, VisitKernel{visits.data()}); };
  const std::vector<double> expected = results_of_large_items(device);
  const auto keep_most = [] { emulator::keep_unused(kGpu, 50 << 20, 0); };
  emulator::set_memory(kGpu, 64 << 20);
  emulator::need_memory_to_start(kGpu, 30 << 20);
  keep_most();
  visit();
  keep_most();
  multiply(device, matrix);
  keep_most();
  CHECK(results_of_large_items(device) == expected);
  CHECK(visits.to_host() == std::vector<int>{1, 1, 1});
  emulator::need_memory_to_start(kGpu, 64 << 20);
  CHECK_THROWS_AS(multiply(device, matrix), std::bad_alloc);
  CHECK_THROWS_AS(visit(), std::bad_alloc);
}

TEST_CASE("memory that lacks while launches are recorded is std::bad_alloc, and the device works on") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  auto values = on(device, std::vector<float>{1, 2, 3});
  device.synchronize();
  emulator::set_memory(kGpu, 1000);
  emulator::keep_unused(kGpu, 600, 0);
  CHECK_THROWS_AS(device.record([&] { const Buffer<float> room(device, 200); }), std::bad_alloc);
  CHECK(values.to_host() == std::vector<float>{1, 2, 3});
  CHECK_NOTHROW(Buffer<float>(device, 200));
}

TEST_CASE("large items keep their bits if a GPU runs fewer blocks together than it says") {
  const Restore after;
  const Device device = Device::cuda(kGpu);
  const std::vector<double> expected = results_of_large_items(device);
  for (const int blocks : {5, 2, 1}) {
    CAPTURE(blocks);
    emulator::set_blocks_together(blocks);
    CHECK(results_of_large_items(device) == expected);
  }
}
