#include "experiments/cli/terminal.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/cli/window.hpp"
#include "experiments/output/screen.hpp"
#include "sim/models/external_process.hpp"

namespace onebit::experiments {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int) {
  stop_flag.store(true);
}

/// Handles Ctrl-C. Only functions that are safe in a signal handler may be called.
extern "C" void request_stop_at_terminal(int) {
  constexpr std::string_view text = "\r\x1b[Konebit: stopping; Ctrl-C again kills it\n";
  stop_flag.store(true);
  const int before = errno;
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  errno = before;
}

constexpr std::size_t kBar = 10;     // characters
constexpr std::size_t kHanging = 2;  // blanks before the second and further lines of a notice

std::string bar_of(double share) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBar));
  return "[" + std::string(full, '#') + std::string(kBar - full, '.') + "]";
}

/// Returns a rate with three digits, such as "950" or "21.2k".
std::string rate_text(double rate) {
  if (rate >= 999.5e3) return number(rate / 1e6, 3) + "M";
  return rate >= 999.5 ? number(rate / 1e3, 3) + "k" : number(rate, 3);
}

std::vector<ProgressPart> parts_of(const std::string& name, const sim::Progress& progress, const Pace& pace) {
  const double share = static_cast<double>(progress.step) / static_cast<double>(progress.steps);
  const double rate = pace.rate() * static_cast<double>(progress.samples);
  const std::string left = std::isnan(pace.seconds_left()) ? "" : "ETA " + clock_text(pace.seconds_left());
  return {{name, 2},
          {bar_of(share), 4},
          {std::to_string(progress.step) + "/" + std::to_string(progress.steps), 0},
          {"loss " + number(progress.loss), 3},
          {std::isnan(rate) ? "" : rate_text(rate) + " samples/s", 5},
          {left, 1}};
}

/// Prints a text on stderr: on a terminal in lines of its width, elsewhere as one line. word: the beginning of the
/// text.
void print_notice(const std::string& word, Tone tone, const std::string& text) {
  const std::string start = "onebit: " + word;
  const std::vector<std::string> lines = wrapped(start + printable(text), window_columns(STDERR_FILENO), kHanging);
  clear_progress();
  std::string shown = join(lines, "\n");
  if (tone != Tone::plain && has_colours(STDERR_FILENO) && shown.starts_with(start)) {
    shown = "onebit: ";
    shown.append(sequence_of(tone)).append(word).append(sequence_of(Tone::plain));
    shown.append(join(lines, "\n").substr(start.size()));
  }
  std::fprintf(stderr, "%s\n", shown.c_str());
}

}  // namespace

void print_error(const std::string& text) {
  print_notice("error", Tone::bad, ": " + text);
}

void warn(const std::string& text) {
  print_notice("warning", Tone::warning, ": " + text);
}

void say(const std::string& text) {
  print_notice("", Tone::plain, text);
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
  if (isatty(STDERR_FILENO) == 1 && device::mpi_environment().rank == 0) action.sa_handler = request_stop_at_terminal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = request_stop;
  action.sa_flags = 0;
  if (device::mpi_environment().size > 1) sigaction(SIGUSR1, &action, nullptr);
}

bool stop_requested() {
  return stop_flag.load();
}

Training training_of(const CommandInput& input, const OutputPolicy& output, bool progress) {
  const auto watch = [progress](const std::string& name) -> Watcher::OnStep {
    return [name, line = std::make_shared<ProgressLine>(progress)](const sim::Progress& step) {
      line->show(step.step, step.steps, [&](const Pace& pace) { return parts_of(name, step, pace); });
    };
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
                      "this command takes only options, which start with --; -o names its output");
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
