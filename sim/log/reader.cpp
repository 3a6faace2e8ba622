#include "sim/log/reader.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "device/base/error.hpp"
#include "sim/log/read_header.hpp"
#include "sim/log/superblock.hpp"
#include "sim/log/types.hpp"

namespace onebit::sim {
namespace {

std::string root_text(const h5::Object& file, const char* name) {
  return h5::text_attribute(file, name);
}

void check_format(const h5::Object& file) {
  const std::string& path = file.where.file;
  const auto names = h5::attribute_names(file);
  const bool known = std::ranges::count(names, "format") != 0 && root_text(file, "format") == log_format;
  if (!known) throw ConfigError("not a run log", path, "a log is written by `onebit run`");
  const Index version = h5::integer_attribute(file, "format_version");
  if (version < 1 || version > log_format_version) {
    throw ConfigError(
        "log has format_version " + std::to_string(version) + ", this program reads format_version " +
            std::to_string(log_format_version),
        path, version < 1 ? "no version of onebit writes this format" : "use the onebit that wrote it, or a newer one");
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

/// Whether the values of all enumerations are known to the program.
bool is_known(const TrafficRow& row) {
  using netmodel::Collective, netmodel::Direction, netmodel::WireType;
  return row.collective <= static_cast<std::uint8_t>(Collective::tree) &&
         row.direction <= static_cast<std::uint8_t>(Direction::both) &&
         row.dtype <= static_cast<std::uint8_t>(WireType::packed);
}

}  // namespace

struct LogReader::File {
  h5::Object object;
  Superblock superblock;
  Damage damage;
  bool closed;
  LogHeader header;
  RunStatus status = RunStatus::running;
  std::map<std::string, Index, std::less<>> committed;
  std::vector<std::string> unknown;
  mutable std::vector<UnreadableColumn> unreadable;

  File(const std::string& path, const Superblock& block, Damage how)
      : object(h5::open_file(path, block.being_written)),
        superblock(block),
        damage(how),
        closed(!block.being_written) {}

  /// Reads a part of a column. If damage is tolerated, notes a failure instead of throwing, and returns false.
  template <class Read>
  bool reads(const std::string& column, const Read& read) const {
    if (damage == Damage::refused) return read(), true;
    try {
      return read(), true;
    } catch (const IoError& error) {
      if (std::ranges::find(unreadable, column, &UnreadableColumn::name) == unreadable.end()) {
        unreadable.push_back({column, error.what()});
      }
      return false;
    }
  }

  bool is_there(std::string_view name) const {
    bool there = false;
    return reads(std::string(name), [&] { there = h5::exists(object, name); }) && there;
  }

  Index rows_of(std::string_view group) const {
    const auto found = committed.find(group);
    return found == committed.end() ? 0 : found->second;
  }

  void read_all() {
    check_format(object);
    read_committed();
    read_status();
    header = read_header(object);
    find_unknown();
  }

  // Reads each count before its columns: a live writer raises the count after the columns have grown.
  void read_committed() {
    for (const RowGroup& group : row_groups()) {
      if (!is_there(group.committed)) {
        if (group.name != "steps") continue;
        throw ConfigError("not a complete run log: /committed_rows is missing", object.where.file, damaged_log_hint);
      }
      Index rows = std::numeric_limits<Index>::max();
      reads(std::string(group.committed), [&] { rows = std::max<Index>(read_count(object, group.committed), 0); });
      for (const Column& column : log_columns()) {
        const std::string path = path_of(column);
        const bool counts = column.group == group.name || path == group.name;
        if (!counts || column.shape == Shape::member || !is_there(path)) continue;
        reads(path, [&] { rows = std::min(rows, rows_in(path, rows)); });
      }
      committed.emplace(group.name, rows == std::numeric_limits<Index>::max() ? 0 : rows);
    }
  }

  /// Number of rows, at most `most`, that a column has. Throws ConfigError if some of them lie beyond the end of a
  /// truncated file.
  Index rows_in(const std::string& path, Index most) const {
    const h5::Object dataset = h5::open_dataset(object, path);
    const auto sizes = h5::extents(dataset);
    if (sizes.empty()) h5::fail(dataset.where, "it is a scalar instead of rows");
    const Index rows = std::min(most, as_index(sizes[0], dataset.where));
    if (!superblock.is_truncated()) return rows;
    std::error_code error;  // a live log may have grown since it was opened
    const std::uintmax_t size = std::filesystem::file_size(object.where.file, error);
    const Index stored = h5::stored_rows(dataset, rows, error ? 0 : static_cast<Index>(size));
    if (damage == Damage::refused && stored < rows) refuse_truncated(superblock, object.where.file);
    return stored;
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
      if (name != "traffic" && is_there(name)) collect(h5::open_group(object, name), name + "/");
    }
  }

  struct Extent {
    Index rows = 0;
    Index width = 1;
  };

  // Returns the sizes of a dataset, after checking that a file of this size can hold it, because the sizes decide how
  // much memory is allocated.
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
    h5::require_stored(dataset, extent.rows);
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
    const auto read = [&] {
      read_single(open_column(path_of(column)), h5::column_type(column.type), rows.size(), values);
    };
    if (!reads(path_of(column), read)) return;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].*member = values[i];
  }

