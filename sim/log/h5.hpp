#pragma once
// Thin owners of HDF5 identifiers. Every C call is checked; a failure becomes an IoError that names the file and the
// object. HDF5's own printing to stderr is off. Internal to sim: only this header includes hdf5.h.

#include <hdf5.h>

#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim::h5 {

class Contents;

/// Owns one identifier and closes it with the function for its kind. Use h5::close() to close objects that were written
/// to: the destructor cannot report a failure and is meant for readers and error paths.
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

  /// Returns false if HDF5 reports a failure; the identifier is gone in either case.
  bool close() noexcept {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

enum class Access { read, write };

/// Place of an object, for error messages.
struct Where {
  Access access = Access::read;
  std::string file;
  std::string object = "/";
  std::string kind = "log";  ///< kind of the file, as messages call it
};

/// An open file, group or dataset, and its place.
struct Object {
  Id id;
  Where where;
  std::shared_ptr<Contents> contents = {};  ///< what the file should contain, if it is being written
};

/// Memory that a read fills exactly.
struct Target {
  void* data;
  std::size_t bytes;

  Target(void* memory, std::size_t size) : data(memory), bytes(size) {}
  /// The whole of a vector, a string or a span.
  template <std::ranges::contiguous_range Values>
  Target(Values&& values) : data(std::ranges::data(values)), bytes(std::ranges::size(values) * sizeof(values[0])) {}
};

/// Returns why the last HDF5 call failed, in one line: the operating system's message if there is one, otherwise HDF5's
/// innermost description.
std::string reason();

/// Throws IoError "cannot read|write <kind>: <reason> (<file>: <object>)".
[[noreturn]] void fail(const Where& where);
[[noreturn]] void fail(const Where& where, const std::string& why);

/// Returns the result, or throws as fail() does if the result is negative.
template <class Result>
Result check(Result result, const Where& where) {
  if (result < 0) fail(where);
  return result;
}

/// How HDF5 places what it writes to a new file.
enum class Space {
  packed,  ///< one object directly after another
  paged    ///< nothing smaller than a page of memory crosses a page boundary: see create_file()
};

/// Creates a file in the newest format, as SWMR requires. A file that is written while others read it must be paged:
/// when a process is killed during a write, Linux stops the write at a page boundary, and a half-written block of
/// metadata is unreadable. user_block: number of bytes at the start of the file that HDF5 does not touch (0, 512, 1024,
/// ...). Throws IoError on any failure, and also if the file already exists.
Object create_file(const std::string& path, const std::string& kind = "log", Index user_block = 0,
                   Space space = Space::packed);

/// Opens a file for reading. swmr: the file's writer may still be writing, or may have been killed. Throws IoError, and
/// ConfigError as require_readable() does.
Object open_file(const std::string& path, bool swmr, const std::string& kind = "log");
/// Opens, for reading, a file that this process has written or has to check. Throws IoError.
Object open_own(const std::string& path, const std::string& kind = "log", bool swmr = false);

/// Opens a file for SWMR writing, even if its writer was killed: clears the marks that the writer left. The caller must
/// keep other writers away. Throws IoError.
Object open_again(const std::string& path);

/// Closes an object that was written to; HDF5 does not write small datasets and compressed chunks until this
/// point. Throws IoError.
void close(Id& id, const Where& where);
void close(Object& object);
void close(Object&& object);
/// Closes a file. Throws IoError if writing fails, or if an object in the file is still open.
void close_file(Object& file);

[[nodiscard]] Object create_group(const Object& file, std::string_view name);
Object open_group(const Object& file, std::string_view name);
/// Whether an object has a member of that name, which may be a path. Throws IoError if that cannot be read.
bool exists(const Object& file, std::string_view name);
/// Names of a group's links, in alphabetical order.
std::vector<std::string> link_names(const Object& group);
H5O_type_t type_of_link(const Object& group, const std::string& name);
/// Address of an open object in its file. It does not depend on the name by which the object was opened.
haddr_t address(const Object& object);
std::vector<std::string> attribute_names(const Object& object);

Id text_type(std::size_t size);  ///< type of texts of a fixed length, UTF-8, padded with NUL

/// Creates a dataset of one element.
Object create_scalar(const Object& file, std::string_view name, hid_t type);
/// Creates a dataset with `count` elements.
Object create_array(const Object& file, std::string_view name, hid_t type, Index count);
/// Creates a dataset whose dimensions have fixed sizes, slowest dimension first.
Object create_box(const Object& file, std::string_view name, hid_t type, std::span<const Index> sizes);
/// Creates a chunked dataset with no rows yet. width < 0: one value per row, else `width` values per row.
Object create_rows(const Object& file, std::string_view name, hid_t type, Index width);
/// Opens a dataset that create_rows() made, for writing. Throws IoError if its type or width differs, or if it claims
/// more rows than the file can hold. Only damage can cause this. Without the check, HDF5 would convert values to the
/// wrong type or look for chunks that do not exist.
Object open_rows(const Object& file, std::string_view name, hid_t type, Index width);
/// Opens a dataset. Throws IoError on any failure, and also if its values are stored in other files.
Object open_dataset(const Object& file, std::string_view name);

/// Sizes of a dataset's dimensions, slowest dimension first; empty for a scalar. Throws IoError on any failure, and
/// also if they are too large for any file.
std::vector<hsize_t> extents(const Object& dataset);
/// Number of elements at one index of the first dimension; 1 for a scalar.
Index elements_of_row(const Object& dataset);
/// Number of leading rows, at most `rows`, that are stored within the first `file_bytes` bytes of the file.
/// HDF5 reads other rows as zeros if the file is opened with swmr.
Index stored_rows(const Object& dataset, Index rows, Index file_bytes);
/// Throws IoError if some of the first `rows` rows of a chunked dataset are not stored anywhere. The dataset's index
/// has then lost a chunk, and HDF5 would read these rows as zeros.
void require_stored(const Object& dataset, Index rows);
/// Writes the whole dataset.
void write(const Object& dataset, hid_t memory_type, const void* data);
/// Extends the dataset from `written` rows by `rows` and writes them.
void append_rows(const Object& dataset, hid_t memory_type, const void* data, Index written, Index rows);
/// Cuts or extends the dataset to `rows` rows.
void set_rows(const Object& dataset, Index rows);
/// Overwrites `rows` existing rows, starting at row `first`.
void write_rows(const Object& dataset, hid_t memory_type, const void* data, Index rows, Index first);
/// Reads `rows` rows starting at row `first` (the whole dataset if it is a scalar). Throws IoError if the rows do not
/// exist, contain values of another kind, or do not fill `target` exactly.
void read_rows(const Object& dataset, hid_t memory_type, Target target, Index rows, Index first = 0);

/// Write or read the elements at one index of the second of three dimensions.
void write_layer(const Object& dataset, hid_t memory_type, const void* data, Index layer);
void read_layer(const Object& dataset, hid_t memory_type, Target target, Index layer);

/// Whether values of this type contain neither pointers to memory (as values of variable length do) nor references that
/// are meaningful only in their file.
bool is_plain(hid_t type);
/// Checks that a read is safe. Throws IoError unless `count` values of the file's type `stored` convert to
/// `memory_type` and fill `target` exactly. Numbers can be converted to any type of number (enumerations count as
/// numbers), other values only to a type of the same class. Values of variable length are read as pointers, so they can
/// be read only in the file's own type.
void check_fits(hid_t stored, hssize_t count, hid_t memory_type, const Target& target, const Where& where);
/// Throws IoError if the dataset's file is too small to hold that many bytes, however well they are compressed. Must be
/// called before memory is allocated according to a size from a file.
void check_plausible(const Object& dataset, double bytes);

void put_attribute(const Object& object, const std::string& name, std::string_view text);
void put_attribute(const Object& object, const std::string& name, Index value);
void put_attribute(const Object& object, const std::string& name, double value);
/// An attribute as it is stored.
struct Attribute {
  Id type, space;
  Index elements = 1;
  std::vector<char> value;
};
Attribute stored_attribute(const Object& object, const std::string& name);
void put_attribute(const Object& object, const std::string& name, const Attribute& attribute);
/// Place of an attribute, for messages.
Where attribute_place(const Object& object, const std::string& name);

/// Return the value of an attribute. Throw IoError if it is missing, of another kind, or not a single value. A text may
/// have fixed or variable length.
std::string text_attribute(const Object& object, const std::string& name);
Index integer_attribute(const Object& object, const std::string& name);
double real_attribute(const Object& object, const std::string& name);
/// Returns an attribute of at most 1024 numbers, of any shape.
std::vector<double> numbers_attribute(const Object& object, const std::string& name);
bool is_text_attribute(const Object& object, const std::string& name);

void flush(const Object& file);

/// Keeps a file open until the process ends, after writing to it has failed. Closing it would write more data, in no
/// safe order, and HDF5 1.10 would use freed memory. To readers it looks like the file of a killed run.
void abandon(Object file);

}  // namespace onebit::sim::h5
