// Proves that the race check can fail, and that it does not cry wolf: sums over the threads of a CPU queue and over the
// ranks of a team. With the argument "kernel" or "team" all of them update one sum, which is a race; without it each
// has its own. scripts/test.sh runs all three where it checks for races.
#include <atomic>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <thread>

#include "device/comm/device_group.hpp"
#include "device/cpu/queue.hpp"

int main(int argc, char** argv) {
  using namespace onebit;
  const std::string_view race = argc > 1 ? argv[1] : "";
  std::vector<Index> units(8, 0), ranks(4, 0);
  device::cpu::parallel(device::cpu::Queue(2), 8,
                        [&](Index unit) { units[race == "kernel" ? 0 : static_cast<std::size_t>(unit)] += unit; });
  device::DeviceGroup group(device::parse_devices("cpu:4", 1), 16);
  std::atomic<Index> started = 0;
  group.run([&](Index rank) {
    // A rank that starts after another has finished would be ordered after it by the group's locks.
    started.fetch_add(1, std::memory_order_relaxed);
    while (started.load(std::memory_order_relaxed) < 4) std::this_thread::yield();
    ranks[race == "team" ? 0 : static_cast<std::size_t>(rank)] += rank;
  });
  std::printf("%td\n", std::reduce(units.begin(), units.end()) + std::reduce(ranks.begin(), ranks.end()));
}
