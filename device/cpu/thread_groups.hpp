#pragma once
// Divides a queue's threads into thread groups (device/launch/thread_group.hpp).

#include <omp.h>

#include <deque>
#include <memory>

#include "device/cpu/lanes.hpp"
#include "device/cpu/queue.hpp"

namespace onebit::device::cpu {

/// The memory and the barrier that the members of a group share.
struct ThreadGroup {
  explicit ThreadGroup(const GroupRoom& room)
      : memory(std::make_unique<double[]>(static_cast<std::size_t>(room.words()))), barrier(room.members) {}

  std::unique_ptr<double[]> memory;
  std::barrier<> barrier;
};

/// Calls work(first, step, lanes) in every thread of every group, for the group's items first, first + step, ...; if
/// there are few items, some groups get none. If OpenMP gives fewer threads than asked for, a single thread computes
/// each item. work must not throw.
template <class Work>
void for_each_group(const Queue& queue, const ItemSizes& sizes, const Work& work) {
  const Index threads = queue.threads(), members = group_size(sizes, threads);
  bool enough = members > 1 && !queue.plans();
  if (enough) {
    const Index step = threads / members;
    const GroupRoom room{ceil_div(sizes.longest, kTile), members};
    std::deque<ThreadGroup> groups;
    for (Index group = 0; group < step; ++group) groups.emplace_back(room);
#pragma omp parallel num_threads(queue.threads())
    {
      const Index thread = omp_get_thread_num(), first = thread / members;
      if (omp_get_num_threads() < queue.threads()) {
        if (thread == 0) enough = false;
      } else if (first < step) {
        const debug::Access access(queue.guard());
        [[maybe_unused]] const FlushDenormals flush{};
        ThreadGroup& group = groups[static_cast<std::size_t>(first)];
        const GroupMember member(&group.barrier);
        work(first, step, GroupLanes(member, thread % members, members, room.scratch(group.memory.get())));
      }
    }
  }
  if (enough) return;
  parallel(queue, sizes.count, [&](Index item) {
    constexpr GroupRoom alone{.tiles = 0, .members = 1};
    double memory[static_cast<std::size_t>(alone.words())];
    const GroupMember member;
    work(item, sizes.count, GroupLanes(member, 0, 1, alone.scratch(memory)));
  });
}

}  // namespace onebit::device::cpu
