#include "sim/log/compact.hpp"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/output_file.hpp"
#include "sim/log/read_check.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

void copy_attributes(const h5::Object& from, const h5::Object& to) {
  for (const std::string& name : h5::attribute_names(from)) {
    h5::put_attribute(to, name, h5::stored_attribute(from, name));
  }
}

/// Creates a dataset of the same type, shape and chunks, compressed if it has chunks.
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
  return {h5::Id(h5::check(id, where), H5Dclose), where, folder.contents};
}

void copy_values(const h5::Object& from, const h5::Object& to) {
  const h5::Id type(h5::check(H5Dget_type(from.id.get()), from.where), H5Tclose);
  if (h5::extents(from).empty()) {
    std::vector<char> value(H5Tget_size(type.get()));
    h5::read_rows(from, type.get(), value, 0);
    return h5::write(to, type.get(), value.data());
  }
  h5::for_each_piece(from, [&](const std::vector<char>& piece, Index rows, Index first) {
    h5::write_rows(to, type.get(), piece.data(), rows, first);
  });
}

void copy_group(const h5::Object& from, const h5::Object& to, int level) {
  copy_attributes(from, to);
  for (const std::string& name : h5::link_names(from)) {
    const H5O_type_t kind = h5::type_of_link(from, name);
    if (kind == H5O_TYPE_GROUP) {
      h5::Object target = h5::create_group(to, name);
      copy_group(h5::open_group(from, name), target, level);
      h5::close(target);
    } else if (kind == H5O_TYPE_DATASET) {
      const h5::Object source = h5::open_dataset(from, name);
      h5::Object target = create_like(source, to, name, level);
      copy_values(source, target);
      copy_attributes(source, target);
      h5::close(target);
    }
  }
}

/// Writes the copy and closes it.
h5::Object write_copy(const std::string& path, const std::string& part, int level) {
  const h5::Object from = h5::open_own(path);
  h5::Object to = create_part(part, h5::Space::paged);  // a run may continue it
  try {
    copy_group(from, to, level);
    h5::close_file(to);
    return to;
  } catch (...) {
    remove_output(to);
    h5::abandon(std::move(to));
    throw;
  }
}

}  // namespace

void compress_log(const std::string& path, int level) {
  const SharedLock lock(path);  // programs that replace or continue a log need an exclusive lock
  const std::string part = part_of(path);
  const h5::Object copy = write_copy(path, part, level);
  files::publish(part, path, "log", [&] { h5::verify(copy); });
  note_readable(path);
}

void remove_left_part(const std::string& path) {
  const std::string part = part_of(path);
  std::error_code error;  // ignored: a file that cannot be removed stays
  if (!fs::exists(fs::symlink_status(part, error)) || !fs::exists(path, error)) return;
  try {
    replace_unused(path, [&] { return unlink(part.c_str()); });
  } catch (const ConfigError&) {
    // The file stays, because a program has the log open or the folder cannot be changed.
  }
}

}  // namespace onebit::sim
