#pragma once

#include "compress/channels/exchange_config.hpp"
#include "compress/codecs/recorded_draws.hpp"

namespace onebit::compress {

/// Initial values of PowerSGD's right factors: normal random numbers, drawn once or (without a warm start) for every
/// step, or recorded values. A recording contains the steps, `q_start_steps` [draws], and for each tensor K the factors
/// of these steps, `q_start_tensor<K>` [draws, columns, rank].
class StartFactors {
 public:
  /// The right factor of a matrix: row-major [columns x rank], starting at `offset`.
  struct Place {
    Index tensor = 0, columns = 0, rank = 0, offset = 0;
  };

  /// Throws ConfigError if the recording does not fit or lacks the first compressed step.
  StartFactors(const std::vector<Place>& places, const ExchangeConfig& config);

  /// The factors before the first step.
  std::vector<float> first() const;

  /// Returns the new factors if a step (counted from 1) starts with new ones; empty if it continues with those of the
  /// previous step. Throws ConfigError if every step needs new factors and this step was not recorded.
  std::optional<std::vector<float>> anew(Index step) const;

 private:
  std::vector<float> drawn(Index step) const;
  std::vector<float> recorded(std::size_t draw) const;
  void read(const std::vector<Place>& places, const RecordedDraws& draws, Index dense_steps);

  Index size_ = 0;
  bool warm_;
  std::uint32_t seed_;
  std::vector<Index> steps_;  ///< recorded steps, counted from 0
  std::vector<float> draws_;  ///< recorded: [steps_][size]
};

}  // namespace onebit::compress
