#include "compress/channels/start_factors.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "device/math/philox.hpp"

namespace onebit::compress {
namespace {

constexpr const char* kSteps = "q_start_steps";

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

StartFactors::StartFactors(const std::vector<Place>& places, const ExchangeConfig& config)
    : warm_(config.up.warm_start), seed_(config.seed) {
  for (const Place& place : places) size_ += place.columns * place.rank;
  if (config.recorded) read(places, *config.recorded, config.dense_steps);
}

void StartFactors::read(const std::vector<Place>& places, const RecordedDraws& draws, Index dense_steps) {
  const std::optional<RecordedArray> steps = find_recorded(draws, kSteps, {-1});
  if (!steps) return;
  for (const double step : steps->values) steps_.push_back(static_cast<Index>(step));
  if (std::find(steps_.begin(), steps_.end(), dense_steps) == steps_.end()) {
    throw ConfigError("no start factors are recorded for the first compressed step",
                      std::string(kSteps) + ", codec.dense-steps " + std::to_string(dense_steps),
                      "use the codec.dense-steps of the recorded run");
  }
  draws_.resize(steps_.size() * at(size_));
  for (const Place& place : places) {
    const std::string name = "q_start_tensor" + std::to_string(place.tensor);
    const std::optional<RecordedArray> own = find_recorded(draws, name, {steps->sizes[0], place.columns, place.rank});
    if (!own)
      throw ConfigError("the recording has no start factors for a tensor", name,
                        "use the codec.min-rate of the recorded run");
    const std::size_t width = at(place.columns * place.rank);
    for (std::size_t draw = 0; draw < steps_.size(); ++draw) {
      for (std::size_t i = 0; i < width; ++i) {
        draws_[draw * at(size_) + at(place.offset) + i] = static_cast<float>(own->values[draw * width + i]);
      }
    }
  }
}

std::vector<float> StartFactors::drawn(Index step) const {
  std::vector<float> values(at(size_));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = device::normal({seed_, device::Purpose::worker_codec}, {step, 0, static_cast<Index>(i)});
  }
  return values;
}

std::vector<float> StartFactors::recorded(std::size_t draw) const {
  const auto begin = draws_.begin() + static_cast<std::ptrdiff_t>(draw * at(size_));
  return {begin, begin + static_cast<std::ptrdiff_t>(size_)};
}

std::vector<float> StartFactors::first() const {
  return steps_.empty() ? drawn(0) : recorded(0);
}

std::optional<std::vector<float>> StartFactors::anew(Index step) const {
  if (steps_.empty()) return warm_ ? std::nullopt : std::optional(drawn(step));
  const auto found = std::find(steps_.begin(), steps_.end(), step - 1);
  if (found != steps_.end()) return recorded(static_cast<std::size_t>(found - steps_.begin()));
  if (warm_) return std::nullopt;
  throw ConfigError("no start factors are recorded for this step",
                    std::string(kSteps) + ", step " + std::to_string(step), "use --codec.warm-start true");
}

}  // namespace onebit::compress
