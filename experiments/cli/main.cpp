// The program `onebit`: finds the command and turns errors into one line and an exit status.

#include <algorithm>
#include <csignal>
#include <iostream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/cli/ranks.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/cli/waiting.hpp"
#include "experiments/commands/commands.hpp"

namespace onebit::experiments {
namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run",
       "",
       "train once and log",
       {"out", "weights-out", "config", "preset", "deepspeed-config", "json", "dry-run", "overwrite", "resume",
        "resume.allow", "progress", "ranks"},
       true,
       Accepted::Price::none,
       run_command,
       true},
      {"compare",
       "",
       "train several arms on the same data and initial weights: table and pictures",
       {"out", "config", "preset", "deepspeed-config", "optimizers", "arm", "seeds", "margin", "json", "dry-run",
        "overwrite", "resume", "resume.allow", "progress"},
       true,
       Accepted::Price::of_runs,
       compare_command},
      {"sweep",
       "",
       "train a grid of runs, each a process of its own: resumes, retries, several machines",
       {"out",    "config",       "preset", "deepspeed-config", "optimizers", "arm",     "seeds",      "axis",
        "zip",    "skip",         "tune",   "tune-points",      "jobs",       "retries", "time-limit", "shard",
        "extend", "retry-failed", "json",   "dry-run",          "progress"},
       true,
       Accepted::Price::none,
       sweep_command},
      {"replay",
       "TRACE.h5",
       "run an optimizer on recorded gradients",
       {"out", "config", "preset", "reference", "penalty", "json", "overwrite"},
       true,
       Accepted::Price::none,
       replay_command},
      {"bench",
       "kernels|step|scaling|price|mpi",
       "measure kernels against the copy bandwidth, a step against its floor, steps of more and more workers, "
       "estimates, or the collectives of MPI",
       {"out", "config", "preset", "json", "elements", "rounds", "sweep", "global-batch", "overwrite", "ranks"},
       true,
       Accepted::Price::none,
       bench_command,
       true},
      {"price",
       "[LOG.h5]",
       "what a step of a workload takes on clusters, dense and compressed, and from which bandwidth on it pays",
       {"config", "json", "out"},
       true,
       Accepted::Price::all,
       price_command},
      {"list",
       "[WHAT...]",
       "what there is: optimizers, codecs, models, data, clusters, ...",
       {"json"},
       false,
       Accepted::Price::none,
       list_command},
      {"analyze",
       "LOG.h5|DIR...",
       "what a log says of variance, theory and what went wrong; several logs: arms compared over their seeds",
       {"lags", "thresholds", "fit", "baseline", "margin", "target", "json", "validate", "seeds", "out", "overwrite",
        "config", "preset", "progress", "freeze-at", "measure", "reference", "arm", "resume"},
       true,
       Accepted::Price::of_runs,
       analyze_command},
      {"freeze",
       "",
       "after how many steps the variance may be frozen, what that costs and what it saves: it tries, and judges",
       {"out", "config", "preset", "seeds", "margin", "measure", "reference", "target", "arm", "json", "overwrite",
        "resume", "progress"},
       true,
       Accepted::Price::of_runs,
       freeze_command},
      {"report",
       "LOG.h5|DIR...",
       "one page of many logs: arms, verdicts, curves, variance, network, theory, how to repeat it",
       {"baseline", "margin", "target", "out", "overwrite", "csv", "png"},
       false,
       Accepted::Price::of_runs,
       report_command},
      {"inspect",
       "LOG.h5...",
       "show what a run log holds, also of a live or killed run",
       {"json"},
       false,
       Accepted::Price::none,
       inspect_command},
      {"export",
       "LOG.h5",
       "the committed rows of a run log as CSV or JSON lines",
       {"csv", "jsonl", "group", "out", "overwrite"},
       false,
       Accepted::Price::none,
       export_command},
      {"verify",
       "[TRACE.h5...]",
       "whether this build on this machine gives the recorded numbers: of a preset, and of golden traces",
       {"out", "preset", "config", "optimizers", "arm", "seeds", "json", "overwrite", "progress"},
       true,
       Accepted::Price::none,
       verify_command,
       false,
       "verify"},
  };
  return table;
}

void print_help() {
  std::cout << "onebit " << program_version() << ": a laboratory for communication-compressed training\n\n"
            << "usage: onebit COMMAND [options]\n\n";
  for (const Command& command : commands()) {
    std::cout << "  " << command.name << std::string(10 - command.name.size(), ' ') << command.doc << "\n";
  }
  std::cout << "\n'onebit COMMAND --help' lists the command's options.\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw ConfigError("unknown command", name, suggestion(name, names) + ", or 'onebit --help'");
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? kExitUsage : kExitDone;
  }
  if (arguments[0] == "--version") {
    std::cout << "onebit " << program_version() << "\n";
    return kExitDone;
  }
  const Command& command = find_command(arguments[0]);
  const Accepted accepted{command.extras, command.takes_run_options, command.price_options,
                          std::string(command.preset)};
  const CommandLine line = parse_command_line(arguments[0], {arguments.begin() + 1, arguments.end()}, accepted);
  if (line.help) {
    std::cout << "usage: onebit " << command.name << " " << command.usage << " [options]\n"
              << command.doc << "\n\n"
              << options_help(accepted);
    return kExitDone;
  }
  if (line.ranks < 1 || line.ranks > 1024)
    throw ConfigError("option out of range", "ranks " + std::to_string(line.ranks), "from 1 to 1024");
  const Index started = device::mpi_environment().size;
  if (line.ranks > 1 && started == 1) return run_ranks(line.ranks, arguments);
  if (line.ranks > 1 && line.ranks != started) {
    throw ConfigError("mpirun has started another number of ranks", "ranks", "leave the option out");
  }
  return command.run(line);
}

/// Returns the processes in which the command runs.
std::shared_ptr<device::ProcessGroup> process_group_of(const std::vector<std::string>& arguments) {
  if (device::mpi_environment().size == 1) return device::single_process();
  for (const Command& command : commands()) {
    if (arguments.empty() || arguments[0] != command.name || command.over_ranks) continue;
    throw ConfigError("mpirun has started several processes of a command that runs in one", arguments[0],
                      "leave mpirun out; under Slurm: srun --mpi=none");
  }
  return device::processes();
}

/// Control characters in user input must not break the promise of one-line errors.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

/// Prints an error. An error of one rank is thrown in all, so only rank 0 prints it.
int fail(const std::exception& error, int status) {
  if (device::mpi_environment().rank > 0) return status;
  std::cerr << "onebit: error: " << one_line(error.what()) << "\n";
  return status;
}

}  // namespace
}  // namespace onebit::experiments

int main(int argc, char** argv) {
  using namespace onebit::experiments;
  wait_briefly(argv);
  std::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, ends of children would go unnoticed
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    int status = kExitDone;
    process_group_of(arguments)->run([&] {
      status = dispatch(arguments);
      if (!std::cout.flush()) throw onebit::IoError("cannot write to standard output", "");
    });
    return status;
  } catch (const onebit::ConfigError& error) {
    return fail(error, kExitUsage);
  } catch (const std::bad_alloc&) {
    return fail(onebit::Error("out of memory", "", "fewer workers, a smaller model, or --worker-group"), kExitFailed);
  } catch (const std::exception& error) {
    return fail(error, kExitFailed);
  }
}
