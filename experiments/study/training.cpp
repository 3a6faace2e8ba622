#include "experiments/study/training.hpp"

#include <filesystem>

#include "device/base/error.hpp"
#include "sim/log/compact.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::experiments {
namespace {

sim::RunIdentity identity_of(const sim::RunConfig& config, const Origin& origin) {
  return {.program_version = origin.program_version,
          .git_commit = origin.git_commit,
          .command_line = origin.command_line,
          .options = values_of(config)};
}

void compress_finished(const sim::RunResult& result, const sim::RunConfig& config, const std::string& path) {
  if (result.status == sim::RunStatus::finished && config.log.compression > 0)
    sim::compress_log(path, static_cast<int>(config.log.compression));
}

}  // namespace

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path))
    throw ConfigError("cannot create output folder: " + (error ? error.message() : std::string("it is not a folder")),
                      path, "name another one with -o");
}

sim::RunResult branch_and_log(sim::VirtualCluster& cluster, const sim::RunConfig& config, const std::string& path,
                              const Training& training, const std::string& name, const sim::LogReader& parent) {
  const sim::RunControl control{.on_step = training.watcher.watch(name),
                                .stop_requested = training.watcher.stop_requested};
  const sim::RunResult result =
      sim::branch(cluster, config, path, identity_of(config, training.origin), control, parent);
  compress_finished(result, config, path);
  return result;
}

TrainedRun run_and_log(const sim::PreparedRun& run, const std::string& path, sim::Existing existing,
                       const Training& training, const std::string& name, const std::function<void()>& on_log_open) {
  const Watcher& watcher = training.watcher;
  const std::string& weights_out = training.output.weights_out;
  sim::VirtualCluster cluster = run.start();
  // Weights of an earlier run must not be mistaken for those of this one.
  const auto begin = [&] {
    if (!weights_out.empty()) std::filesystem::remove(weights_out);
    on_log_open();
  };
  const sim::RunControl control{.memory_plan = run.plan.text(),
                                .on_start = begin,
                                .on_warning = watcher.on_warning,
                                .on_step = cluster.is_root() ? watcher.watch(name) : Watcher().watch(name),
                                .stop_requested = watcher.stop_requested};
  TrainedRun trained{sim::train(cluster, run.config, path, existing, identity_of(run.config, training.origin), control),
                     {}};
  const sim::RunStatus status = trained.result.status;
  const bool complete = status == sim::RunStatus::finished || status == sim::RunStatus::stopped;
  if (complete && !weights_out.empty()) {
    const std::vector<float> weights = cluster.final_weights();
    sim::Model& model = *cluster.replicas().front().model;
    if (cluster.is_root()) sim::write_weights(weights_out, model.all_tensors(), weights, model.owned_weights());
  }
  if (cluster.is_root()) compress_finished(trained.result, run.config, path);
  trained.shares = cluster.shares();
  return trained;
}

sim::RunResult completed(const std::string& log, const sim::RunConfig& config) {
  sim::remove_left_part(log);
  sim::prune_checkpoints(log, config.checkpoint.keep);
  const sim::LogReader reader(log);
  return {reader.status(), sim::reason_of_end(reader.events())};
}

}  // namespace onebit::experiments
