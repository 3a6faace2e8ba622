#include "sim/log/writer.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/output_file.hpp"
#include "sim/log/read_check.hpp"
#include "sim/log/row_table.hpp"
#include "sim/models/constant_names.hpp"
#include "sim/run/pause_point.hpp"

namespace onebit::sim {
namespace {

void write_header(const h5::Object& file, const LogHeader& header) {
  h5::put_attribute(file, "format", log_format);
  h5::put_attribute(file, "format_version", log_format_version);
  h5::put_attribute(file, "program_version", header.program_version);
  h5::put_attribute(file, "git_commit", header.git_commit);
  h5::put_attribute(file, "created_utc", header.created_utc);
  h5::put_attribute(file, "command_line", header.command_line);
  h5::put_attribute(file, "host", header.host);
  h5::put_attribute(file, "devices", header.devices);
  h5::put_attribute(file, "data_hash", header.data_hash);
  h5::put_attribute(file, "seed", Index{header.seed});
  h5::put_attribute(file, "workers", header.workers);
  h5::Object config = h5::create_group(file, "config");
  for (const auto& [option, value] : header.config) h5::put_attribute(config, option, value);
  h5::close(config);
}

void write_tensors(const h5::Object& file, const std::vector<compress::Tensor>& tensors) {
  std::size_t name_bytes = 1;
  for (const compress::Tensor& tensor : tensors) name_bytes = std::max(name_bytes, tensor.name.size());
  const std::vector<Range> ranges = compress::ranges_of(tensors);
  std::string rows;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    rows.append(tensors[t].name).append(name_bytes - tensors[t].name.size(), '\0');
    for (const Index value : {ranges[t].first, ranges[t].count, tensors[t].rows}) {
      rows.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  const h5::Id type = h5::tensor_type(name_bytes);
  h5::Object table = h5::create_array(file, "model/tensors", type.get(), static_cast<Index>(tensors.size()));
  describe(table, log_column("model/tensors"));
  if (!tensors.empty()) h5::write(table, type.get(), rows.data());
  h5::close(table);
}

void write_constants(const h5::Object& model, const Constants& constants) {
  for (const auto& [name, value] : kConstants) {
    if (!std::isnan(constants.*value)) h5::put_attribute(model, std::string(name), constants.*value);
  }
}

const RowGroup& row_group(std::string_view name) {
  return *std::ranges::find(row_groups(), name, &RowGroup::name);
}

}  // namespace

void describe(const h5::Object& dataset, const Column& column) {
  h5::put_attribute(dataset, "units", column.units);
  h5::put_attribute(dataset, "doc", column.doc);
}

h5::Object create_scalar(const h5::Object& file, std::string_view path) {
  const Column& column = log_column(path);
  h5::Object dataset = h5::create_scalar(file, path, h5::column_type(column.type).get());
  describe(dataset, column);
  return dataset;
}

struct LogWriter::File {
  struct Tables {
    Tables(const h5::Object& file, const LogHeader& header)
        : status(create_scalar(file, "status")),
          steps(file, row_group("steps"), header),
          evaluations(file, row_group("evaluations"), header),
          events(file, row_group("events"), header),
          traffic(file, row_group("traffic"), header) {
      if (header.per_worker) workers.emplace(file, row_group("workers"), header);
      if (header.per_tensor) tensors.emplace(file, row_group("tensors"), header);
      if (header.probed) probes.emplace(file, row_group("probes"), header);
    }

    /// Opens the tables of a log that is continued.
    Tables(const h5::Object& file, const LogHeader& header, Continued continued)
        : status(h5::open_dataset(file, "status")),
          steps(file, row_group("steps"), header, continued),
          evaluations(file, row_group("evaluations"), header, continued),
          events(file, row_group("events"), header, continued),
          traffic(file, row_group("traffic"), header, continued) {
      if (header.per_worker) workers.emplace(file, row_group("workers"), header, continued);
      if (header.per_tensor) tensors.emplace(file, row_group("tensors"), header, continued);
      if (header.probed) probes.emplace(file, row_group("probes"), header, continued);
    }

