// The emulated GPU itself: threads of a block that wait for each other, streams, memory.
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/comm/device_group.hpp"
#include "device/cuda/grid.cuh"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/emulator/stream.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

/// Computes out[block], the sum of the block's numbers, through shared memory.
__global__ void add_up(const int* numbers, int* out) {
  __shared__ int shared[96];
  shared[threadIdx.x] = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  int sum = 0;
  for (unsigned other = 0; other < blockDim.x; ++other) sum += shared[other];
  __syncthreads();
  if (threadIdx.x == blockIdx.x) out[blockIdx.x] = sum;
}

/// Exchanges values within each half of a warp.
__global__ void whisper(unsigned* ballots, unsigned* neighbours) {
  const unsigned mask = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;
  if (threadIdx.x % 32 < 16) ballots[threadIdx.x] = __ballot_sync(mask, threadIdx.x % 3 == 0);
  neighbours[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 1);
}

/// Lets some threads return before the others synchronize.
__global__ void leave_early(int* met) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  met[threadIdx.x] = 1;
}

/// Computes with a denormal in ways that flush it on a GPU (-ftz=true).
__global__ void flush(const float* tiny, const double* wide_tiny, float* out) {
  const float x = tiny[0];
  out[0] = x + 0.0f;
  out[1] = x * 0x1p20f;
  out[2] = x == 0.0f ? 0.0f : 1.0f;
  out[3] = static_cast<double>(x) == 0.0 ? 0.0f : 1.0f;
  out[4] = static_cast<float>(wide_tiny[0]);
  out[5] = static_cast<float>(wide_tiny[1]);
  out[6] = static_cast<float>(wide_tiny[0] * 0x1p20);
}

Device gpu(int ordinal = 0) {
  return Device::cuda(ordinal);
}

template <class Use>
void on_stream(const Device& device, const Use& use) {
  device.run([&](const auto& queue) {
    if constexpr (requires { queue.context(); }) use(queue);
  });
}

}  // namespace

TEST_CASE("emulated GPU: threads of a block meet, in either order") {
  std::vector<int> numbers(3 * 96);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Device device = gpu();
  const auto in = on(device, numbers);
  for (int launch = 0; launch < 2; ++launch) {
    auto out = Buffer<int>::zeros(device, 3);
    on_stream(device, [&](const cuda::Queue& queue) {
      cuda::detail::launch(queue, 3, 96, typeid(int), add_up, in.data(), out.data());
    });
    CHECK(out.to_host() == std::vector<int>{96 * 97 / 2, 96 * 97 / 2 + 96 * 96, 96 * 97 / 2 + 2 * 96 * 96});
  }
}

TEST_CASE("emulated GPU: threads of half a warp exchange values") {
  const Device device = gpu();
  auto ballots = Buffer<unsigned>::zeros(device, 64);
  auto neighbours = Buffer<unsigned>::zeros(device, 64);
  for (int launch = 0; launch < 2; ++launch) {
    on_stream(device, [&](const cuda::Queue& queue) {
      cuda::detail::launch(queue, 1, 64, typeid(int), whisper, ballots.data(), neighbours.data());
    });
    CHECK(ballots.to_host()[5] == 0b1001001001001001u);
    CHECK(ballots.to_host()[32 + 5] == 0b0010010010010010u);
    for (unsigned t = 0; t < 64; ++t) CHECK(neighbours.to_host()[t] == (t ^ 1u));
  }
}

TEST_CASE("emulated GPU: threads that have returned are not waited for") {
  const Device device = gpu();
  auto met = Buffer<int>::zeros(device, 40);
  for (int launch = 0; launch < 2; ++launch) {
    on_stream(device, [&](const cuda::Queue& queue) {
      cuda::detail::launch(queue, 1, 64, typeid(int), leave_early, met.data());
    });
    CHECK(met.to_host() == std::vector<int>(40, 1));
  }
}

