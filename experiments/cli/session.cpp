#include "experiments/cli/session.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "sim/log/compact.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::experiments {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int) {
  stop_flag.store(true);
}

/// A progress line on stderr that overwrites itself, at most ten times a second.
class ProgressLine {
 public:
  ProgressLine(std::string label, bool shown) : label_(std::move(label)), shown_(shown) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  void show(const sim::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || (now - last_ < std::chrono::milliseconds(100) && progress.step != progress.steps)) return;
    last_ = now;
    const std::chrono::duration<double> elapsed = now - start_;
    const double share = static_cast<double>(progress.step) / static_cast<double>(progress.steps);
    std::string bar(20, '.');
    bar.replace(0, static_cast<std::size_t>(share * 20), static_cast<std::size_t>(share * 20), '#');
    std::fprintf(stderr, "\r\033[K%s [%s] %ld/%ld  loss %.4f  %.0f samples/s  ETA %.0f s", label_.c_str(), bar.c_str(),
                 static_cast<long>(progress.step), static_cast<long>(progress.steps), progress.loss,
                 progress.samples_per_second, elapsed.count() * (1 - share) / share);
    std::fflush(stderr);
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::string label_;
  bool shown_;
  Time start_ = std::chrono::steady_clock::now();
  Time last_ = {};
};

}  // namespace

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path))
    throw ConfigError("cannot create output folder", path, error ? error.message() : "");
}

void warn(const std::string& text) {
  std::fprintf(stderr, "onebit: warning: %s\n", text.c_str());
}

std::string program_version() {
  return ONEBIT_VERSION;
}

void install_stop_handler() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  sigaction(SIGTERM, &action, nullptr);  // schedulers send it to every process of a job, and sweeps pass it on
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  action.sa_flags = 0;
  if (device::mpi_environment().size > 1) sigaction(SIGUSR1, &action, nullptr);
}

bool stop_requested() {
  return stop_flag.load();
}

namespace {

sim::RunIdentity identity_of(const sim::RunConfig& config, const CommandLine& line) {
  return {.program_version = program_version(),
          .git_commit = ONEBIT_GIT_COMMIT,
          .command_line = line.text,
          .options = values_of(config)};
}

bool shows_progress(const CommandLine& line) {
  return line.progress || isatty(STDERR_FILENO) == 1;
}

void compress_finished(const sim::RunResult& result, const sim::RunConfig& config, const std::string& path) {
  if (result.status == sim::RunStatus::finished && config.log.compression > 0)
    sim::compress_log(path, static_cast<int>(config.log.compression));
}

}  // namespace

sim::RunResult branch_and_log(sim::VirtualCluster& cluster, const sim::RunConfig& config, const std::string& path,
                              const CommandLine& line, const std::string& label, const sim::LogReader& parent) {
  ProgressLine progress(label, shows_progress(line));
  const sim::RunControl control{.on_step = [&](const sim::Progress& step) { progress.show(step); },
                                .stop_requested = stop_requested};
  const sim::RunResult result = sim::branch(cluster, config, path, identity_of(config, line), control, parent);
  compress_finished(result, config, path);
  return result;
}

Session run_and_log(const sim::PreparedRun& run, const std::string& path, sim::Existing existing,
                    const CommandLine& line, const std::string& label, const std::function<void()>& on_start) {
  sim::VirtualCluster cluster = run.start();
  ProgressLine progress(label, cluster.is_root() && shows_progress(line));
  // Weights of an earlier run must not be mistaken for those of this one.
  const auto begin = [&] {
    if (!line.weights_out.empty()) std::filesystem::remove(line.weights_out);
    on_start();
  };
  const sim::RunControl control{.memory_plan = run.plan.text(),
                                .on_start = begin,
                                .on_warning = warn,
                                .on_step = [&](const sim::Progress& step) { progress.show(step); },
                                .stop_requested = stop_requested};
  Session session{sim::train(cluster, run.config, path, existing, identity_of(run.config, line), control), {}};
  const sim::RunStatus status = session.result.status;
  const bool complete = status == sim::RunStatus::finished || status == sim::RunStatus::stopped;
  if (complete && !line.weights_out.empty()) {
    const std::vector<float> weights = cluster.final_weights();
    if (cluster.is_root()) sim::write_weights(line.weights_out, cluster.model().tensors(), weights);
  }
  if (cluster.is_root()) compress_finished(session.result, run.config, path);
  session.shares = cluster.shares();
  return session;
}

sim::RunResult result_of(const std::string& log) {
  const sim::LogReader reader(log);
  return {reader.status(), sim::reason_of_end(reader.events())};
}

int exit_status(sim::RunStatus status) {
  switch (status) {
    case sim::RunStatus::finished:
      return kExitDone;
    case sim::RunStatus::stopped:
      return kExitStopped;
    default:
      return kExitFailed;
  }
}

}  // namespace onebit::experiments
