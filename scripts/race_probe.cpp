// Checks that the race check finds races and gives no false alarms. Sums over the threads of a CPU queue and over the
// ranks of a team. With the argument "kernel" or "team", the threads or ranks update one sum, which is a race;
// otherwise each has its own. scripts/test.sh runs all three variants before it checks for races.
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
    // All ranks have to run at the same time: the group's locks would order a rank after one that has finished.
    started.fetch_add(1, std::memory_order_relaxed);
    while (started.load(std::memory_order_relaxed) < 4) std::this_thread::yield();
    ranks[race == "team" ? 0 : static_cast<std::size_t>(rank)] += rank;
  });
  std::printf("%td\n", std::reduce(units.begin(), units.end()) + std::reduce(ranks.begin(), ranks.end()));
}