TEST_CASE("emulated GPU: arithmetic, comparisons and conversions of floats treat denormals as zero") {
  const Device device = gpu();
  const auto tiny = on(device, std::vector<float>{0x1p-130f});
  const auto wide_tiny = on(device, std::vector<double>{0x1p-130, -0x1p-130});
  Buffer<float> out(device, 7);
  on_stream(device, [&](const cuda::Queue& queue) {
    cuda::detail::launch(queue, 1, 1, typeid(int), flush, tiny.data(), wide_tiny.data(), out.data());
  });
  CHECK(out.to_host() == std::vector<float>{0, 0, 0, 0, 0, 0, 0x1p-110f});  // doubles have no denormals here
}

TEST_CASE("emulated GPU: work waits in the stream until somebody waits for it") {
  const Device device = gpu();
  const auto a = on(device, std::vector<float>{1, 2, 3});
  Buffer<float> b(device, 3);
  device.memory().copy({b.data(), 1, 12, 12}, device.memory(), {const_cast<float*>(a.data()), 1, 12, 12});
  std::vector<float> seen(3);
  gpu().memory().download(seen.data(), b.data(), 12);  // in another stream, which waits for nothing
  CHECK(std::isnan(seen[0]));
  CHECK(b.to_host() == std::vector<float>{1, 2, 3});
}

TEST_CASE("the host waits for no exchange between GPUs") {
  DeviceGroup group(parse_devices("cuda:0,1", 1), 8);
  std::vector<Buffer<float>> received(2);
  const Index before = emulator::drains();
  group.run([&](Index rank) {
    const Device& device = group.shard(rank).device;
    auto source = on(device, std::vector<float>{1.0f + static_cast<float>(rank)});
    auto& own = received[static_cast<std::size_t>(rank)] = Buffer<float>(device, 2);
    const std::vector<Blocks> to(2, {{source.data(), 1, 4, 4}});
    const std::vector<Blocks> from = {{{own.data(), 1, 4, 4}}, {{own.data() + 1, 1, 4, 4}}};
    group.shard(rank).communicator->all_to_all(device, to, from);
  });
  CHECK(emulator::drains() == before);
  for (const auto& own : received) CHECK(own.to_host() == std::vector<float>{1, 2});
}

TEST_CASE("emulated GPU: a lack of memory is std::bad_alloc, and freed memory can be allocated again") {
  const Device device = gpu(1);
  emulator::set_memory(1, 1000);
  CHECK_THROWS_AS(Buffer<float>(device, 300), std::bad_alloc);
  { const Buffer<float> small(device, 200); }
  device.synchronize();
  CHECK_NOTHROW(Buffer<float>(device, 200));
  emulator::set_memory(1, std::size_t{1} << 30);
}

TEST_CASE("emulated GPU: allocations fail when a test says so") {
  const Device device = gpu();
  emulator::fail_allocations_after(1);
  CHECK_NOTHROW(Buffer<float>(device, 3));
  CHECK_THROWS_AS(Buffer<float>(device, 3), std::bad_alloc);
  CHECK_THROWS_AS(Buffer<float>(device, 1), std::bad_alloc);
  emulator::fail_allocations_after(-1);
  CHECK_NOTHROW(Buffer<float>(device, 3));
}

TEST_CASE("a GPU that is lost is named with the reason") {
  const Device device = gpu(1);
  Buffer<float> some(device, 10);
  emulator::lose(1);
  CHECK_THROWS_WITH(some.to_host(), Catch::Contains("uncorrectable ECC") && Catch::Contains("cuda:1"));
  CHECK_THROWS_AS(device.synchronize(), Error);
  emulator::lose(1, false);
  CHECK_NOTHROW(some.to_host());
}

TEST_CASE("what is uploaded may be changed at once, however much is on its way") {
  const Device device = gpu();
  const std::size_t mebibyte = std::size_t{1} << 18;  // floats
  std::vector<float> values(37 * mebibyte + 5);
  std::iota(values.begin(), values.end(), 0.0f);
  const std::vector<float> expected = values;
  Buffer<float> buffer(device, static_cast<Index>(values.size()));
  buffer.upload(values);
  std::fill(values.begin(), values.end(), -1.0f);
  const bool same = buffer.to_host() == expected;
  CHECK(same);
}
