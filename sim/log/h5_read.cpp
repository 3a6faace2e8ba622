// Checks sizes and values of a file before they are read, and reads attributes.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "sim/log/h5.hpp"

namespace onebit::sim::h5 {
namespace {

constexpr double most_elements = 0x1p62;                         // of a dataset; their number must fit into an Index
constexpr double most_elements_of_row = 0x1p50;                  // so that their number of bytes fits, too
constexpr std::size_t attribute_limit = std::size_t{256} << 20;  // bytes; a larger attribute is damaged
constexpr std::size_t most_numbers = 1024;                       // largest number of values in an attribute

// Deflate shrinks data at most 1032-fold, so more bytes than this per byte of the file cannot be real.
constexpr double max_inflation = 1100;

bool is_number(H5T_class_t kind) {
  return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM;
}

/// An attribute that is being read.
struct Open {
  Id id, type, space;
  Where where;

  Open(const Object& object, const std::string& name)
      : id(check(H5Aopen(object.id.get(), name.c_str(), H5P_DEFAULT), attribute_place(object, name)), H5Aclose),
        type(check(H5Aget_type(id.get()), attribute_place(object, name)), H5Tclose),
        space(check(H5Aget_space(id.get()), attribute_place(object, name)), H5Sclose),
        where(attribute_place(object, name)) {}

  std::size_t count() const {
    return static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space.get()), where));
  }
  std::size_t plausible(std::size_t values, std::size_t value_bytes) const {
    if (value_bytes > attribute_limit || values > attribute_limit / std::max<std::size_t>(value_bytes, 1)) {
      fail(where, "the attribute is implausibly large");
    }
    return values * value_bytes;
  }
  void read(hid_t memory_type, const Target& target) const {
    check_fits(type.get(), static_cast<hssize_t>(count()), memory_type, target, where);
    check(H5Aread(id.get(), memory_type, target.data), where);
  }
};

template <class Number>
Number number_attribute(const Object& object, const std::string& name, hid_t type) {
  const Open attribute(object, name);
  if (attribute.count() != 1) fail(attribute.where, "the attribute is not one value");
  Number value = 0;
  attribute.read(type, std::span(&value, 1));
  return value;
}

struct FreeText {
  void operator()(char* text) const { H5free_memory(text); }
};

// Reads the single value as a pointer; check_fits() covers all other reads.
std::string variable_text(const Open& attribute) {
  char* text = nullptr;
  check(H5Aread(attribute.id.get(), attribute.type.get(), &text), attribute.where);
  const std::unique_ptr<char, FreeText> owner(text);
  return text == nullptr ? "" : text;
}

/// Returns the sizes of a dataset's chunks; none if it is not chunked.
std::vector<hsize_t> chunk_sizes(const Object& dataset) {
  const Id creation(check(H5Dget_create_plist(dataset.id.get()), dataset.where), H5Pclose);
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return {};
  std::vector<hsize_t> sizes(extents(dataset).size());
  check(H5Pget_chunk(creation.get(), static_cast<int>(sizes.size()), sizes.data()), dataset.where);
  return sizes;
}

struct Chunk {
  haddr_t address = HADDR_UNDEF;  ///< in the file; HADDR_UNDEF: it is not stored
  hsize_t bytes = 0;
};

/// Finds the first chunk of a row.
Chunk chunk_at(const Object& dataset, hsize_t row) {
  std::vector<hsize_t> place(extents(dataset).size(), 0);
  place[0] = row;
  unsigned filters = 0;
  Chunk chunk;
  check(H5Dget_chunk_info_by_coord(dataset.id.get(), place.data(), &filters, &chunk.address, &chunk.bytes),
        dataset.where);
  return chunk;
}

}  // namespace

std::vector<hsize_t> extents(const Object& dataset) {
  const Id space(check(H5Dget_space(dataset.id.get()), dataset.where), H5Sclose);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space.get()), dataset.where)));
  if (!sizes.empty()) check(H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr), dataset.where);
  double elements = 1;
  for (const hsize_t size : sizes) elements *= static_cast<double>(std::max<hsize_t>(size, 1));
  if (elements > most_elements) fail(dataset.where, "its size is implausible");
  return sizes;
}

Index elements_of_row(const Object& dataset) {
  const std::vector<hsize_t> sizes = extents(dataset);
  Index elements = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) elements *= static_cast<Index>(sizes[i]);
  if (static_cast<double>(elements) > most_elements_of_row) fail(dataset.where, "its size is implausible");
  return elements;
}

bool is_plain(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) return H5Tis_variable_str(type) == 0;
  if (kind == H5T_ARRAY) return is_plain(Id(H5Tget_super(type), H5Tclose).get());
  if (kind != H5T_COMPOUND) return kind != H5T_VLEN && kind != H5T_REFERENCE && kind != H5T_NO_CLASS;
  const int members = H5Tget_nmembers(type);
  for (int i = 0; i < members; ++i) {
    if (!is_plain(Id(H5Tget_member_type(type, static_cast<unsigned>(i)), H5Tclose).get())) return false;
  }
  return members > 0;
}

