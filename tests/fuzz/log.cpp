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

void read_everything(const std::string& path) {
  const sim::LogReader reader(path);
  const auto rows = [&](std::string_view group, const auto& read) {
    expect_data_or_error([&] { fuzz::require(static_cast<Index>(read().size()) == reader.committed_rows(group)); });
  };
  rows("steps", [&] { return reader.steps(); });
  rows("evaluations", [&] { return reader.evaluations(); });
  rows("events", [&] { return reader.events(); });
  rows("traffic", [&] { return reader.traffic(); });
  if (reader.header().per_worker) rows("workers", [&] { return reader.workers(); });
  if (reader.header().per_tensor) rows("tensors", [&] { return reader.tensors(); });
  for (const std::string& column : reader.unknown_columns()) expect_data_or_error([&] { reader.column(column); });
}

const fuzz::Logs& all_logs() {
  static const fuzz::Logs logs = fuzz::make_logs();
  return logs;
}

}  // namespace

/// Before any input is timed.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  all_logs();
  return 0;
}

/// Changes to a log: two bytes say which; then three bytes say where and one what; what is left over cuts its end off.
/// Nothing of HDF5 is left open.
ONEBIT_FUZZ(input) {
  const fuzz::Logs& logs = all_logs();
  static fuzz::ScratchFile file;
  if (file.size() == 0) file.write(0, logs.first);
  const fuzz::LogVariant& log = logs.variants[number(input, 2) % logs.variants.size()];
  fuzz::Changes changes(file);
  log.apply(changes);
  while (input.rest().size() >= 4) {
    const std::size_t place = log.place(number(input, 3));
    const std::uint8_t value = input.byte();
    changes.write(place, {&value, 1});
  }
  if (!input.rest().empty()) changes.resize(log.size * input.byte() / 256);
  expect_data_or_error([&] { read_everything(file.path()); });
  fuzz::require(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}
