#include <filesystem>
#include <iostream>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/log_export.hpp"
#include "sim/log/schema.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

struct Options : CommandInput {
  bool csv = false, jsonl = false;
  std::string group, out;
  bool overwrite = false;
};

std::vector<Option<Options>> rows() {
  return {
      flag<Options>("csv", "write comma-separated values, one line per row", ONEBIT_PLACE(csv)),
      flag<Options>("jsonl", "write one JSON object per row", ONEBIT_PLACE(jsonl)),
      named(field<Options>("group", "steps, workers, tensors, probes, evaluations, events or traffic; not given: all",
                           ONEBIT_PLACE(group)),
            [] { return names_of(sim::row_groups()); }),
      out_row<Options>("file, or folder for the tables of several groups", "standard output"),
      overwrite_row<Options>(ONEBIT_PLACE(overwrite))};
}

void check(const Options& options) {
  if (options.arguments.size() != 1) throw ConfigError("export takes one log", "export", "onebit export FILE.h5 --csv");
  if (options.csv == options.jsonl)
    throw ConfigError(options.csv ? "two output formats chosen" : "no output format chosen", "export",
                      "give --csv or --jsonl");
}

std::vector<std::string> chosen_groups(const sim::LogReader& log, const std::string& group) {
  const std::vector<std::string> groups = exported_groups(log);
  if (group.empty()) return groups;
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return {group};
  const std::vector<std::string_view> names(groups.begin(), groups.end());
  throw ConfigError("the log has no such group", log.path() + ": " + group, suggestion(group, names));
}

/// Returns a table and warns about columns that are not exported.
ExportTable table_of(const sim::LogReader& log, const std::string& group) {
  ExportTable table = export_table(log, group);
  for (const std::string& path : columns_left_out(log, table)) {
    warn("an unknown column is not exported, because it holds strings or lists (" + log.path() + ": " + path + ")");
  }
  return table;
}

/// Writes a file. Throws ConfigError if it exists and may not be replaced, and IoError if it cannot be written.
template <class Write>
void write_output(const std::string& path, bool overwrite, const Write& write) {
  files::check_output(path, overwrite);
  check_folder_of(path);
  std::ostringstream text;
  write(text);
  files::write(path, text.str());
}

void write(const ExportTable& table, const Options& options, std::ostream& out) {
  options.csv ? write_csv(table, out) : write_json_lines(table, out);
}

/// Writes one file per group, because each CSV table has its own columns.
void write_folder(const sim::LogReader& log, const std::vector<std::string>& groups, const Options& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (!fs::is_directory(options.out))
    throw ConfigError("cannot create the folder: " + error.message(), options.out, "name another one with -o");
  for (const std::string& group : groups) {
    const std::string path = options.out + "/" + group + ".csv";
    const ExportTable table = table_of(log, group);
    write_output(path, options.overwrite, [&](std::ostream& out) { write(table, options, out); });
    std::cout << path << ": " << table.rows() << " rows\n";
  }
}

int export_log(const Options& options) {
  check(options);
  const sim::LogReader log(options.arguments.front());
  const std::vector<std::string> groups = chosen_groups(log, options.group);
  const bool several = options.csv && groups.size() > 1;
  if (several && options.out.empty()) {
    throw ConfigError("no output folder", "export --csv", "give -o DIR, or one --group " + join(groups, "|"));
  }
  const auto all = [&](std::ostream& out) {
    for (const std::string& group : groups) write(table_of(log, group), options, out);
  };
  if (several) {
    write_folder(log, groups, options);
  } else if (options.out.empty()) {
    all(std::cout);
  } else {
    write_output(options.out, options.overwrite, all);
  }
  return kExitDone;
}

}  // namespace

Command export_command() {
  return make_command(
      {.name = "export",
       .usage = "LOG.h5",
       .doc = "write the committed rows of a run log as CSV or JSON lines",
       .help = {.common = {"csv", "jsonl", "group", "out", "overwrite"},
                .examples = {"onebit export run.h5 --csv --group steps", "onebit export run.h5 --csv -o tables"}}},
      rows(), export_log);
}

}  // namespace onebit::experiments
