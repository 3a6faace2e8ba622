#include "sim/log/reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "device/base/error.hpp"
#include "sim/log/superblock.hpp"
#include "sim/log/types.hpp"
#include "sim/models/constant_names.hpp"

namespace onebit::sim {
namespace {

std::string root_text(const h5::Object& file, const char* name) {
  return h5::text_attribute(file, name);
}

void check_format(const h5::Object& file) {
  const std::string& path = file.where.file;
  const auto names = h5::attribute_names(file);
  const bool known = std::ranges::count(names, "format") != 0 && root_text(file, "format") == log_format;
  if (!known) throw ConfigError("not a run log: attribute format is not \"onebit-run\"", path);
  const Index version = h5::integer_attribute(file, "format_version");
  if (version < 1 || version > log_format_version) {
    throw ConfigError("log has format_version " + std::to_string(version) + ", this program reads format_version " +
                          std::to_string(log_format_version),
                      path, "use the version of onebit that wrote it, or a newer one");
  }
}

Index as_index(hsize_t size, const h5::Where& where) {
  if (size > static_cast<hsize_t>(std::numeric_limits<Index>::max())) h5::fail(where, "a size is out of range");
  return static_cast<Index>(size);
}

Index read_count(const h5::Object& file, std::string_view name) {
  const h5::Object dataset = h5::open_dataset(file, name);
  if (!h5::extents(dataset).empty()) h5::fail(dataset.where, "not a scalar");
  Index count = 0;
  h5::read_rows(dataset, H5T_NATIVE_INT64, std::span(&count, 1), 0);
  return count;
}

}  // namespace

struct LogReader::File {
  h5::Object object;
  bool closed = true;
  LogHeader header;
  RunStatus status = RunStatus::running;
  std::map<std::string, Index, std::less<>> committed;
  std::vector<std::string> unknown;

  File(const std::string& path, bool swmr) : object(h5::open_file(path, swmr)), closed(!swmr) {}

  Index rows_of(std::string_view group) const {
    const auto found = committed.find(group);
    return found == committed.end() ? 0 : found->second;
  }

  void read_all() {
    check_format(object);
    read_committed();
    read_status();
    read_header();
    read_tensors();
    read_constants();
    find_unknown();
  }

  // Reads each count before its columns: a live writer raises the count after the columns have grown.
  void read_committed() {
    for (const RowGroup& group : row_groups()) {
      if (group.name == "steps" && !h5::exists(object, group.committed)) {
        throw ConfigError("not a complete run log: /committed_rows is missing", object.where.file, damaged_log_hint);
      }
      if (!h5::exists(object, group.committed)) continue;
      Index rows = std::max<Index>(read_count(object, group.committed), 0);
      for (const Column& column : log_columns()) {
        const bool counts = column.group == group.name || path_of(column) == group.name;
        if (!counts || column.shape == Shape::member || !h5::exists(object, path_of(column))) continue;
        const h5::Object dataset = h5::open_dataset(object, path_of(column));
        const auto sizes = h5::extents(dataset);
        if (sizes.empty()) h5::fail(dataset.where, "it is a scalar instead of rows");
        rows = std::min(rows, as_index(sizes[0], dataset.where));
      }
      committed.emplace(group.name, rows);
    }
  }

  void read_status() {
    const h5::Object dataset = h5::open_dataset(object, "status");
    if (!h5::extents(dataset).empty()) h5::fail(dataset.where, "not a scalar");
    std::string text(status_bytes, '\0');
    h5::read_rows(dataset, h5::text_type(status_bytes).get(), text, 0);
    const auto* found = std::ranges::find(run_status_names, std::string_view(text.c_str()));
    if (text.c_str() == damaged_status) h5::fail(dataset.where, "its writer found it damaged; the disk may be failing");
    if (found == std::end(run_status_names)) h5::fail(dataset.where, "unknown status");
    status = static_cast<RunStatus>(found - std::begin(run_status_names));
  }

  void read_header() {
    header.program_version = root_text(object, "program_version");
    header.git_commit = root_text(object, "git_commit");
    header.created_utc = root_text(object, "created_utc");
    header.command_line = root_text(object, "command_line");
    header.host = root_text(object, "host");
    header.devices = root_text(object, "devices");
    header.data_hash = root_text(object, "data_hash");
    header.seed = static_cast<std::uint32_t>(h5::integer_attribute(object, "seed"));
    header.workers = h5::integer_attribute(object, "workers");
    header.per_worker = h5::exists(object, "workers");
    header.per_tensor = h5::exists(object, "tensors");
    header.probed = h5::exists(object, "probes");
    header.rounded = h5::exists(object, "probes") && h5::exists(object, "probes/feedback_rounding");
    header.columns = h5::exists(object, "steps/worker_mean_distance")       ? 2
                     : h5::exists(object, "steps/variance_ratio_corrected") ? 1
                                                                            : 0;
    const h5::Object ratio = h5::open_dataset(object, "steps/variance_ratio");
    header.variance_norm = h5::text_attribute(ratio, "norm");
    header.variance_lag = h5::integer_attribute(ratio, "lag");
    const h5::Object config = h5::open_group(object, "config");
    for (const std::string& option : h5::attribute_names(config)) {
      header.config.emplace_back(option, h5::text_attribute(config, option));
    }
  }

