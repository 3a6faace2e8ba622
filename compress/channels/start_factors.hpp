#pragma once

#include "compress/channels/exchange_config.hpp"
#include "compress/codecs/recorded_draws.hpp"

namespace onebit::compress {

/// What PowerSGD's right factors start from: normal random numbers, drawn once or, without a warm start, for every
/// step; or recorded ones, `q_start_tensor<K>` [draws, columns, rank] of tensor K for `q_start_steps` [draws].
class StartFactors {
 public:
  /// The right factor of a matrix: row-major [columns x rank] from `offset` on.
  struct Place {
    Index tensor = 0, columns = 0, rank = 0, offset = 0;
  };

  /// Throws ConfigError where what was recorded does not fit, or not the first step that is compressed.
  StartFactors(const std::vector<Place>& places, const ExchangeConfig& config);

  /// Before the first step.
  std::vector<float> first() const;

  /// The factors with which a step, from 1 on, starts anew; none where it goes on with those of the last one. Throws
  /// ConfigError where every step starts anew and this one was not recorded.
  std::optional<std::vector<float>> anew(Index step) const;

 private:
  std::vector<float> drawn(Index step) const;
  std::vector<float> recorded(std::size_t draw) const;
  void read(const std::vector<Place>& places, const RecordedDraws& draws, Index dense_steps);

  Index size_ = 0;
  bool warm_;
  std::uint32_t seed_;
  std::vector<Index> steps_;  ///< recorded, from 0 on
  std::vector<float> draws_;  ///< recorded: [steps_][size]
};

}  // namespace onebit::compress
