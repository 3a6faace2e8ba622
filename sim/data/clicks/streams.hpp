#pragma once
// Streams of random numbers, one for each purpose of the generators of clicks.

#include "device/math/philox.hpp"

namespace onebit::sim {

/// The key of all random numbers of click data: examples are the same for every seed of a run.
inline constexpr device::RandomKey click_key{0, device::Purpose::data};

/// Values of RandomCounter::step. Numbers below 16 belong to other data. The numbers in this enumeration must never be
/// changed.
enum ClickStream : Index {
  stream_shape = 16,    ///< distribution of a dense feature
  stream_dense = 17,    ///< dense features
  stream_rank = 18,     ///< ranks of the ids
  stream_moved = 19,    ///< which ranks get another id on a day
  stream_shuffle = 20,  ///< the ids that they get
  stream_weight = 21,   ///< teacher: weights of the dense features
  stream_effect = 22,   ///< teacher: effects of ids
  stream_vector = 23,   ///< teacher: vectors of ids
  stream_pair = 24,     ///< teacher: factors of pairs of tables
  stream_label = 25,    ///< labels
  stream_random = 26,   ///< everything in clicks-random
};

}  // namespace onebit::sim
