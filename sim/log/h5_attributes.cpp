#include <algorithm>

#include "sim/log/contents.hpp"
#include "sim/log/h5.hpp"

namespace onebit::sim::h5 {
namespace {

// In native order: see link_names().
herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* data) noexcept {
  static_cast<std::vector<std::string>*>(data)->emplace_back(name);
  return 0;
}

void write_attribute(const Object& object, const std::string& name, hid_t type, hid_t space, const void* value) {
  const Where where = attribute_place(object, name);
  if (object.contents) object.contents->note(where.object, type, value, H5Sget_simple_extent_npoints(space));
  const hid_t id = H5Acreate2(object.id.get(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
  Id attribute(check(id, where), H5Aclose);
  check(H5Awrite(attribute.get(), type, value), where);
  close(attribute, where);
}

void write_scalar(const Object& object, const std::string& name, hid_t type, const void* value) {
  const Id space(check(H5Screate(H5S_SCALAR), object.where), H5Sclose);
  write_attribute(object, name, type, space.get(), value);
}

}  // namespace

Where attribute_place(const Object& object, const std::string& name) {
  return {object.where.access, object.where.file, object.where.object + " attribute " + name, object.where.kind};
}

std::vector<std::string> attribute_names(const Object& object) {
  std::vector<std::string> names;
  hsize_t position = 0;
  const herr_t status = H5Aiterate2(object.id.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect_name, &names);
  check(status, object.where);
  std::sort(names.begin(), names.end());
  return names;
}

void put_attribute(const Object& object, const std::string& name, const Attribute& attribute) {
  write_attribute(object, name, attribute.type.get(), attribute.space.get(), attribute.value.data());
}

void put_attribute(const Object& object, const std::string& name, std::string_view text) {
  // HDF5 would read past the end of an empty text: its strings have at least one byte.
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  write_scalar(object, name, text_type(padded.size()).get(), padded.data());
}

void put_attribute(const Object& object, const std::string& name, Index value) {
  write_scalar(object, name, H5T_NATIVE_INT64, &value);
}

void put_attribute(const Object& object, const std::string& name, double value) {
  write_scalar(object, name, H5T_NATIVE_DOUBLE, &value);
}

}  // namespace onebit::sim::h5
