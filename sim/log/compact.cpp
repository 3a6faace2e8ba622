#include "sim/log/compact.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "device/error.hpp"
#include "sim/log/output_file.hpp"

namespace onebit::sim {
namespace {

constexpr std::size_t kPiece = std::size_t{8} << 20;  // bytes that are copied at a time

void copy_attributes(const h5::Object& from, const h5::Object& to) {
  for (const std::string& name : h5::attribute_names(from)) {
    const h5::Id source(h5::check(H5Aopen(from.id.get(), name.c_str(), H5P_DEFAULT), from.where), H5Aclose);
    const h5::Id type(h5::check(H5Aget_type(source.get()), from.where), H5Tclose);
    const h5::Id space(h5::check(H5Aget_space(source.get()), from.where), H5Sclose);
    std::vector<char> value(static_cast<std::size_t>(H5Aget_storage_size(source.get())));
    h5::check(H5Aread(source.get(), type.get(), value.data()), from.where);
    const hid_t id = H5Acreate2(to.id.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT);
    const h5::Id target(h5::check(id, to.where), H5Aclose);
    h5::check(H5Awrite(target.get(), type.get(), value.data()), to.where);
  }
}

/// A dataset of the same type, shape and chunks, compressed where it has chunks.
h5::Object create_like(const h5::Object& from, const h5::Object& folder, const std::string& name, int level) {
  const h5::Id type(h5::check(H5Dget_type(from.id.get()), from.where), H5Tclose);
  const h5::Id space(h5::check(H5Dget_space(from.id.get()), from.where), H5Sclose);
  const h5::Id creation(h5::check(H5Dget_create_plist(from.id.get()), from.where), H5Pclose);
  if (H5Pget_layout(creation.get()) == H5D_CHUNKED) {
    h5::check(H5Premove_filter(creation.get(), H5Z_FILTER_ALL), from.where);
    h5::check(H5Pset_shuffle(creation.get()), from.where);
    h5::check(H5Pset_deflate(creation.get(), static_cast<unsigned>(level)), from.where);
  }
  h5::Where where = folder.where;
  where.object = from.where.object;
  const hid_t id =
      H5Dcreate2(folder.id.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT);
  return {h5::Id(h5::check(id, where), H5Dclose), where};
}

void copy_values(const h5::Object& from, const h5::Object& to) {
  const h5::Id type(h5::check(H5Dget_type(from.id.get()), from.where), H5Tclose);
  const std::vector<hsize_t> sizes = h5::extents(from);
  std::size_t row_bytes = H5Tget_size(type.get());
  for (std::size_t i = 1; i < sizes.size(); ++i) row_bytes *= static_cast<std::size_t>(sizes[i]);
  const auto rows = sizes.empty() ? Index{1} : static_cast<Index>(sizes[0]);
  const auto most = static_cast<Index>(std::max<std::size_t>(1, kPiece / std::max<std::size_t>(1, row_bytes)));
  std::vector<char> piece(static_cast<std::size_t>(std::min(most, rows)) * row_bytes);
  if (sizes.empty()) {
    h5::read_rows(from, type.get(), piece.data(), 0);
    return h5::write(to, type.get(), piece.data());
  }
  for (Index first = 0; first < rows; first += most) {
    const Index count = std::min(most, rows - first);
    h5::read_rows(from, type.get(), piece.data(), count, first);
    h5::write_rows(to, type.get(), piece.data(), count, first);
  }
}

void copy_group(const h5::Object& from, const h5::Object& to, int level) {
  copy_attributes(from, to);
  for (const std::string& name : h5::link_names(from)) {
    H5O_info_t info;
    h5::check(H5Oget_info_by_name2(from.id.get(), name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT), from.where);
    if (info.type == H5O_TYPE_GROUP) {
      copy_group(h5::open_group(from, name), h5::create_group(to, name), level);
    } else if (info.type == H5O_TYPE_DATASET) {
      const h5::Object source = h5::open_dataset(from, name);
      const h5::Object target = create_like(source, to, name, level);
      copy_values(source, target);
      copy_attributes(source, target);
    }
  }
}

void write_copy(const std::string& path, const std::string& part, int level) {
  const h5::Object from = h5::open_file(path, false);
  h5::Object to = create_output(part, true);
  try {
    copy_group(from, to, level);
    h5::flush(to);
  } catch (...) {
    remove_output(to);
    h5::abandon(std::move(to));
    throw;
  }
}

}  // namespace

void compress_log(const std::string& path, int level) {
  const SharedLock lock(path);  // whoever replaces or continues a log asks for an exclusive one
  const std::string part = path + ".compressed";
  write_copy(path, part, level);
  synchronize_path(part);
  std::error_code error;
  std::filesystem::rename(part, path, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(part, error);
    throw IoError("cannot write log: " + reason, path);
  }
  synchronize_folder_of(path);
}

}  // namespace onebit::sim