  template <class Row>
  void read_field(const Column& column, std::vector<double> Row::*member, std::vector<Row>& rows) const {
    std::vector<double> values;
    Index width = column.shape == Shape::rows_by_workers ? header.workers : static_cast<Index>(header.tensors.size());
    const bool there = reads(path_of(column), [&] {
      width = read_values(open_column(path_of(column)), h5::column_type(column.type), rows.size(), values);
    });
    if (!there) values.assign(rows.size() * static_cast<std::size_t>(width), not_applicable);
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
    if (!reads(path_of(column), [&] { read_single(open_column(path_of(column)), type, rows.size(), values); })) return;
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
    if (rows == 0 || damage == Damage::tolerated) return rows;  // read_committed() has found them in the file
    return plausible(open_column(std::string(group) + "/step"), sizeof(Index), rows).rows;
  }
};

LogReader::LogReader(const std::string& path, Damage damage) {
  const Superblock superblock = read_superblock(path);
  try {
    file_ = std::make_unique<File>(path, superblock, damage);
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

const std::vector<UnreadableColumn>& LogReader::unreadable_columns() const {
  return file_->unreadable;
}

void LogReader::read_all() const {
  steps();
  if (header().per_worker) workers();
  if (header().per_tensor) tensors();
  if (header().probed) probes();
  evaluations();
  events();
  traffic();
}

std::vector<double> LogReader::column(const std::string& name) const {
  const h5::Object dataset = file_->open_column(name);
  const Index rows = file_->rows_of(name.substr(0, name.find('/')));
  const auto extent = file_->plausible(dataset, sizeof(double), rows);
  h5::require_stored(dataset, extent.rows);
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
  std::vector<TrafficRow> rows;
  const auto read = [&] {
    file_->read_single(file_->open_column("traffic"), h5::traffic_type(),
                       static_cast<std::size_t>(file_->rows_of("traffic")), rows);
    if (std::ranges::all_of(rows, is_known)) return;
    h5::fail({h5::Access::read, path(), "/traffic"},
             "it has a collective, direction or dtype that this program does not know");
  };
  if (!file_->reads("traffic", read)) return {};
  std::vector<StepTraffic> result;
  result.reserve(rows.size());
  for (const TrafficRow& row : rows) {
    result.push_back({row.step,
                      {static_cast<netmodel::Collective>(row.collective),
                       static_cast<netmodel::Direction>(row.direction), static_cast<netmodel::WireType>(row.dtype),
                       row.group_size, row.messages, row.payload_bytes, row.tensor, row.overlaps_backward != 0}});
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
