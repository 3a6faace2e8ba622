// Checks that the race check finds races and gives no false alarms. Sums over the threads of a CPU queue, over the
// ranks of a team, and over the blocks and the threads of an emulated GPU. With the argument "kernel", "team", "blocks"
// or "threads", these update one sum, which is a race; otherwise each has its own. scripts/test.sh runs all variants
// before it checks for races.
#include <atomic>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <thread>

#include "device/comm/device_group.hpp"
#include "device/cpu/queue.hpp"
#include "device/cuda/grid.cuh"
#include "device/memory/buffer.hpp"

namespace {

/// Adds 1 to out[block] in every block. To make the blocks race, all of them add to out[0]; to make the threads race, a
/// barrier is left out.
__global__ void count(bool race_of_blocks, bool race_of_threads, int* out) {
  __shared__ int shared[64];
  shared[threadIdx.x] = 1;
  if (!race_of_threads) __syncthreads();
  const int seen = shared[threadIdx.x ^ 32u];
  __syncthreads();
  if (threadIdx.x == 0) out[race_of_blocks ? 0 : blockIdx.x] += seen;
}

int count_on_gpu(std::string_view race) {
  using namespace onebit::device;
  const Device gpu = Device::cuda(0);
  auto counts = Buffer<int>::zeros(gpu, 8);
  gpu.run([&](const auto& queue) {
    if constexpr (requires { queue.context(); }) {
      cuda::detail::launch(queue, 8, 64, typeid(count), count, race == "blocks", race == "threads", counts.data());
    }
  });
  const std::vector<int> all = counts.to_host();
  return std::reduce(all.begin(), all.end());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace onebit;
  const std::string_view race = argc > 1 ? argv[1] : "";
  std::vector<Index> units(8, 0), ranks(4, 0);
  device::cpu::parallel(device::cpu::Queue(2), 8,
                        [&](Index unit) { units[race == "kernel" ? 0 : static_cast<std::size_t>(unit)] += unit; });
  device::DeviceGroup group(device::parse_devices("cpu:4", 1), 16);
  std::atomic<Index> started = 0;
  group.run([&](Index rank) {
    // All ranks have to run at the same time: the group's locks would order a rank after one that has finished.
    started.fetch_add(1, std::memory_order_relaxed);
    while (started.load(std::memory_order_relaxed) < 4) std::this_thread::yield();
    ranks[race == "team" ? 0 : static_cast<std::size_t>(rank)] += rank;
  });
  std::printf("%td %d\n", std::reduce(units.begin(), units.end()) + std::reduce(ranks.begin(), ranks.end()),
              count_on_gpu(race));
}