    /// Lowers the counts of committed rows.
    void commit(const LogRows& rows) {
      steps.commit(rows.steps);
      evaluations.commit(rows.evaluations);
      events.commit(rows.events);
      traffic.commit(rows.traffic);
      if (workers) workers->commit(rows.workers);
      if (tensors) tensors->commit(rows.tensors);
      if (probes) probes->commit(rows.probes);
    }

    void cut() {
      for_each([](auto& table) { table.cut(); });
    }

    LogRows rows() const {
      return {steps.rows(),
              workers ? workers->rows() : 0,
              tensors ? tensors->rows() : 0,
              evaluations.rows(),
              events.rows(),
              traffic.rows(),
              probes ? probes->rows() : 0};
    }

    void close() {
      h5::close(status);
      for_each([](auto& table) { table.close(); });
    }

    template <class Use>
    void for_each(Use use) {
      use(steps);
      use(evaluations);
      use(events);
      use(traffic);
      if (workers) use(*workers);
      if (tensors) use(*tensors);
      if (probes) use(*probes);
    }

    h5::Object status;
    RowTable<StepRow> steps;
    RowTable<EvaluationRow> evaluations;
    RowTable<Event> events;
    RowTable<TrafficRow> traffic;
    std::optional<RowTable<WorkerRow>> workers;
    std::optional<RowTable<TensorRow>> tensors;
    std::optional<RowTable<ProbeRow>> probes;
  };

  h5::Object object;
  std::optional<Tables> tables;
  bool failed = false;

  void create(const LogHeader& header) {
    write_header(object, header);
    h5::close(h5::create_group(object, "committed"));
    h5::Object model = h5::create_group(object, "model");
    if (header.constants) write_constants(model, *header.constants);
    h5::close(model);
    write_tensors(object, header.tensors);
    tables.emplace(object, header);
    h5::Object ratio = h5::open_dataset(object, "steps/variance_ratio");
    h5::put_attribute(ratio, "norm", header.variance_norm);
    h5::put_attribute(ratio, "lag", header.variance_lag);
    h5::close(ratio);
    start_status();
    h5::flush(object);
  }

  void reopen(const LogHeader& header, const LogRows& keep, const LogRows& seen, const std::vector<Event>& events) {
    tables.emplace(object, header, Continued{});
    if (!(tables->rows() == seen)) {
      throw ConfigError("cannot continue log: another program has written to it", object.where.file,
                        "run the command again");
    }
    // The counts are lowered first: a column must not lose rows that a count in the file still includes.
    tables->commit(keep);
    h5::flush(object);
    tables->cut();
    for (const Event& event : events) tables->events.add(event);
    tables->events.write();
    h5::flush(object);
    tables->events.commit();
    start_status();
    h5::flush(object);
  }

  static std::string padded(std::string_view status) {
    std::string text(status);
    text.resize(status_bytes);
    return text;
  }

  static std::string padded(RunStatus status) { return padded(name_of(status)); }

  void start_status() {
    h5::write(tables->status, h5::text_type(status_bytes).get(), padded(RunStatus::running).data());
  }

  /// Byte offset of the status in the file.
  Index place_of_status() const {
    const haddr_t place = H5Dget_offset(tables->status.id.get());
    if (place == HADDR_UNDEF) h5::fail(tables->status.where, "its place in the file is unknown");
    return static_cast<Index>(place);
  }

  // Flushes twice, because the counts must not reach the file before the rows that they count.
  void flush() {
    try {
      tables->for_each([](auto& table) { table.write(); });
      pause_point("log.rows");
      h5::flush(object);
      pause_point("log.flushed");
      tables->for_each([](auto& table) {
        table.commit();
        pause_point("log.counts");
      });
      h5::flush(object);
    } catch (...) {
      failed = true;
      throw;
    }
  }

  void require_healthy() const {
    if (failed) h5::fail(object.where, "an earlier write failed");
  }

  template <class Row>
  void add(RowTable<Row>& table, Row row) {
    require_healthy();
    table.add(std::move(row));
    if (table.full()) flush();
  }