void check_fits(hid_t stored, hssize_t count, hid_t memory_type, const Target& target, const Where& where) {
  const H5T_class_t kind = H5Tget_class(stored), wanted = H5Tget_class(memory_type);
  if (kind != wanted && !(is_number(kind) && is_number(wanted))) fail(where, "its values have an unexpected type");
  const bool same = H5Tequal(stored, memory_type) > 0;
  if (!same && (!is_plain(stored) || !is_plain(memory_type))) fail(where, "its values are of variable length");
  const std::size_t size = H5Tget_size(memory_type);
  if (count < 0 || size == 0 || target.bytes % size != 0 || target.bytes / size != static_cast<std::size_t>(count)) {
    fail(where, "it has an unexpected number of values: " + std::to_string(count));
  }
}

Index stored_rows(const Object& dataset, Index rows, Index file_bytes) {
  const auto is_inside = [&](haddr_t place, hsize_t bytes) {
    return place != HADDR_UNDEF && place <= static_cast<haddr_t>(file_bytes) &&
           bytes <= static_cast<hsize_t>(file_bytes) - place;
  };
  const std::vector<hsize_t> chunk = chunk_sizes(dataset);
  if (chunk.empty()) {
    const hsize_t bytes = H5Dget_storage_size(dataset.id.get());
    return is_inside(H5Dget_offset(dataset.id.get()), bytes) ? rows : 0;
  }
  for (hsize_t row = 0; static_cast<Index>(row) < rows; row += chunk[0]) {
    const auto [address, bytes] = chunk_at(dataset, row);
    if (!is_inside(address, bytes)) return static_cast<Index>(row);
  }
  return rows;
}

void require_stored(const Object& dataset, Index rows) {
  const std::vector<hsize_t> chunk = chunk_sizes(dataset), size = extents(dataset);
  if (chunk.empty() || elements_of_row(dataset) == 0) return;
  hsize_t whole = 1, stored = 0;
  for (std::size_t i = 0; i < size.size(); ++i) whole *= (size[i] + chunk[i] - 1) / chunk[i];
  const Id space(check(H5Dget_space(dataset.id.get()), dataset.where), H5Sclose);  // HDF5 1.10 refuses H5S_ALL here
  check(H5Dget_num_chunks(dataset.id.get(), space.get(), &stored), dataset.where);
  if (stored >= whole) return;
  // HDF5 takes a long time to find one of many chunks, so this check comes second.
  Index missing = 0, parts = 0;
  for (hsize_t row = 0; static_cast<Index>(row) < rows; row += chunk[0], ++parts) {
    if (chunk_at(dataset, row).address == HADDR_UNDEF) ++missing;
  }
  if (missing > 0) fail(dataset.where, std::to_string(missing) + " of " + std::to_string(parts) + " parts are missing");
}

void check_plausible(const Object& dataset, double bytes) {
  std::error_code error;
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(dataset.where.file, error));
  if (error || !(bytes <= max_inflation * file_bytes)) fail(dataset.where, "its size is implausible");
}

bool is_text_attribute(const Object& object, const std::string& name) {
  return H5Tget_class(Open(object, name).type.get()) == H5T_STRING;
}

std::string text_attribute(const Object& object, const std::string& name) {
  const Open attribute(object, name);
  if (H5Tget_class(attribute.type.get()) != H5T_STRING) fail(attribute.where, "the attribute is not a string");
  if (attribute.count() != 1) fail(attribute.where, "the attribute is not one value");
  if (H5Tis_variable_str(attribute.type.get()) != 0) return variable_text(attribute);
  std::string text(attribute.plausible(1, H5Tget_size(attribute.type.get())), '\0');
  attribute.read(attribute.type.get(), text);
  return text.substr(0, text.find('\0'));
}

Index integer_attribute(const Object& object, const std::string& name) {
  return number_attribute<Index>(object, name, H5T_NATIVE_INT64);
}

double real_attribute(const Object& object, const std::string& name) {
  return number_attribute<double>(object, name, H5T_NATIVE_DOUBLE);
}

std::vector<double> numbers_attribute(const Object& object, const std::string& name) {
  const Open attribute(object, name);
  if (attribute.count() > most_numbers) fail(attribute.where, "the attribute has more than 1024 values");
  std::vector<double> values(attribute.count());
  attribute.read(H5T_NATIVE_DOUBLE, values);
  return values;
}

Attribute stored_attribute(const Object& object, const std::string& name) {
  Open source(object, name);
  std::vector<char> values(source.plausible(source.count(), H5Tget_size(source.type.get())));
  source.read(source.type.get(), values);
  const auto count = static_cast<Index>(source.count());
  return {std::move(source.type), std::move(source.space), count, std::move(values)};
}

}  // namespace onebit::sim::h5
