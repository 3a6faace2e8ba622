#pragma once
// Thin owners of HDF5 identifiers. Every C call is checked and becomes an IoError that names file and object; HDF5's
// own printing to stderr is off. Internal to sim: only sim/log and sim/trace include hdf5.h.

#include <hdf5.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/types.hpp"

namespace onebit::sim::h5 {

/// Owns one identifier and closes it with the function that belongs to its kind.
class Id {
 public:
  using Close = herr_t (*)(hid_t);

  Id() = default;
  Id(hid_t id, Close closer) : id_(id), close_(closer) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Id() { close(); }

  hid_t get() const { return id_; }

  /// False when HDF5 reports a failure; the identifier is gone in either case.
  bool close() noexcept {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

enum class Access { read, write };

/// What an error message needs to know.
struct Where {
  Access access = Access::read;
  std::string file;
  std::string object = "/";
  std::string kind = "log";  ///< what the file is
};

/// A file, group or dataset together with its place.
struct Object {
  Id id;
  Where where;
};

/// Innermost reason of the last failed HDF5 call, one line: the operating system's message where there is one.
std::string reason();

/// Throws IoError "cannot read|write <kind>: <reason> (<file>: <object>)".
[[noreturn]] void fail(const Where& where);
[[noreturn]] void fail(const Where& where, const std::string& why);

/// Passes a result through, or throws as fail() does when it is negative.
template <class Result>
Result check(Result result, const Where& where) {
  if (result < 0) fail(where);
  return result;
}

/// Creates a file in the newest format, as SWMR needs. Throws IoError, also where the file exists. user_block: bytes at
/// its start that are not HDF5's; 512, 1024, ...
Object create_file(const std::string& path, const std::string& kind = "log", Index user_block = 0);

/// Opens a file for reading; swmr: one whose writer is alive or was killed. Throws IoError.
Object open_file(const std::string& path, bool swmr, const std::string& kind = "log");

/// Opens a file for SWMR writing, also one whose writer was killed: clears the marks that it left. The caller keeps
/// other writers away. Throws IoError.
Object open_again(const std::string& path);

Object create_group(const Object& file, std::string_view name);
Object open_group(const Object& file, std::string_view name);
bool exists(const Object& file, std::string_view name);
/// In alphabetic order.
std::vector<std::string> link_names(const Object& group);
std::vector<std::string> attribute_names(const Object& object);

Id text_type(std::size_t size);  ///< fixed length, UTF-8, padded with NUL

/// A dataset of one element.
Object create_scalar(const Object& file, std::string_view name, hid_t type);
/// A dataset with `count` elements.
Object create_array(const Object& file, std::string_view name, hid_t type, Index count);
/// A dataset of fixed sizes, slowest first.
Object create_box(const Object& file, std::string_view name, hid_t type, std::span<const Index> sizes);
/// A chunked dataset with no rows yet. width < 0: one value a row, else `width` values a row.
Object create_rows(const Object& file, std::string_view name, hid_t type, Index width);
Object open_dataset(const Object& file, std::string_view name);

/// Sizes of a dataset, slowest first; empty for a scalar.
std::vector<hsize_t> extents(const Object& dataset);
/// Writes the whole dataset.
void write(const Object& dataset, hid_t memory_type, const void* data);
/// Extends the dataset from `written` rows by `rows` and writes them.
void append_rows(const Object& dataset, hid_t memory_type, const void* data, Index written, Index rows);
/// Cuts or extends the dataset to `rows` rows.
void set_rows(const Object& dataset, Index rows);
/// Writes `rows` rows from row `first` on, which exist.
void write_rows(const Object& dataset, hid_t memory_type, const void* data, Index rows, Index first);
/// Reads `rows` rows from row `first` on (the whole dataset where it is a scalar). The caller has made sure that they
/// exist.
void read_rows(const Object& dataset, hid_t memory_type, void* data, Index rows, Index first = 0);

/// The elements at one index of the second of three dimensions.
void write_layer(const Object& dataset, hid_t memory_type, const void* data, Index layer);
void read_layer(const Object& dataset, hid_t memory_type, void* data, Index layer);

void put_attribute(const Object& object, const std::string& name, std::string_view text);
void put_attribute(const Object& object, const std::string& name, Index value);
void put_attribute(const Object& object, const std::string& name, double value);
/// Throw IoError where the attribute is missing or of another kind.
std::string text_attribute(const Object& object, const std::string& name);
Index integer_attribute(const Object& object, const std::string& name);
double real_attribute(const Object& object, const std::string& name);

void flush(const Object& file);

/// Leaves a file whose writing failed open until the process ends: closing it would write more of what does not fit, in
/// no safe order, and HDF5 1.10 frees memory that it goes on to use. Readers see it as they see a killed run's.
void abandon(Object file);

}  // namespace onebit::sim::h5