  template <class Row>
  void add(std::optional<RowTable<Row>>& table, Row row) {
    if (!table) throw ConfigError("log was created without rows of this kind", object.where.file);
    add(*table, std::move(row));
  }

  /// Closes the file and reads it back. The final status is stored only then, so that the status of an unchecked file
  /// is `running`.
  void close(RunStatus status) {
    flush();
    const Index place = place_of_status();
    const ClosedLog closed(object);
    tables->close();
    tables.reset();
    h5::close_file(object);
    files::synchronize_path(object.where.file, "log");
    const h5::Contents there = h5::read_back(object);
    try {
      object.contents->require_in(there, object.where);
    } catch (const IoError&) {
      closed.write(place, padded(damaged_status));  // so that nobody continues it
      throw;
    }
    closed.write(place, padded(status));
    note_readable(object.where.file);
  }
};

// Keeps a file open until the process ends, after writing to it has failed; h5::abandon() says why.
void LogWriter::abandon(std::unique_ptr<File> file) {
  static auto& abandoned = *new std::vector<std::unique_ptr<File>>;  // never destroyed
  abandoned.push_back(std::move(file));
}

LogWriter::LogWriter(const std::string& path, const LogHeader& header, bool overwrite)
    : file_(new File{create_unnamed(path, overwrite), {}, false}) {
  try {
    file_->create(header);
    start_swmr(file_->object);
    give_name(file_->object, overwrite);
  } catch (...) {
    remove_output(file_->object);
    abandon(std::move(file_));
    throw;
  }
}

LogWriter::LogWriter(const std::string& path, const LogHeader& header, const LogRows& keep, const LogRows& seen,
                     const std::vector<Event>& events)
    : file_(new File{open_output(path), {}, false}) {
  try {
    file_->reopen(header, keep, seen, events);
  } catch (const ConfigError&) {
    file_.reset();  // nothing was written: closing leaves the log as it was
    throw;
  } catch (...) {
    abandon(std::move(file_));
    throw;
  }
}

LogWriter::~LogWriter() {
  try {
    close(RunStatus::failed);
  } catch (...) {
    // The run is already failing with another error; what was committed is safe.
  }
}

LogWriter::File& LogWriter::file() const {
  if (!file_) throw IoError("cannot write log: it is closed", "");
  return *file_;
}

void LogWriter::append(const StepRow& row) {
  file().add(file().tables->steps, row);
}
void LogWriter::append(const WorkerRow& row) {
  file().add(file().tables->workers, row);
}
void LogWriter::append(const TensorRow& row) {
  file().add(file().tables->tensors, row);
}
void LogWriter::append(const ProbeRow& row) {
  file().add(file().tables->probes, row);
}
void LogWriter::append(const EvaluationRow& row) {
  file().add(file().tables->evaluations, row);
}
void LogWriter::append(const Event& event) {
  file().add(file().tables->events, event);
}

void LogWriter::append(Index step, const netmodel::TrafficList& exchanges) {
  for (const netmodel::Traffic& e : exchanges) {
    const TrafficRow row{step,
                         static_cast<std::uint8_t>(e.collective),
                         static_cast<std::uint8_t>(e.direction),
                         static_cast<std::uint8_t>(e.type),
                         e.group_size,
                         e.messages,
                         e.payload_bytes,
                         e.tensor,
                         e.overlaps_backward};
    file().add(file().tables->traffic, row);
  }
}

void LogWriter::flush() {
  file().require_healthy();
  file().flush();
}

void LogWriter::synchronize() {
  flush();
  synchronize_file(file().object);
}

LogRows LogWriter::rows() const {
  return file().tables->rows();
}

void LogWriter::close(RunStatus status) {
  std::unique_ptr<File> file = std::move(file_);
  if (!file) return;
  try {
    if (!file->failed) file->close(status);
  } catch (...) {
    abandon(std::move(file));
    throw;
  }
  if (file->failed) abandon(std::move(file));
}

}  // namespace onebit::sim
