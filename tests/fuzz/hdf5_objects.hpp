#pragma once
// HDF5 objects as any program can write them: the input decides their types and sizes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/log/h5.hpp"
#include "tests/fuzz/scratch_file.hpp"

namespace onebit::fuzz {

using sim::h5::Id, sim::h5::Object;

inline constexpr std::size_t kMostBytes = std::size_t{1}
                                          << 16;  // largest size of the values of one object that is written

inline const std::uint8_t* values() {
  static const std::vector<std::uint8_t> bytes(kMostBytes);
  return bytes.data();
}

/// Returns a type that a program might have chosen.
inline Id type_of(std::uint8_t choice) {
  const hsize_t three = 3;
  switch (choice % 12) {
    case 0:
      return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    case 1:
      return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
    case 2:
      return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    case 3:
      return {H5Tcopy(H5T_STD_U8BE), H5Tclose};
    case 4:
      return sim::h5::text_type(1U + choice);
    case 5:
      return sim::h5::text_type(H5T_VARIABLE);
    case 6:
      return {H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &three), H5Tclose};
    case 7:
      return {H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose};
    case 8:
      return {H5Tcreate(H5T_OPAQUE, 1U + choice), H5Tclose};
    case 9:
      return {H5Tcopy(H5T_STD_REF_OBJ), H5Tclose};
    case 10:
      return {H5Tenum_create(H5T_NATIVE_INT8), H5Tclose};
    default: {
      Id compound(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
      H5Tinsert(compound.get(), "a", 0, H5T_NATIVE_FLOAT);
      return compound;
    }
  }
}

/// Returns the sizes wanted or, if the first byte says so, others: up to four dimensions, up to 2^60.
inline std::vector<hsize_t> sizes_of(Input& input, std::vector<hsize_t> wanted) {
  const std::uint8_t choice = input.byte();
  if (choice % 4 != 3) return wanted;
  std::vector<hsize_t> sizes(choice / 4 % 5);
  for (hsize_t& size : sizes) {
    const std::uint8_t byte = input.byte();
    size = byte < 192 ? byte % 8 : hsize_t{1} << (byte - 192) % 61;
  }
  return sizes;
}

inline Id space_of(const std::vector<hsize_t>& sizes, std::uint8_t choice) {
  if (sizes.empty()) return {H5Screate(choice % 8 == 7 ? H5S_NULL : H5S_SCALAR), H5Sclose};
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose};
}

inline bool is_small(const Id& type, const std::vector<hsize_t>& sizes) {
  double bytes = static_cast<double>(H5Tget_size(type.get()));
  for (const hsize_t size : sizes) bytes *= static_cast<double>(size);
  return bytes <= static_cast<double>(kMostBytes);
}

/// Writes a dataset, in most cases of type `wanted`; it is chunked if it has too many values to write.
inline void add_dataset(Input& input, const Object& file, const char* name, std::uint8_t wanted,
                        const std::vector<hsize_t>& wanted_sizes) {
  const std::uint8_t choice = input.byte();
  const Id type = type_of(choice % 4 != 3 ? wanted : choice / 4);
  const std::vector<hsize_t> sizes = sizes_of(input, wanted_sizes);
  const Id space = space_of(sizes, choice), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const bool small = is_small(type, sizes);
  const std::vector<hsize_t> chunk(sizes.size(), 1);
  if (!small) H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
  const Id dataset(H5Dcreate2(file.id.get(), name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                   H5Dclose);
  if (dataset.get() < 0 || !small || H5Sget_simple_extent_npoints(space.get()) == 0) return;
  static constexpr std::int64_t size = 4;
  const bool whole = std::strcmp(name, "tensor_sizes") == 0 && H5Tequal(type.get(), H5T_NATIVE_INT64) > 0 &&
                     H5Sget_simple_extent_npoints(space.get()) == 1;
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
           whole ? static_cast<const void*>(&size) : values());
}

/// Creates an empty file at `path`.
inline Object create_file(const std::string& path) {
  Object file{{H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose}, {}};
  require(file.id.get() >= 0);
  return file;
}

inline bool nothing_open() {
  return H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0;
}

inline void add_attribute(Input& input, const Object& group, const char* name) {
  const std::uint8_t choice = input.byte();
  const Id type = type_of(choice);
  const std::vector<hsize_t> sizes = sizes_of(input, {});
  const Id space = space_of(sizes, choice);
  if (!is_small(type, sizes)) return;
  const Id attribute(H5Acreate2(group.id.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute.get() >= 0) H5Awrite(attribute.get(), type.get(), values());
}

}  // namespace onebit::fuzz