  void read_tensors() {
    const h5::Object table = h5::open_dataset(object, "model/tensors");
    const h5::Id stored(h5::check(H5Dget_type(table.id.get()), table.where), H5Tclose);
    const int index = H5Tget_class(stored.get()) == H5T_COMPOUND ? H5Tget_member_index(stored.get(), "name") : -1;
    if (index < 0) h5::fail(table.where, "it has no names");
    const h5::Id name(h5::check(H5Tget_member_type(stored.get(), static_cast<unsigned>(index)), table.where), H5Tclose);
    const std::size_t name_bytes = H5Tget_size(name.get());
    const std::size_t row_bytes = name_bytes + 3 * sizeof(Index);
    const Index rows = plausible(table, row_bytes).rows;
    std::vector<char> data(static_cast<std::size_t>(rows) * row_bytes);
    h5::read_rows(table, h5::tensor_type(name_bytes).get(), data, rows);
    for (const char* row = data.data(); row != data.data() + data.size(); row += row_bytes) {
      compress::Tensor& tensor = header.tensors.emplace_back();
      tensor.name.assign(row, std::find(row, row + name_bytes, '\0'));
      std::memcpy(&tensor.size, row + name_bytes + sizeof(Index), sizeof(Index));
      std::memcpy(&tensor.rows, row + name_bytes + 2 * sizeof(Index), sizeof(Index));
      tensor.rows = std::max<Index>(1, tensor.rows);  // early logs have no rows here, which reads as 0
    }
  }

  void read_constants() {
    const h5::Object model = h5::open_group(object, "model");
    const std::vector<std::string> names = h5::attribute_names(model);
    for (const auto& [name, value] : kConstants) {
      if (std::ranges::find(names, name) == names.end()) continue;
      if (!header.constants) header.constants.emplace();
      *header.constants.*value = h5::real_attribute(model, std::string(name));
    }
  }

  void find_unknown() {
    const auto known = [](const std::string& path) {
      return std::ranges::any_of(log_columns(),
                                 [&](const Column& column) { return path_of(column) == path || column.group == path; });
    };
    const auto collect = [&](const h5::Object& group, const std::string& prefix) {
      for (const std::string& name : h5::link_names(group)) {
        if (!known(prefix + name) && prefix + name != "config") unknown.push_back(prefix + name);
      }
    };
    collect(object, "");
    for (const RowGroup& group : row_groups()) {
      const std::string name(group.name);
      if (name != "traffic" && h5::exists(object, name)) collect(h5::open_group(object, name), name + "/");
    }
  }

  struct Extent {
    Index rows = 0;
    Index width = 1;
  };

  // Returns the sizes of a dataset, after checking that a file of this size can hold it: they decide how much memory is
  // allocated.
  Extent plausible(const h5::Object& dataset, std::size_t value_bytes,
                   Index rows = std::numeric_limits<Index>::max()) const {
    const auto sizes = h5::extents(dataset);
    if (sizes.empty() || sizes.size() > 2)
      h5::fail(dataset.where, "it has neither one value nor one list of values per row");
    const Extent extent{std::min(rows, as_index(sizes[0], dataset.where)),
                        sizes.size() == 2 ? as_index(sizes[1], dataset.where) : 1};
    const auto values = static_cast<double>(extent.rows) * static_cast<double>(extent.width);
    h5::check_plausible(dataset, values * static_cast<double>(value_bytes));
    return extent;
  }

  h5::Object open_column(const std::string& path) const {
    if (!h5::exists(object, path)) throw ConfigError("log has no column " + path, object.where.file);
    return h5::open_dataset(object, path);
  }

  // Reads the first `rows` rows of a dataset into `values`; returns the number of values per row.
  template <class Values>
  Index read_values(const h5::Object& dataset, const h5::Id& type, std::size_t rows, Values& values) const {
    const std::size_t bytes = H5Tget_size(type.get());
    const Extent extent = plausible(dataset, bytes, static_cast<Index>(rows));
    if (extent.rows != static_cast<Index>(rows)) h5::fail(dataset.where, "rows are missing");
    values.resize(rows * static_cast<std::size_t>(extent.width) * bytes / sizeof(values[0]));
    h5::read_rows(dataset, type.get(), values, extent.rows);
    return extent.width;
  }

  template <class Values>
  void read_single(const h5::Object& dataset, const h5::Id& type, std::size_t rows, Values& values) const {
    if (read_values(dataset, type, rows, values) != 1) h5::fail(dataset.where, "it has several values per row");
  }

  template <class Row, class Value>
  void read_field(const Column& column, Value Row::*member, std::vector<Row>& rows) const {
    std::vector<Value> values;
    read_single(open_column(path_of(column)), h5::column_type(column.type), rows.size(), values);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].*member = values[i];
  }

