// Proves that the race check can fail, and that it does not cry wolf: sums over the threads of a CPU queue and over the
// ranks of a team. With the argument "kernel" or "team" all of them update one sum, which is a race; without it each
// has its own. scripts/test.sh runs all three where it checks for races.
#include <cstdio>
#include <numeric>
#include <string_view>

#include "device/cpu/queue.hpp"
#include "device/team.hpp"

int main(int argc, char** argv) {
  using namespace onebit;
  const std::string_view race = argc > 1 ? argv[1] : "";
  std::vector<Index> units(8, 0), ranks(4, 0);
  device::cpu::parallel(device::cpu::Queue(2), 8,
                        [&](Index unit) { units[race == "kernel" ? 0 : static_cast<std::size_t>(unit)] += unit; });
  device::Team team(device::parse_devices("cpu:4", 1), 16);
  team.run([&](Index rank) {
    const double own = 0;
    team.shard(rank).exchange->all_gather({&own, 1});  // so that no rank starts after another has finished
    ranks[race == "team" ? 0 : static_cast<std::size_t>(rank)] += rank;
  });
  std::printf("%td\n", std::reduce(units.begin(), units.end()) + std::reduce(ranks.begin(), ranks.end()));
}
