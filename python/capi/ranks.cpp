#include "python/capi/ranks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/base/error.hpp"

namespace onebit::capi {
namespace {

using device::Block;
using device::Blocks;

/// Calls use(data, bytes) for every contiguous run of the blocks.
template <class Use>
void for_each_run(const Blocks& blocks, const Use& use) {
  for (const Block& block : blocks) {
    for (Index row = 0; row < block.rows && block.width > 0; ++row) {
      use(static_cast<std::byte*>(block.data) + row * block.pitch, block.width);
    }
  }
}

/// Communicates through the caller's function. Device memory is host memory here.
class CallerCommunicator final : public device::Communicator {
 public:
  explicit CallerCommunicator(const onebit_ranks& ranks) : ranks_(ranks) {}

  Index rank() const override { return ranks_.rank; }
  Index size() const override { return ranks_.size; }
  Index bytes_received() const override { return bytes_received_; }
  bool is_network() const override { return true; }

  void all_to_all(const device::Device& device, std::span<const Blocks> to, std::span<const Blocks> from) override {
    const auto own = static_cast<std::size_t>(rank());
    for (std::size_t b = 0; b < to[own].size(); ++b) {
      if (to[own][b].bytes() > 0) device.memory().copy(from[own][b], device.memory(), to[own][b]);
    }
    resize(sent_, to, send_bytes_);
    resize(received_, from, receive_bytes_);
    std::byte* target = sent_.data();
    for_each_other(to, [&](const std::byte* data, Index bytes) {
      std::memcpy(target, data, static_cast<std::size_t>(bytes));
      target += bytes;
    });
    exchange(ONEBIT_PAYLOAD);
    const std::byte* source = received_.data();
    for_each_other(from, [&](std::byte* data, Index bytes) {
      std::memcpy(data, source, static_cast<std::size_t>(bytes));
      source += bytes;
    });
    bytes_received_ += source - received_.data();
  }

  std::vector<double> all_gather(std::span<const double> own) override {
    const auto count = own.size(), size = static_cast<std::size_t>(ranks_.size);
    send_bytes_.assign(size, static_cast<Index>(own.size_bytes()));
    send_bytes_[static_cast<std::size_t>(rank())] = 0;
    receive_bytes_ = send_bytes_;
    sent_.resize(own.size_bytes() * (size - 1));
    received_.resize(sent_.size());
    for (std::size_t r = 0; r + 1 < size && count > 0; ++r) {
      std::memcpy(sent_.data() + r * own.size_bytes(), own.data(), own.size_bytes());
    }
    exchange(ONEBIT_CONTROL);
    std::vector<double> all(count * size);
    const std::byte* source = received_.data();
    for (std::size_t r = 0; r < size && count > 0; ++r) {
      if (static_cast<Index>(r) == rank()) {
        std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(r * count));
        continue;
      }
      std::memcpy(all.data() + r * count, source, own.size_bytes());
      source += own.size_bytes();
    }
    return all;
  }

 private:
  template <class Use>
  void for_each_other(std::span<const Blocks> blocks, const Use& use) const {
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      if (static_cast<Index>(r) != rank()) for_each_run(blocks[r], use);
    }
  }

  /// Makes a buffer large enough for the blocks of all other ranks, and sets the number of bytes of each.
  void resize(std::vector<std::byte>& buffer, std::span<const Blocks> blocks, std::vector<Index>& bytes) const {
    bytes.assign(blocks.size(), 0);
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      if (static_cast<Index>(r) == rank()) continue;
      for (const Block& block : blocks[r]) bytes[r] += block.bytes();
    }
    buffer.resize(static_cast<std::size_t>(std::accumulate(bytes.begin(), bytes.end(), Index{0})));
  }

  void exchange(int kind) {
    if (ranks_.size == 1) return;
    const int failure = ranks_.exchange(ranks_.context, kind, sent_.data(), send_bytes_.data(), received_.data(),
                                        receive_bytes_.data());
    if (failure != 0) throw Error("the exchange with the other ranks failed", "rank " + std::to_string(rank()));
  }

  onebit_ranks ranks_;
  Index bytes_received_ = 0;
  std::vector<std::byte> sent_, received_;
  std::vector<Index> send_bytes_, receive_bytes_;  ///< [ranks]
};

}  // namespace

device::Shard shard_of(const onebit_ranks& ranks, int threads) {
  if (ranks.size < 1 || ranks.rank < 0 || ranks.rank >= ranks.size || (ranks.size > 1 && ranks.exchange == nullptr)) {
    throw ConfigError("invalid ranks", "rank " + std::to_string(ranks.rank) + " of " + std::to_string(ranks.size),
                      "ranks are numbered from 0, and several ranks need an exchange function");
  }
  device::Shard shard{device::Device::cpu(threads), {}, std::make_shared<CallerCommunicator>(ranks)};
  for (Index rank = 0; rank < ranks.size; ++rank) shard.ranges.push_back({rank, 1});
  return shard;
}

}  // namespace onebit::capi
