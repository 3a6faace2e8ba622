#pragma once
// The threads of a queue as crews (device/launch/crew.hpp).

#include <omp.h>

#include <deque>
#include <memory>

#include "device/cpu/lanes.hpp"
#include "device/cpu/queue.hpp"

namespace onebit::device::cpu {

/// What the members of a crew share.
struct Crew {
  explicit Crew(const CrewRoom& room)
      : memory(std::make_unique<double[]>(static_cast<std::size_t>(room.words()))), barrier(room.members) {}

  std::unique_ptr<double[]> memory;
  std::barrier<> barrier;
};

/// Calls work(first, step, lanes) in every thread, for the items first, first + step, ... of its crew; crews that items
/// are too few for get none. Where OpenMP gives fewer threads than asked for, every item has one. work throws nothing.
template <class Work>
void for_each_crew(const Queue& queue, const ItemSizes& sizes, const Work& work) {
  const Index threads = queue.threads(), members = crew_size(sizes, threads);
  bool enough = members > 1 && !queue.plans();
  if (enough) {
    const debug::Access access(queue.guard());
    const Index step = threads / members;
    const CrewRoom room{ceil_div(sizes.longest, kTile), members};
    std::deque<Crew> crews;
    for (Index crew = 0; crew < step; ++crew) crews.emplace_back(room);
#pragma omp parallel num_threads(queue.threads())
    {
      const Index thread = omp_get_thread_num(), first = thread / members;
      if (omp_get_num_threads() < queue.threads()) {
        if (thread == 0) enough = false;
      } else if (first < step) {
        [[maybe_unused]] const FlushDenormals flush{};
        Crew& crew = crews[static_cast<std::size_t>(first)];
        const CrewMember member(&crew.barrier);
        work(first, step, CrewLanes(member, thread % members, members, room.scratch(crew.memory.get())));
      }
    }
  }
  if (enough) return;
  parallel(queue, sizes.count, [&](Index item) {
    constexpr CrewRoom alone{.tiles = 0, .members = 1};
    double memory[static_cast<std::size_t>(alone.words())];
    const CrewMember member;
    work(item, sizes.count, CrewLanes(member, 0, 1, alone.scratch(memory)));
  });
}

}  // namespace onebit::device::cpu