  template <class Row>
  void read_field(const Column& column, std::vector<double> Row::*member, std::vector<Row>& rows) const {
    std::vector<double> values;
    const Index width = read_values(open_column(path_of(column)), h5::column_type(column.type), rows.size(), values);
    auto begin = values.begin();
    for (Row& row : rows) {
      (row.*member).assign(begin, begin + width);
      begin += width;
    }
  }

  template <class Row>
  void read_field(const Column& column, std::string Row::*member, std::vector<Row>& rows) const {
    const h5::Id type = h5::column_type(column.type);
    const std::size_t bytes = H5Tget_size(type.get());
    std::string values;
    read_single(open_column(path_of(column)), type, rows.size(), values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string_view text = std::string_view(values).substr(i * bytes, bytes);
      rows[i].*member = text.substr(0, text.find('\0'));
    }
  }

  template <class Row>
  std::vector<Row> read_rows(std::string_view group) const {
    std::vector<Row> rows(static_cast<std::size_t>(plausible_rows(group)));
    if (rows.empty()) return rows;
    for_each_field<Row>([&](const Column& column, auto member) {
      if (has(header, column)) return read_field(column, member, rows);
      if constexpr (std::is_same_v<decltype(member), std::vector<double> Row::*>) {
        for (Row& row : rows) (row.*member).assign(header.tensors.size(), not_applicable);
      }
    });
    return rows;
  }

  // Returns the number of committed rows of a group, after checking that the file can hold that many.
  Index plausible_rows(std::string_view group) const {
    const Index rows = rows_of(group);
    if (rows == 0) return 0;
    return plausible(open_column(std::string(group) + "/step"), sizeof(Index), rows).rows;
  }
};

LogReader::LogReader(const std::string& path) {
  const Superblock superblock = read_superblock(path);
  try {
    file_ = std::make_unique<File>(path, superblock.being_written);
    file_->read_all();
  } catch (const IoError& error) {
    throw ConfigError(error.what(), "", damaged_log_hint);
  }
}

LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

const std::string& LogReader::path() const {
  return file_->object.where.file;
}
const LogHeader& LogReader::header() const {
  return file_->header;
}
RunStatus LogReader::status() const {
  return file_->status;
}
bool LogReader::closed() const {
  return file_->closed;
}
Index LogReader::committed_rows(std::string_view group) const {
  return file_->rows_of(group);
}
const std::vector<std::string>& LogReader::unknown_columns() const {
  return file_->unknown;
}

std::vector<double> LogReader::column(const std::string& name) const {
  const h5::Object dataset = file_->open_column(name);
  const Index rows = file_->rows_of(name.substr(0, name.find('/')));
  const auto extent = file_->plausible(dataset, sizeof(double), rows);
  std::vector<double> values(static_cast<std::size_t>(extent.rows * extent.width));
  h5::read_rows(dataset, H5T_NATIVE_DOUBLE, values, extent.rows);
  return values;
}

std::vector<StepRow> LogReader::steps() const {
  return file_->read_rows<StepRow>("steps");
}
std::vector<WorkerRow> LogReader::workers() const {
  return file_->read_rows<WorkerRow>("workers");
}
std::vector<TensorRow> LogReader::tensors() const {
  return file_->read_rows<TensorRow>("tensors");
}
std::vector<ProbeRow> LogReader::probes() const {
  return file_->read_rows<ProbeRow>("probes");
}
std::vector<EvaluationRow> LogReader::evaluations() const {
  return file_->read_rows<EvaluationRow>("evaluations");
}
std::vector<Event> LogReader::events() const {
  return file_->read_rows<Event>("events");
}

std::vector<StepTraffic> LogReader::traffic() const {
  const h5::Object dataset = file_->open_column("traffic");
  std::vector<TrafficRow> rows;
  file_->read_single(dataset, h5::traffic_type(), static_cast<std::size_t>(file_->rows_of("traffic")), rows);
  std::vector<StepTraffic> result;
  result.reserve(rows.size());
  for (const TrafficRow& row : rows) {
    using netmodel::Collective, netmodel::Direction, netmodel::WireType;
    const bool known = row.collective <= static_cast<std::uint8_t>(Collective::tree) &&
                       row.direction <= static_cast<std::uint8_t>(Direction::both) &&
                       row.dtype <= static_cast<std::uint8_t>(WireType::packed);
    if (!known) h5::fail(dataset.where, "it has a collective, direction or dtype that this program does not know");
    result.push_back({row.step,
                      {static_cast<Collective>(row.collective), static_cast<Direction>(row.direction),
                       static_cast<WireType>(row.dtype), row.group_size, row.messages, row.payload_bytes, row.tensor,
                       row.overlaps_backward != 0}});
  }
  return result;
}

std::string format_of(const std::string& path) {
  try {
    return root_text(h5::open_file(path, read_superblock(path).being_written), "format");
  } catch (const Error&) {
    return "";
  }
}

}  // namespace onebit::sim
