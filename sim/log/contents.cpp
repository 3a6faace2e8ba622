#include "sim/log/contents.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::sim::h5 {
namespace {

/// Copies values as files store them: without the padding that compounds have in memory.
std::vector<char> without_gaps(hid_t type, const void* data, Index elements) {
  const Where where{Access::write, "in memory", "types"};
  const Id packed(check(H5Tcopy(type), where), H5Tclose);
  check(H5Tpack(packed.get()), where);
  std::vector<char> values(static_cast<std::size_t>(elements) * H5Tget_size(type));
  if (!values.empty()) std::memcpy(values.data(), data, values.size());
  const auto count = static_cast<std::size_t>(elements);
  std::vector<char> background(values.size());  // HDF5 converts compounds through it
  check(H5Tconvert(type, packed.get(), count, values.data(), background.data(), H5P_DEFAULT), where);
  values.resize(count * H5Tget_size(packed.get()));
  return values;
}

}  // namespace

void Contents::add(const std::string& path, Index first_byte, const void* data, Index bytes) {
  Parts& parts = objects_[path];
  const auto* values = static_cast<const unsigned char*>(data);
  const auto size = static_cast<std::size_t>(bytes);
  const auto next = parts.lower_bound(first_byte);
  const bool follows = next != parts.begin() && std::prev(next)->first + std::prev(next)->second.bytes == first_byte;
  if (!follows) {
    parts[first_byte] = {bytes, crc32_z(0, values, size)};
    return;
  }
  Part& before = std::prev(next)->second;
  before = {before.bytes + bytes, crc32_z(before.crc, values, size)};
}

void Contents::note(const std::string& path, hid_t type, const void* data, Index elements, Index first_byte) {
  if (elements == 0 || !is_plain(type)) return;
  if (H5Tget_class(type) != H5T_COMPOUND) {
    return add(path, first_byte, data, elements * static_cast<Index>(H5Tget_size(type)));
  }
  const std::vector<char> values = without_gaps(type, data, elements);
  add(path, first_byte, values.data(), static_cast<Index>(values.size()));
}

void Contents::note_layer(const Object& dataset, hid_t type, const void* data, Index layer) {
  const std::vector<hsize_t> sizes = extents(dataset);
  const auto layers = static_cast<Index>(sizes[1]), width = static_cast<Index>(sizes[2]);
  const auto bytes = width * static_cast<Index>(H5Tget_size(type));
  for (Index i = 0; i < static_cast<Index>(sizes[0]); ++i) {
    const char* values = static_cast<const char*>(data) + i * bytes;
    note(dataset.where.object, type, values, width, (i * layers + layer) * bytes);
  }
}

void Contents::note_layers(const Object& dataset, hid_t type) {
  const std::vector<hsize_t> sizes = extents(dataset);
  check_plausible(dataset, static_cast<double>(H5Tget_size(type) * sizes[0]) * static_cast<double>(sizes[2]));
  std::vector<char> values(H5Tget_size(type) * sizes[0] * sizes[2]);
  for (Index layer = 0; layer < static_cast<Index>(sizes[1]); ++layer) {
    read_layer(dataset, type, values, layer);
    note_layer(dataset, type, values.data(), layer);
  }
}

void Contents::note_stored(const Object& dataset) {
  const std::string& path = dataset.where.object;
  const Id type(check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const auto bytes = static_cast<Index>(H5Tget_size(type.get()));
  if (!is_plain(type.get())) return;
  if (extents(dataset).empty()) {
    std::vector<char> value(static_cast<std::size_t>(bytes));
    read_rows(dataset, type.get(), value, 0);
    return note(path, type.get(), value.data(), 1);
  }
  if (extents(dataset).size() == 3) return note_layers(dataset, type.get());  // as write_layer() does
  const Index width = elements_of_row(dataset);
  for_each_piece(dataset, [&](const std::vector<char>& piece, Index rows, Index first) {
    note(path, type.get(), piece.data(), rows * width, first * width * bytes);
  });
}

void Contents::note_attributes(const Object& object) {
  for (const std::string& name : attribute_names(object)) {
    const Attribute attribute = stored_attribute(object, name);
    note(attribute_place(object, name).object, attribute.type.get(), attribute.value.data(), attribute.elements);
  }
}

void Contents::note_group(const Object& group, std::set<haddr_t>& seen) {
  if (!seen.insert(address(group)).second) fail(group.where, "a group has two names");
  note_attributes(group);
  for (const std::string& name : link_names(group)) {
    const H5O_type_t kind = type_of_link(group, name);
    if (kind == H5O_TYPE_GROUP) note_group(open_group(group, name), seen);
    if (kind != H5O_TYPE_DATASET) continue;  // a group, which has just been noted, or a named type
    const Object dataset = open_dataset(group, name);
    note_stored(dataset);
    note_attributes(dataset);
  }
}

Contents Contents::of(const Object& file) {
  Contents contents;
  std::set<haddr_t> seen;
  contents.note_group(file, seen);
  return contents;
}

Contents::Part Contents::joined(const Parts& parts) {
  Part whole;
  for (const auto& [first, part] : parts) {
    if (first != whole.bytes) return {-1, 0};  // bytes are missing, or were noted twice
    whole.crc = crc32_combine(whole.crc, part.crc, part.bytes);
    whole.bytes += part.bytes;
  }
  return whole;
}

void Contents::require_in(const Contents& found, const Where& file) const {
  for (const auto& [path, parts] : objects_) {
    const auto there = found.objects_.find(path);
    if (there != found.objects_.end() && joined(there->second) == joined(parts)) continue;
    fail({file.access, file.file, path, file.kind},
         "its contents differ from what was written; the disk may be failing");
  }
}

std::uint32_t Contents::checksum() const {
  std::string text;
  for (const auto& [path, parts] : objects_) {
    const Part whole = joined(parts);
    text += path + " " + std::to_string(whole.bytes) + " " + std::to_string(whole.crc) + "\n";
  }
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

Contents read_back(const Object& closed) {
  const Where where{Access::write, closed.where.file, "/", closed.where.kind};
  try {
    return Contents::of(open_own(where.file, where.kind));
  } catch (const IoError& error) {
    fail(where, "reading it back failed: " + std::string(error.what()));
  }
}

void verify(const Object& closed) {
  closed.contents->require_in(read_back(closed), closed.where);
}

}  // namespace onebit::sim::h5
