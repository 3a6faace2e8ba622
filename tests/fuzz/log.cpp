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

void read_everything(const std::string& path) {
  try {
    const sim::LogReader reader(path);
    const auto rows = [&](const auto& list, std::string_view group) {
      fuzz::require(static_cast<Index>(list.size()) == reader.committed_rows(group));
    };
    rows(reader.steps(), "steps");
    rows(reader.evaluations(), "evaluations");
    rows(reader.events(), "events");
    rows(reader.traffic(), "traffic");
    if (reader.header().per_worker) rows(reader.workers(), "workers");
    if (reader.header().per_tensor) rows(reader.tensors(), "tensors");
    for (const std::string& column : reader.unknown_columns()) reader.column(column);
  } catch (const IoError& error) {
    fuzz::require(std::string(error.what()).find('\n') == std::string::npos);
  }
}

}  // namespace

/// Changes to a log: two bytes say which; then three bytes say where and one what; what is left over cuts its end off.
/// Nothing of HDF5 is left open.
ONEBIT_FUZZ(input) {
  static const fuzz::Logs logs = fuzz::make_logs();
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
  read_everything(file.path());
  fuzz::require(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}
