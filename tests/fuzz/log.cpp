#include <time.h>

#include "sim/log/h5.hpp"
#include "sim/log/reader.hpp"
#include "tests/fuzz/log_variants.hpp"

using namespace onebit;

namespace {

std::size_t number(fuzz::Input& input, int bytes) {
  std::size_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | input.byte();
  return value;
}

template <class Read>
void expect_data_or_error(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    fuzz::require(std::string(error.what()).find('\n') == std::string::npos);
  }
}

struct Rows {
  std::string_view group;
  std::size_t (*read)(const sim::LogReader&);
};

constexpr Rows all_rows[] = {
    {"steps", [](const sim::LogReader& log) { return log.steps().size(); }},
    {"workers", [](const sim::LogReader& log) { return log.workers().size(); }},
    {"tensors", [](const sim::LogReader& log) { return log.tensors().size(); }},
    {"probes", [](const sim::LogReader& log) { return log.probes().size(); }},
    {"evaluations", [](const sim::LogReader& log) { return log.evaluations().size(); }},
    {"events", [](const sim::LogReader& log) { return log.events().size(); }},
    {"traffic", [](const sim::LogReader& log) { return log.traffic().size(); }},
};

/// Reads a log: its header and all rows or, to save time, only one group of rows.
void read_log(const std::string& path, std::size_t choice) {
  const sim::LogReader reader(path);
  const std::size_t one = choice % (std::size(all_rows) + 2);
  const auto chosen = [&](std::size_t each) { return one == 0 || one == each + 1; };
  for (std::size_t i = 0; i < std::size(all_rows); ++i) {
    const Rows& rows = all_rows[i];
    const auto expect_rows = [&] {
      fuzz::require(static_cast<Index>(rows.read(reader)) == reader.committed_rows(rows.group));
    };
    if (chosen(i)) expect_data_or_error(expect_rows);
  }
  if (!chosen(std::size(all_rows))) return;
  for (const std::string& column : reader.unknown_columns()) expect_data_or_error([&] { reader.column(column); });
}

const fuzz::Logs& all_logs() {
  static const fuzz::Logs logs = fuzz::make_logs();
  return logs;
}

}  // namespace

/// HDF5 sleeps between attempts to read a file that a writer may still be changing. Here there is no writer.
extern "C" int nanosleep(const timespec*, timespec*) {
  return 0;
}

/// Changes to a log. Two bytes choose the log and what is read of it. Every next four bytes change one byte: three
/// choose its place, one is the new value. Bytes that are left over cut off the end of the file. No HDF5 object may
/// stay open.
ONEBIT_FUZZ(log, input) {
  const fuzz::Logs& logs = all_logs();
  static fuzz::ScratchFile file;
  if (file.size() == 0) file.write(0, logs.first);
  const std::size_t choice = number(input, 2);
  const fuzz::LogVariant& log = logs.variants[choice % logs.variants.size()];
  fuzz::Changes changes(file);
  log.apply(changes);
  while (input.rest().size() >= 4) {
    const std::size_t place = log.place(number(input, 3));
    const std::uint8_t value = input.byte();
    changes.write(place, {&value, 1});
  }
  if (!input.rest().empty()) changes.resize(log.size * input.byte() / 256);
  expect_data_or_error([&] { read_log(file.path(), choice / logs.variants.size()); });
  fuzz::require(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}
