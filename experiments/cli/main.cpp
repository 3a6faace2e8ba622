// The program `onebit`: finds the command and turns errors into one line and an exit status.

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/cli/help.hpp"
#include "experiments/cli/printable_output.hpp"
#include "experiments/cli/ranks.hpp"
#include "experiments/cli/reader_process.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/cli/waiting.hpp"
#include "experiments/commands/commands.hpp"

namespace onebit::experiments {
namespace {

const Command& find_command(const std::vector<Command>& all, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : all) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  if (name.starts_with("-"))
    throw ConfigError("the command is missing", name, "write onebit COMMAND [options]; 'onebit --help' lists commands");
  throw ConfigError("unknown command", "'" + name + "'", suggestion(name, names) + " ('onebit --help' lists all)");
}

/// Runs a command. If --ranks asks for several processes and mpirun has not started them yet, starts them instead.
/// Returns the exit status.
int run_over_ranks(const ParsedCommand& parsed, const std::function<int()>& run,
                   const std::vector<std::string>& arguments) {
  if (parsed.ranks < 1 || parsed.ranks > 1024)
    throw ConfigError("option out of range", "ranks " + std::to_string(parsed.ranks), "from 1 to 1024");
  const Index started = device::mpi_environment().size;
  if (parsed.ranks > 1 && started == 1) return run_ranks(parsed.ranks, arguments);
  if (parsed.ranks > 1 && parsed.ranks != started)
    throw ConfigError("--ranks differs from the number of processes that mpirun started", "ranks", "leave out --ranks");
  return run();
}

int dispatch(const std::vector<Command>& all, const std::vector<std::string>& arguments) {
  constexpr std::string_view helps[] = {"--help", "-h", "--help-all", "help"};
  const bool asks_help = !arguments.empty() && std::ranges::count(helps, arguments[0]) > 0;
  if (asks_help && arguments.size() > 1) {  // help COMMAND
    std::cout << short_help(find_command(all, arguments[1]));
    return kExitDone;
  }
  if (asks_help || arguments.empty()) {
    std::cout << program_help(all, program_version());
    return arguments.empty() ? kExitUsage : kExitDone;
  }
  if (arguments[0] == "--version") {
    std::cout << "onebit " << program_version() << "\n";
    return kExitDone;
  }
  const Command& command = find_command(all, arguments[0]);
  const ParsedCommand parsed = parse_command_line(command, all, {arguments.begin() + 1, arguments.end()});
  if (parsed.help) {
    std::cout << (parsed.help_all ? full_help(command) : short_help(command));
    return kExitDone;
  }
  return run_over_ranks(parsed, command.bind(parsed), arguments);
}

/// Returns the processes in which the command runs.
std::shared_ptr<device::ProcessGroup> process_group_of(const std::vector<Command>& all,
                                                       const std::vector<std::string>& arguments) {
  if (device::mpi_environment().size == 1) return device::single_process();
  for (const Command& command : all) {
    if (arguments.empty() || arguments[0] != command.name || command.accepts.ranks) continue;
    throw ConfigError("mpirun started several processes, but this command runs in a single one", arguments[0],
                      "start it without mpirun; under Slurm use srun --mpi=none");
  }
  return device::processes();
}

/// Prints an error. An error of one rank is thrown in all ranks, so only rank 0 prints it.
int fail(const std::exception& error, int status) {
  if (device::mpi_environment().rank == 0) print_error(error.what());
  return status;
}

/// Returns a file-system error in the form of all other errors.
IoError readable(const std::filesystem::filesystem_error& error) {
  std::string paths = error.path1().string();
  if (!error.path2().empty()) paths.append(" and ").append(error.path2().string());
  return IoError("file operation failed: " + error.code().message(), paths,
                 "check its name, and the permissions of its folder");
}

/// Opens /dev/null for standard streams that are closed. Otherwise a log could get the file descriptor of such a
/// stream, and everything that the program prints would go into the log.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) std::abort();
  }
}

/// Environment variable with the process id of the parent, if this program is to end when the parent ends. The Python
/// package sets it.
constexpr const char* kEndsWithVariable = "ONEBIT_ENDS_WITH";

/// If the environment names the parent, requests a stop, as SIGTERM does, when the parent, or the parent's thread that
/// waits for this program, ends. A parent that started this program through another one is not watched.
void end_with_parent() {
  const char* named = std::getenv(kEndsWithVariable);
  if (named == nullptr) return;
  const pid_t parent = std::atoi(named);
  unsetenv(kEndsWithVariable);       // the children of this program have another parent
  std::signal(SIGPIPE, [](int) {});  // a run completes its log even if nobody reads its messages any more
  if (getppid() != parent) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) std::raise(SIGTERM);  // the parent ended before that call
}

bool is_over = false;  // whether main() is about to return

/// HDF5 calls exit() if it gets no memory for an identifier. Without this, the program would end without a message.
void report_exit_of_library() {
  if (!is_over) std::cerr << "onebit: error: a library has ended the program; memory may have run out\n";
}

int run_program(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::vector<Command> all = commands();
    int status = kExitDone;
    process_group_of(all, arguments)->run([&] {
      status = dispatch(all, arguments);
      if (!std::cout.flush()) throw IoError("cannot write to standard output", "");
    });
    return status;
  } catch (const ConfigError& error) {
    return fail(error, kExitUsage);
  } catch (const StopError& error) {
    return fail(error, kExitStopped);
  } catch (const std::bad_alloc&) {
    return fail(Error("out of memory", "", "use fewer workers, a smaller model or a smaller --worker-group"),
                kExitFailed);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(readable(error), kExitFailed);
  } catch (const std::exception& error) {
    return fail(error, kExitFailed);
  }
}

}  // namespace
}  // namespace onebit::experiments

int main(int argc, char** argv) {
  using namespace onebit::experiments;
  open_standard_streams();
  if (is_reader(argc, argv)) return read_for_parent(argv);
  std::atexit(report_exit_of_library);
  wait_briefly(argv);
  const PrintableOutput output;
  std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide the end of child processes
  std::signal(SIGINT, SIG_DFL);   // shells make background jobs ignore it, but this program must react to it
  end_with_parent();
  check_files_in_readers();
  const int status = run_program(argc, argv);
  is_over = true;
  return status;
}
