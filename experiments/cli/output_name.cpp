#include "experiments/cli/output_name.hpp"

#include <ctime>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"

namespace onebit::experiments {
namespace {

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

}  // namespace

std::string made_up_name(const std::string& stem, const std::string& suffix, const std::string& existing) {
  if (!existing.empty())
    throw ConfigError("no output named", stem + " " + existing,
                      "name it with -o; without a name, the command would make a new output");
  if (device::mpi_environment().size > 1)
    throw ConfigError("no output named", stem + " with several processes",
                      "name it with -o, because each process would choose its own name");
  const std::string name = stem + "-" + local_time();
  std::string free = name + suffix;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(free)); ++number)
    free = name + "-" + std::to_string(number) + suffix;
  return free;
}

void tell_made_up_name(const CommandInput& input, const std::string& out) {
  if (input.made_up_name) std::cerr << "onebit: the output is " << out << "; -o gives it another name\n";
}

void check_folder_of(const std::string& path) {
  if (path.ends_with('/')) throw ConfigError("the output has the name of a folder", path, "name a file in it");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;  // if a folder cannot be read, writing will say why
  if (folder.empty() || std::filesystem::is_directory(folder, error) || error == std::errc::permission_denied) return;
  const bool other = std::filesystem::exists(folder, error);
  if (other) throw ConfigError("the output's folder is a file", path, "name an output in a folder");
  throw ConfigError("no such folder", folder.string(), "make it, or name an output in another one");
}

std::string command_again(const CommandInput& input, const std::string& out, const std::string& flag) {
  std::string text = "onebit";
  for (const std::string& word : input.words) {
    if (word != "--overwrite" && word != flag) text.append(" ").append(shell_word(word));
  }
  if (input.made_up_name) text.append(" -o ").append(shell_word(out));
  return flag.empty() ? text : text.append(" ").append(flag);
}

void tell_how_to_continue(const CommandInput& input, const std::string& out, const std::string& flag) {
  std::cerr << "onebit: stopped; to continue: " << printable(command_again(input, out, flag)) << "\n";
}

}  // namespace onebit::experiments
