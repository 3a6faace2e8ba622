#include "device/comm/mpi/communicator.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::device::mpi {
namespace {

Index bytes_of(const Blocks& blocks) {
  Index sum = 0;
  for (const Block& block : blocks) sum += block.bytes();
  return sum;
}

/// A hash (FNV-1a) that is equal for blocks of the same shapes, and almost never for others.
Index fingerprint(const Blocks& blocks) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](Index value) {
    hash ^= static_cast<std::uint64_t>(value);
    hash *= 1099511628211u;
  };
  for (const Block& block : blocks) {
    add(block.rows);
    add(block.width);
  }
  return static_cast<Index>(hash);
}

/// Iterates over the bytes of blocks in order.
class Cursor {
 public:
  explicit Cursor(const Blocks& blocks) : blocks_(blocks), left_(bytes_of(blocks)) {}

  Index left() const { return left_; }

  /// Calls visit(data, bytes) for the next `bytes` bytes, one contiguous run at a time.
  template <class Visit>
  void next(Index bytes, const Visit& visit) {
    left_ -= bytes;
    while (bytes > 0) {
      const Block& block = blocks_[block_];
      const bool whole = block.rows == 1 || block.pitch == block.width;  // contiguous
      const Index width = whole ? block.bytes() : block.width;
      const Index count = std::min(bytes, width - column_);
      visit(static_cast<std::byte*>(block.data) + row_ * block.pitch + column_, count);
      bytes -= count;
      column_ += count;
      if (column_ < width) continue;
      column_ = 0;
      if (++row_ < (whole ? 1 : block.rows)) continue;
      row_ = 0;
      ++block_;
    }
  }

 private:
  const Blocks& blocks_;
  Index left_;
  std::size_t block_ = 0;
  Index row_ = 0, column_ = 0;
};

}  // namespace

/// Shares the block shapes of all ranks with every rank, so that every rank reports a mismatch.
void MpiCommunicator::synchronise(std::span<const Blocks> to, std::span<const Blocks> from) {
  Note own{Act::blocks, 0, {}, {}};
  for (const Blocks& blocks : to) own.to.push_back(fingerprint(blocks));
  for (const Blocks& blocks : from) own.from.push_back(fingerprint(blocks));
  const std::vector<Note> notes = processes_.synchronise(own);
  for (std::size_t target = 0; target < notes.size(); ++target) {
    for (std::size_t source = 0; source < notes.size(); ++source) {
      if (notes[source].to[target] == notes[target].from[source]) continue;
      throw Error("blocks sent and received differ in shape",
                  "rank " + std::to_string(source) + " to rank " + std::to_string(target));
    }
  }
}

void MpiCommunicator::all_to_all(const Device& device, std::span<const Blocks> to, std::span<const Blocks> from) {
  device.synchronize();
  synchronise(to, from);
  const auto own = static_cast<std::size_t>(rank());
  Deferred failure;
  for (std::size_t b = 0; b < to[own].size(); ++b) {
    if (to[own][b].bytes() == 0) continue;
    failure.guard([&] { device.memory().copy(from[own][b], device.memory(), to[own][b]); });
  }
  for (Index distance = 1; distance < size(); ++distance) {
    const Index target = (rank() + distance) % size(), source = (rank() + size() - distance) % size();
    swap(device, to[static_cast<std::size_t>(target)], target, from[static_cast<std::size_t>(source)], source, failure);
  }
  failure.guard([&] { device.synchronize(); });
  processes_.run([&] { failure.rethrow(); });  // before any rank uses what a failing rank has sent
}

void MpiCommunicator::swap(const Device& device, const Blocks& to, Index to_rank, const Blocks& from, Index from_rank,
                           Deferred& failure) {
  Memory& memory = device.memory();
  Cursor out(to), in(from);
  bytes_received_ += in.left();
  while (out.left() > 0 || in.left() > 0) {
    const Index out_bytes = std::min(out.left(), piece_), in_bytes = std::min(in.left(), piece_);
    sent_.resize(std::max(sent_.size(), static_cast<std::size_t>(out_bytes)));
    received_.resize(std::max(received_.size(), static_cast<std::size_t>(in_bytes)));
    std::byte* target = sent_.data();
    out.next(out_bytes, [&](const void* data, Index bytes) {
      failure.guard([&] { memory.download(target, data, bytes); });
      target += bytes;
    });
    processes_.mpi().swap(sent_.data(), static_cast<int>(out_bytes), out_bytes > 0 ? static_cast<int>(to_rank) : -1,
                          received_.data(), static_cast<int>(in_bytes),
                          in_bytes > 0 ? static_cast<int>(from_rank) : -1);
    const std::byte* source = received_.data();
    in.next(in_bytes, [&](void* data, Index bytes) {
      failure.guard([&] { memory.upload(data, source, bytes); });
      source += bytes;
    });
  }
}

std::vector<double> MpiCommunicator::all_gather(std::span<const double> own) {
  return processes_.gather(own);
}

}  // namespace onebit::device::mpi
