#pragma once
// Stages of a step on two streams, the GPU and the network, and the path of stages that decides how long the step
// takes.

#include <string>
#include <vector>

#include "netmodel/wire/units.hpp"

namespace onebit::netmodel {

/// What a stage does. The last two use the network, all others the GPU.
enum class StageKind { forward, backward, codec, update, model_parallel, data_parallel };

inline bool uses_network(StageKind kind) {
  return kind == StageKind::model_parallel || kind == StageKind::data_parallel;
}

struct Stage {
  std::string name;
  StageKind kind = StageKind::forward;
  Seconds time{};
  std::vector<std::string> after = {};  ///< names of the stages that it waits for; absent stages count as finished
  // Set by Streams::run
  Seconds begin{};        ///< time from the start of the step
  Seconds hidden{};       ///< for a stage on the network: time during which the GPU works
  bool critical = false;  ///< whether the step would be shorter if this stage were

  Seconds end() const { return begin + time; }
};

/// The stages of a step. Each stream runs its stages one after the other, in the order in which they were added.
class Streams {
 public:
  /// Adds a stage, unless it takes no time.
  void add(Stage stage);

  /// Lets every stage begin as soon as its stream is free and the stages that it waits for are over. A stage must be
  /// added after all stages that it waits for. `serial`: whether every stage waits for all earlier ones, so that
  /// nothing overlaps.
  void run(bool serial);

  const std::vector<Stage>& stages() const { return stages_; }
  Seconds end() const { return end_; }
  /// Returns the time of all stages of a kind, and the part of it during which the GPU waits.
  Seconds total(StageKind kind) const;
  Seconds waiting(StageKind kind) const;

 private:
  Seconds hidden_time(const Stage& stage) const;

  std::vector<Stage> stages_;
  Seconds end_;
};

}  // namespace onebit::netmodel
