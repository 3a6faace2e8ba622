#include "experiments/study/export.hpp"

#include <filesystem>
#include <iostream>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

void check(const CommandLine& line) {
  if (line.arguments.size() != 1)
    throw ConfigError("one log is exported at a time", "export", "onebit export FILE.h5 --csv");
  if (line.csv == line.jsonl)
    throw ConfigError(line.csv ? "two forms chosen" : "no form chosen", "export", "give --csv or --jsonl");
}

std::vector<std::string> chosen_groups(const sim::LogReader& log, const std::string& group) {
  const std::vector<std::string> groups = exported_groups(log);
  if (group.empty()) return groups;
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return {group};
  const std::vector<std::string_view> names(groups.begin(), groups.end());
  throw ConfigError("the log has no such group", log.path() + ": " + group, suggestion(group, names));
}

/// Returns a table and warns of columns that are not exported.
ExportTable table_of(const sim::LogReader& log, const std::string& group) {
  ExportTable table = export_table(log, group);
  for (const std::string& path : columns_left_out(log, table)) {
    warn("column is not exported: texts or lists that this version does not know (" + log.path() + ": " + path + ")");
  }
  return table;
}

/// Writes a file. Throws ConfigError where a file exists that may not be replaced, and IoError.
template <class Write>
void write_output(const std::string& path, bool overwrite, const Write& write) {
  files::check_output(path, overwrite);
  std::ostringstream text;
  write(text);
  files::write(path, text.str());
}

void write(const ExportTable& table, const CommandLine& line, std::ostream& out) {
  line.csv ? write_csv(table, out) : write_json_lines(table, out);
}

/// Writes one file per group, because each CSV table has its own columns.
void write_folder(const sim::LogReader& log, const std::vector<std::string>& groups, const CommandLine& line) {
  std::error_code error;
  fs::create_directories(line.out, error);
  if (error) throw ConfigError("cannot create the folder: " + error.message(), line.out);
  for (const std::string& group : groups) {
    const std::string path = line.out + "/" + group + ".csv";
    const ExportTable table = table_of(log, group);
    write_output(path, line.overwrite, [&](std::ostream& out) { write(table, line, out); });
    std::cout << path << ": " << table.rows() << " rows\n";
  }
}

}  // namespace

int export_command(const CommandLine& line) {
  check(line);
  const sim::LogReader log(line.arguments.front());
  const std::vector<std::string> groups = chosen_groups(log, line.group);
  const bool several = line.csv && groups.size() > 1;
  if (several && line.out.empty()) {
    throw ConfigError("no output folder", "export --csv", "give -o DIR, or one --group " + join(groups, "|"));
  }
  const auto all = [&](std::ostream& out) {
    for (const std::string& group : groups) write(table_of(log, group), line, out);
  };
  if (several) {
    write_folder(log, groups, line);
  } else if (line.out.empty()) {
    all(std::cout);
  } else {
    write_output(line.out, line.overwrite, all);
  }
  return kExitDone;
}

}  // namespace onebit::experiments
