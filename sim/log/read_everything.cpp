#include <algorithm>
#include <cerrno>
#include <new>
#include <set>
#include <vector>

#include "device/base/error.hpp"
#include "sim/log/h5.hpp"
#include "sim/log/read_check.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/types.hpp"

namespace onebit::sim {
namespace {

/// Runs one step and ignores its error, except a lack of memory. HDF5 reports that like any other failure; only errno
/// tells it apart.
template <class Step>
void attempt(const Step& step) {
  errno = 0;
  try {
    step();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    // The reader of this object will report it.
  }
  if (errno == ENOMEM) throw std::bad_alloc();
}

class Walk {
 public:
  void group(const h5::Object& group) {
    if (!groups_.insert(h5::address(group)).second) return;
    attributes(group);
    attempt([&] { h5::exists(group, "no such name"); });
    for (const std::string& name : listed([&] { return h5::link_names(group); })) {
      attempt([&] { link(group, name); });
    }
  }

  bool complete() const { return complete_; }

 private:
  template <class List>
  std::vector<std::string> listed(const List& list) {
    std::vector<std::string> names;
    bool done = false;
    attempt([&] {
      names = list();
      done = true;
    });
    complete_ = complete_ && done;
    return names;
  }

  void link(const h5::Object& parent, const std::string& name) {
    attempt([&] { h5::exists(parent, name); });
    const H5O_type_t kind = h5::type_of_link(parent, name);
    if (kind == H5O_TYPE_GROUP) group(h5::open_group(parent, name));
    if (kind == H5O_TYPE_DATASET) dataset(h5::open_dataset(parent, name));
  }

  void attributes(const h5::Object& object) {
    for (const std::string& name : listed([&] { return h5::attribute_names(object); })) {
      bool is_text = false;  // then readers of numbers refuse it by its type
      attempt([&] {
        h5::text_attribute(object, name);
        is_text = true;
      });
      if (!is_text) {
        attempt([&] { h5::numbers_attribute(object, name); });
        attempt([&] { h5::integer_attribute(object, name); });
      }
      attempt([&] { h5::stored_attribute(object, name); });
    }
  }

  void dataset(const h5::Object& dataset) {
    attributes(dataset);
    const h5::Id type(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
    const std::vector<hsize_t> sizes = h5::extents(dataset);
    for (const hid_t wanted : {H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT64}) {
      attempt([&] { read(dataset, wanted, sizes); });
    }
    if (!h5::is_plain(type.get())) return;  // no reader accepts it
    attempt([&] { read(dataset, type.get(), chunk_of(dataset)); });
  }

  /// Returns the sizes of a dataset's chunks; those of the whole dataset if it has no chunks.
  static std::vector<hsize_t> chunk_of(const h5::Object& dataset) {
    std::vector<hsize_t> sizes = h5::extents(dataset);
    const h5::Id creation(h5::check(H5Dget_create_plist(dataset.id.get()), dataset.where), H5Pclose);
    if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return sizes;
    h5::check(H5Pget_chunk(creation.get(), static_cast<int>(sizes.size()), sizes.data()), dataset.where);
    return sizes;
  }

  /// Reads one value of each part of a dataset, so that HDF5 reads a whole chunk for it.
  static void read(const h5::Object& dataset, hid_t type, const std::vector<hsize_t>& part) {
    const h5::Id space(h5::check(H5Dget_space(dataset.id.get()), dataset.where), H5Sclose);
    const std::vector<hsize_t> sizes = h5::extents(dataset), start(sizes.size(), 0);
    std::vector<hsize_t> step(part), count(sizes.size());
    double values = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      step[i] = std::max<hsize_t>(part[i], 1);
      count[i] = sizes[i] / step[i] + (sizes[i] % step[i] != 0 ? 1 : 0);
      values *= static_cast<double>(count[i]);
    }
    if (values == 0) return;
    if (!sizes.empty()) {
      h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), step.data(), count.data(), nullptr),
                dataset.where);
    }
    h5::check_plausible(dataset, values * static_cast<double>(H5Tget_size(type)));
    read(dataset, type, space.get(), static_cast<hsize_t>(values));
  }

  static void read(const h5::Object& dataset, hid_t type, hid_t selection, hsize_t count) {
    const h5::Id stored(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
    const h5::Id memory(h5::check(H5Screate_simple(1, &count, nullptr), dataset.where), H5Sclose);
    std::vector<char> values(count * H5Tget_size(type));
    h5::check_fits(stored.get(), H5Sget_select_npoints(selection), type, values, dataset.where);
    // Where types differ, HDF5 converts in a buffer of 1 MiB by default, which it clears for each read.
    const h5::Id transfer(h5::check(H5Pcreate(H5P_DATASET_XFER), dataset.where), H5Pclose);
    const std::size_t buffer = std::max({std::size_t{64} << 10, H5Tget_size(type), H5Tget_size(stored.get())});
    h5::check(H5Pset_buffer(transfer.get(), buffer, nullptr, nullptr), dataset.where);
    h5::check(H5Dread(dataset.id.get(), type, memory.get(), selection, transfer.get(), values.data()), dataset.where);
  }

  std::set<haddr_t> groups_;
  bool complete_ = true;
};

constexpr double most_bytes_of_rows = 32e6;

/// Bytes of the committed rows of a log, not compressed.
double bytes_of_rows(const LogReader& log) {
  double bytes = 0;
  for (const Column& column : log_columns()) {
    if (column.shape == Shape::scalar || column.type == ColumnType::compound || !has(log.header(), column)) continue;
    double width = 1;
    if (column.shape == Shape::rows_by_workers) width = static_cast<double>(log.header().workers);
    if (column.shape == Shape::rows_by_tensors) width = static_cast<double>(log.header().tensors.size());
    const auto value = static_cast<double>(H5Tget_size(h5::column_type(column.type).get()));
    bytes += value * width * static_cast<double>(log.committed_rows(column.group));
  }
  return bytes;
}

void read_as_log(const std::string& path) {
  const LogReader log(path, Damage::tolerated);
  // One value of each chunk has been read already. Reading the rows of a large log would again take much time and
  // memory.
  if (bytes_of_rows(log) > most_bytes_of_rows) return;
  attempt([&] { log.steps(); });
  attempt([&] { log.workers(); });
  attempt([&] { log.tensors(); });
  attempt([&] { log.probes(); });
  attempt([&] { log.evaluations(); });
  attempt([&] { log.events(); });
  attempt([&] { log.traffic(); });
  for (const std::string& name : log.unknown_columns()) {
    attempt([&] { log.column(name); });
  }
}

}  // namespace

void read_everything(const std::string& path, bool swmr) {
  Walk walk;
  attempt([&] { walk.group(h5::open_own(path, "file", swmr)); });
  if (!walk.complete()) throw IoError("HDF5 cannot list what the file contains", path);
  attempt([&] { read_as_log(path); });
}

}  // namespace onebit::sim
