#include "experiments/cli/terminal.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "sim/models/external_process.hpp"

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

void print_error(const std::string& text) {
  std::fprintf(stderr, "onebit: error: %s\n", printable(text).c_str());
}

void warn(const std::string& text) {
  std::fprintf(stderr, "onebit: warning: %s\n", printable(text).c_str());
}

void note(const std::string& text) {
  std::fprintf(stderr, "onebit: %s\n", printable(text).c_str());
}

void warn_of(const std::vector<IdleOption>& options) {
  if (!options.empty()) warn(text_of(options));
}

std::string program_version() {
  return ONEBIT_VERSION;
}

void install_stop_handler() {
  sim::stop_waits_if(stop_requested);
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

bool shows_progress(bool requested) {
  return requested || isatty(STDERR_FILENO) == 1;
}

Training training_of(const CommandInput& input, const OutputPolicy& output, bool progress) {
  const bool shown = shows_progress(progress);
  const auto watch = [shown](const std::string& name) -> Watcher::OnStep {
    return [line = std::make_shared<ProgressLine>(name, shown)](const sim::Progress& step) { line->show(step); };
  };
  return {.output = output,
          .origin = {program_version(), ONEBIT_GIT_COMMIT, input.text},
          .watcher = {watch, install_stop_handler, warn, stop_requested}};
}

PriceConfig price_config_of(const Settings& settings) {
  PriceConfig config = make_price_config(settings);
  config.cost_model.on_extended = [told = std::make_shared<std::set<std::string>>()](const std::string& text) {
    if (told->insert(text).second) warn(text);
  };
  return config;
}

void refuse_arguments(const CommandInput& input) {
  if (!input.arguments.empty())
    throw ConfigError("unexpected argument", input.arguments.front(),
                      "this command takes only options, which start with --");
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
