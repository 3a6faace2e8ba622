#pragma once
// One group of rows of a log that is being written: the datasets in the file, and rows in memory that are not written
// yet. Internal to sim/log.

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "device/base/error.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/types.hpp"

namespace onebit::sim {

/// Writes the attributes `units` and `doc`.
void describe(const h5::Object& dataset, const Column& column);

/// Creates the scalar dataset that the column table describes at `path`.
h5::Object create_scalar(const h5::Object& file, std::string_view path);

/// Selects the constructor for an existing log.
struct Continued {};

template <class Row>
class RowTable {
 public:
  /// Creates datasets and the count of committed rows. Throws IoError.
  RowTable(const h5::Object& file, const RowGroup& group, const LogHeader& header)
      : header_(header), committed_(create_scalar(file, group.committed)) {
    h5::write(committed_, H5T_NATIVE_INT64, &written_);  // allocates the space now; under SWMR it would be too late
    if constexpr (is_compound) {
      h5::Id type = h5::traffic_type();
      const h5::Id storage = h5::packed(type);
      add_dataset(file, log_column(group.name), std::move(type), storage, -1);
    } else {
      h5::close(h5::create_group(file, group.name));
      for_each_stored([&](const Column& column, auto) {
        const Index width = width_of(column, header);
        add_dataset(file, column, h5::column_type(column.type), h5::column_type(column.type), width);
        if (width >= 0) width_ = width;
      });
    }
  }

  /// Opens the datasets of a log that is continued. Lowers the count to the number of rows that all of them have,
  /// because the count may be too high after a power failure. Throws IoError.
  RowTable(const h5::Object& file, const RowGroup& group, const LogHeader& header, Continued)
      : header_(header), committed_(h5::open_dataset(file, group.committed)) {
    h5::read_rows(committed_, H5T_NATIVE_INT64, std::span(&written_, 1), 0);
    if constexpr (is_compound) {
      h5::Id type = h5::traffic_type();
      datasets_.push_back({h5::open_rows(file, group.name, type.get(), -1), std::move(type)});
    } else {
      for_each_stored([&](const Column& column, auto) {
        const Index width = width_of(column, header);
        h5::Id type = h5::column_type(column.type);
        datasets_.push_back({h5::open_rows(file, path_of(column), type.get(), width), std::move(type)});
        if (width >= 0) width_ = width;
      });
    }
    for (const Dataset& dataset : datasets_) {
      const std::vector<hsize_t> sizes = h5::extents(dataset.object);
      written_ = std::clamp<Index>(written_, 0, static_cast<Index>(sizes[0]));
    }
  }

  /// Lowers the count of committed rows.
  void commit(Index rows) {
    written_ = rows;
    commit();
  }

  /// Cuts the columns to the committed rows and notes their contents, which the finished file must still contain.
  void cut() {
    for (const Dataset& dataset : datasets_) {
      h5::set_rows(dataset.object, written_);
      dataset.object.contents->note_stored(dataset.object);
    }
  }

  /// Closes the datasets. Throws IoError if writing fails.
  void close() {
    h5::close(committed_);
    for (Dataset& dataset : datasets_) h5::close(dataset.object);
  }

  Index rows() const { return written_ + static_cast<Index>(pending_.size()); }

  /// Adds a row to those in memory. Throws ConfigError if its lists differ in length from the columns of the file.
  void add(Row row) {
    for_each_stored([&](const Column& column, auto member) { check_width(column, row.*member); });
    pending_.push_back(std::move(row));
  }

  /// Whether enough rows have accumulated in memory to be worth writing.
  bool full() const {
    const auto rows = static_cast<Index>(pending_.size());
    return rows >= max_rows || rows * width_ >= max_values;
  }

  void write() {
    const auto rows = static_cast<Index>(pending_.size());
    if (rows == 0) return;
    if constexpr (is_compound) {
      h5::append_rows(datasets_[0].object, datasets_[0].type.get(), pending_.data(), written_, rows);
    } else {
      auto dataset = datasets_.begin();
      for_each_stored([&](const Column&, auto member) { write_column(*dataset++, member); });
    }
    written_ += rows;
    pending_.clear();
  }

  void commit() { h5::write(committed_, H5T_NATIVE_INT64, &written_); }

 private:
  struct Dataset {
    h5::Object object;
    h5::Id type;  // type of the values in memory
  };

  static constexpr bool is_compound = std::is_same_v<Row, TrafficRow>;
  static constexpr Index max_rows = 4096;
  static constexpr Index max_values = Index{1} << 20;  // 8 MiB in the widest column

  /// Calls use(column, pointer to member) for the columns of Row that this log has.
  template <class Use>
  void for_each_stored(const Use& use) const {
    for_each_field<Row>([&](const Column& column, auto member) {
      if (has(header_, column)) use(column, member);
    });
  }

  /// Number of values per row of a list column; -1 for a column of single values.
  static Index width_of(const Column& column, const LogHeader& header) {
    if (column.shape == Shape::rows_by_workers) return header.workers;
    return column.shape == Shape::rows_by_tensors ? static_cast<Index>(header.tensors.size()) : -1;
  }

  void add_dataset(const h5::Object& file, const Column& column, h5::Id memory, const h5::Id& storage, Index width) {
    datasets_.push_back({h5::create_rows(file, path_of(column), storage.get(), width), std::move(memory)});
    describe(datasets_.back().object, column);
  }

  template <class Value>
  void check_width(const Column&, const Value&) const {}

  void check_width(const Column& column, const std::vector<double>& values) const {
    if (static_cast<Index>(values.size()) == width_) return;
    throw ConfigError("log row has " + std::to_string(values.size()) + " values, the log has " + std::to_string(width_),
                      path_of(column));
  }

  template <class Value>
  void write_column(const Dataset& dataset, Value Row::*member) {
    std::vector<Value> values;
    for (const Row& row : pending_) values.push_back(row.*member);
    append(dataset, values.data());
  }

  void write_column(const Dataset& dataset, std::vector<double> Row::*member) {
    std::vector<double> values;
    for (const Row& row : pending_) values.insert(values.end(), (row.*member).begin(), (row.*member).end());
    append(dataset, values.data());
  }

  void write_column(const Dataset& dataset, std::string Row::*member) {
    const std::size_t size = H5Tget_size(dataset.type.get());
    std::string values;
    for (const Row& row : pending_) {
      const std::string_view text = cut_text(row.*member, size);
      values.append(text).append(size - text.size(), '\0');
    }
    append(dataset, values.data());
  }

  void append(const Dataset& dataset, const void* values) {
    h5::append_rows(dataset.object, dataset.type.get(), values, written_, static_cast<Index>(pending_.size()));
  }

  LogHeader header_;
  h5::Object committed_;
  std::vector<Dataset> datasets_;  // in the order of the column table
  std::vector<Row> pending_;
  Index written_ = 0;
  Index width_ = 1;
};

}  // namespace onebit::sim
