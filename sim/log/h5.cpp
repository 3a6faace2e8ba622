#include "sim/log/h5.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "device/base/error.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/read_check.hpp"

namespace onebit::sim::h5 {
namespace {

constexpr std::size_t chunk_bytes = 32 * 1024;
constexpr hsize_t chunk_rows = 1024;
constexpr hsize_t page_bytes = 4096;  // of memory, on all machines known to us; larger pages are multiples of this

// A SWMR reader that meets a half-written block tries again after 1, 2, 4, ... ns. With HDF5's default of 100 attempts,
// reading a damaged file would never end; 26 attempts take 0.1 s in all.
constexpr unsigned swmr_read_attempts = 26;

// After a failure to close a file, HDF5 1.10 keeps an identifier that refers to freed memory, and its exit handler
// crashes on it. We close everything that we open, so the handler has no other work. It must be turned off before HDF5
// is first used, so this happens during static initialisation.
[[maybe_unused]] const herr_t no_exit_handler = H5dont_atexit();

// Keeps the operating system's message if there is one, otherwise the innermost description.
herr_t collect_reason(unsigned, const H5E_error2_t* error, void* data) noexcept {
  auto& text = *static_cast<std::string*>(data);
  const std::string_view description = error->desc ? error->desc : "";
  static constexpr std::string_view marker = "error message = '";
  if (const auto begin = description.find(marker); begin != description.npos) {
    const auto message = description.substr(begin + marker.size());
    text = message.substr(0, message.find('\''));
    return 1;
  }
  if (text.empty()) text = description;
  return 0;
}

// Always iterate in native order. In any other order HDF5 1.10 first builds a table, and if damage makes it give up
// halfway, it frees invalid pointers.
herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* data) noexcept {
  static_cast<std::vector<std::string>*>(data)->emplace_back(name);
  return 0;
}

Where inside(const Object& parent, std::string_view name) {
  const std::string& folder = parent.where.object;
  return {parent.where.access, parent.where.file, (folder == "/" ? folder : folder + "/") + std::string(name),
          parent.where.kind};
}

void silence() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

/// Leaves the times of objects out of the file, so that files with equal contents are equal even if written at
/// different times.
void leave_out_times(const Id& creation, const Where& where) {
  check(H5Pset_obj_track_times(check(creation.get(), where), false), where);
}

Object create_dataset(const Object& file, std::string_view name, hid_t type, const Id& space, const Id& creation) {
  const Where where = inside(file, name);
  check(space.get(), where);
  leave_out_times(creation, where);
  const hid_t id =
      H5Dcreate2(file.id.get(), std::string(name).c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT);
  return {Id(check(id, where), H5Dclose), where, file.contents};
}

// A part of a dataset: its place in the file, and its packed shape in memory.
struct Selection {
  Id file;
  Id memory;
};

Selection select(const Object& dataset, std::size_t dimension, Index first, Index size) {
  std::vector<hsize_t> count = extents(dataset);
  std::vector<hsize_t> start(count.size(), 0);
  start[dimension] = static_cast<hsize_t>(first);
  count[dimension] = static_cast<hsize_t>(size);
  Id file(check(H5Dget_space(dataset.id.get()), dataset.where), H5Sclose);
  const herr_t status = H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  check(status, dataset.where);
  const hid_t memory = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
  return {std::move(file), Id(check(memory, dataset.where), H5Sclose)};
}

void read(const Object& dataset, hid_t memory_type, const Selection& part, const Target& target) {
  const Id stored(check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const hssize_t count = H5Sget_select_npoints(part.file.get());
  check_fits(stored.get(), count, memory_type, target, dataset.where);
  const herr_t status =
      H5Dread(dataset.id.get(), memory_type, part.memory.get(), part.file.get(), H5P_DEFAULT, target.data);
  check(status, dataset.where);
}

/// Whether a stored type is the wanted one. An enumeration or a compound of an earlier log may have fewer members.
bool is_stored_as(hid_t stored, hid_t wanted) {
  const H5T_class_t kind = H5Tget_class(stored);
  if (H5Tequal(stored, wanted) > 0) return true;
  if (kind != H5Tget_class(wanted)) return false;
  if (kind == H5T_ENUM) return H5Tget_size(stored) == H5Tget_size(wanted);
  if (kind != H5T_COMPOUND) return false;
  for (int i = 0; i < H5Tget_nmembers(stored); ++i) {
    const auto member = static_cast<unsigned>(i);
    const std::unique_ptr<char, herr_t (*)(void*)> name(H5Tget_member_name(stored, member), H5free_memory);
    const int there = name ? H5Tget_member_index(wanted, name.get()) : -1;
    if (there < 0) return false;
    const Id own(H5Tget_member_type(stored, member), H5Tclose);
    const Id other(H5Tget_member_type(wanted, static_cast<unsigned>(there)), H5Tclose);
    if (!is_stored_as(own.get(), other.get())) return false;
  }
  return true;
}

/// Notes what is written to rows of a dataset.
void note_rows(const Object& dataset, hid_t type, const void* data, Index rows, Index first) {
  if (!dataset.contents) return;
  const Id stored(check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const Index width = elements_of_row(dataset);
  const Index row_bytes = width * static_cast<Index>(H5Tget_size(stored.get()));
  dataset.contents->note(dataset.where.object, type, data, rows * width, first * row_bytes);
}

}  // namespace

std::string reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_reason, &text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "HDF5 gives no reason" : text;
}

void fail(const Where& where, const std::string& why) {
  const char* verb = where.access == Access::read ? "read" : "write";
  const std::string place = where.object == "/" ? where.file : where.file + ": " + where.object;
  throw IoError("cannot " + std::string(verb) + " " + where.kind + ": " + why, place);
}

void fail(const Where& where) {
  fail(where, reason());
}

Object create_file(const std::string& path, const std::string& kind, Index user_block, Space space) {
  silence();
  const Where where{Access::write, path, "/", kind};
  const Id access(check(H5Pcreate(H5P_FILE_ACCESS), where), H5Pclose);
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), where);
  const Id creation(check(H5Pcreate(H5P_FILE_CREATE), where), H5Pclose);
  check(H5Pset_userblock(creation.get(), static_cast<hsize_t>(user_block)), where);
  leave_out_times(creation, where);
  if (space == Space::paged) {
    check(H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_PAGE, false, 1), where);
    check(H5Pset_file_space_page_size(creation.get(), page_bytes), where);
  }
  const bool taken = ::access(path.c_str(), F_OK) == 0;
  Id file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), H5Fclose);
  if (file.get() < 0) {
    const std::string why = reason();
    if (!taken) unlink(path.c_str());  // remove what HDF5 has created so far
    fail(where, why);
  }
  return {std::move(file), where, std::make_shared<Contents>()};
}

Object open_file(const std::string& path, bool swmr, const std::string& kind) {
  require_readable(path, swmr, kind);
  return open_own(path, kind, swmr);
}

Object open_own(const std::string& path, const std::string& kind, bool swmr) {
  silence();
  const Where where{Access::read, path, "/", kind};
  const Id access(check(H5Pcreate(H5P_FILE_ACCESS), where), H5Pclose);
  if (swmr) check(H5Pset_metadata_read_attempts(access.get(), swmr_read_attempts), where);
  const unsigned flags = H5F_ACC_RDONLY | (swmr ? H5F_ACC_SWMR_READ : 0u);
  return {Id(check(H5Fopen(path.c_str(), flags, access.get()), where), H5Fclose), where};
}

Object open_again(const std::string& path) {
  silence();
  const Where where{Access::write, path};
  const Id access(check(H5Pcreate(H5P_FILE_ACCESS), where), H5Pclose);
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), where);
  check(H5Pset_file_locking(access.get(), false, true), where);
  check(H5Pset_metadata_read_attempts(access.get(), 1), where);  // nobody else writes: see swmr_read_attempts
  // The tool h5clear sets the same property, which has no public name.
  const hbool_t clear = true;
  check(H5Pset(access.get(), "clear_status_flags", &clear), where);
  Object file{Id(check(H5Fopen(path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access.get()), where), H5Fclose), where,
              std::make_shared<Contents>()};
  // A killed writer may have written beyond the end that the superblock records. New data must go after that, on a
  // new page.
  hsize_t size = 0;
  check(H5Fget_filesize(file.id.get(), &size), where);
  check(H5Fincrement_filesize(file.id.get(), (page_bytes - size % page_bytes) % page_bytes), where);
  return file;
}

// HDF5 may fail here on data of another object, so the message names only the file.
void close(Id& id, const Where& where) {
  if (!id.close()) fail({where.access, where.file, "/", where.kind});
}

void close(Object& object) {
  close(object.id, object.where);
}

void close(Object&& object) {
  close(object);
}

// While an object is open, HDF5 would postpone closing the file and report nothing.
void close_file(Object& file) {
  flush(file);
  const unsigned kinds = H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_ATTR | H5F_OBJ_LOCAL;
  if (H5Fget_obj_count(file.id.get(), kinds) != 0) fail(file.where, "a part of it is still open");
  close(file);
}

Object create_group(const Object& file, std::string_view name) {
  const Where where = inside(file, name);
  const Id creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  leave_out_times(creation, where);
  const hid_t id = H5Gcreate2(file.id.get(), std::string(name).c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT);
  return {Id(check(id, where), H5Gclose), where, file.contents};
}

Object open_group(const Object& file, std::string_view name) {
  const Where where = inside(file, name);
  return {Id(check(H5Gopen2(file.id.get(), std::string(name).c_str(), H5P_DEFAULT), where), H5Gclose), where,
          file.contents};
}

bool exists(const Object& file, std::string_view name) {
  const auto is_there = [&](const std::string& part) {  // HDF5 checks only the last part of a path
    return check(H5Lexists(file.id.get(), part.c_str(), H5P_DEFAULT), inside(file, part)) > 0;
  };
  for (auto end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
    const std::string group(name.substr(0, end));
    if (!is_there(group) || type_of_link(file, group) != H5O_TYPE_GROUP) return false;
  }
  return is_there(std::string(name));
}

std::vector<std::string> link_names(const Object& group) {
  std::vector<std::string> names;
  hsize_t start = 0;
  check(H5Literate(group.id.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &start, collect_name, &names), group.where);
  std::sort(names.begin(), names.end());
  return names;
}

H5O_type_t type_of_link(const Object& group, const std::string& name) {
  H5O_info_t info;
  check(H5Oget_info_by_name2(group.id.get(), name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT), inside(group, name));
  return info.type;
}

haddr_t address(const Object& object) {
  H5O_info_t info;
  check(H5Oget_info2(object.id.get(), &info, H5O_INFO_BASIC), object.where);
  return info.addr;
}

Id text_type(std::size_t size) {
  const Where where{Access::write, "in memory", "text type"};
  Id type(check(H5Tcopy(H5T_C_S1), where), H5Tclose);
  check(H5Tset_size(type.get(), std::max<std::size_t>(size, 1)), where);
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), where);
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), where);
  return type;
}

Object create_scalar(const Object& file, std::string_view name, hid_t type) {
  return create_dataset(file, name, type, Id(H5Screate(H5S_SCALAR), H5Sclose),
                        Id(H5Pcreate(H5P_DATASET_CREATE), H5Pclose));
}

Object create_array(const Object& file, std::string_view name, hid_t type, Index count) {
  const auto size = static_cast<hsize_t>(count);
  return create_dataset(file, name, type, Id(H5Screate_simple(1, &size, nullptr), H5Sclose),
                        Id(H5Pcreate(H5P_DATASET_CREATE), H5Pclose));
}

Object create_box(const Object& file, std::string_view name, hid_t type, std::span<const Index> sizes) {
  const std::vector<hsize_t> size(sizes.begin(), sizes.end());
  return create_dataset(file, name, type,
                        Id(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose),
                        Id(H5Pcreate(H5P_DATASET_CREATE), H5Pclose));
}

Object create_rows(const Object& file, std::string_view name, hid_t type, Index width) {
  const int rank = width < 0 ? 1 : 2;
  const auto columns = static_cast<hsize_t>(std::max<Index>(width, 0));
  const hsize_t chunk_columns = std::max<hsize_t>(columns, 1);
  const hsize_t fitting = chunk_bytes / (H5Tget_size(type) * chunk_columns);
  const std::array<hsize_t, 2> size = {0, columns};
  const std::array<hsize_t, 2> limit = {H5S_UNLIMITED, columns};
  const std::array<hsize_t, 2> chunk = {std::clamp<hsize_t>(fitting, 1, chunk_rows), chunk_columns};
  Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_chunk(creation.get(), rank, chunk.data()), inside(file, name));
  return create_dataset(file, name, type, Id(H5Screate_simple(rank, size.data(), limit.data()), H5Sclose), creation);
}

Object open_dataset(const Object& file, std::string_view name) {
  const Where where = inside(file, name);
  Object dataset{Id(check(H5Dopen2(file.id.get(), std::string(name).c_str(), H5P_DEFAULT), where), H5Dclose), where,
                 file.contents};
  const Id creation(check(H5Dget_create_plist(dataset.id.get()), where), H5Pclose);
  if (H5Pget_external_count(creation.get()) > 0 || H5Pget_layout(creation.get()) == H5D_VIRTUAL) {
    fail(where, "its values are in other files");
  }
  return dataset;
}

Object open_rows(const Object& file, std::string_view name, hid_t type, Index width) {
  Object dataset = open_dataset(file, name);
  const std::vector<hsize_t> sizes = extents(dataset);
  const bool fits = width < 0 ? sizes.size() == 1 : sizes.size() == 2 && sizes[1] == static_cast<hsize_t>(width);
  if (!fits) fail(dataset.where, "it has an unexpected shape");
  const Id stored(check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  if (!is_stored_as(stored.get(), type)) fail(dataset.where, "its values have an unexpected type");
  const auto row_bytes = static_cast<double>(elements_of_row(dataset)) * static_cast<double>(H5Tget_size(type));
  check_plausible(dataset, static_cast<double>(sizes[0]) * row_bytes);
  return dataset;
}

void write(const Object& dataset, hid_t memory_type, const void* data) {
  const std::vector<hsize_t> sizes = extents(dataset);
  note_rows(dataset, memory_type, data, sizes.empty() ? 1 : static_cast<Index>(sizes[0]), 0);
  check(H5Dwrite(dataset.id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), dataset.where);
}

void append_rows(const Object& dataset, hid_t memory_type, const void* data, Index written, Index rows) {
  set_rows(dataset, written + rows);
  write_rows(dataset, memory_type, data, rows, written);
}

void set_rows(const Object& dataset, Index rows) {
  std::vector<hsize_t> size = extents(dataset);
  size[0] = static_cast<hsize_t>(rows);
  check(H5Dset_extent(dataset.id.get(), size.data()), dataset.where);
}

void write_rows(const Object& dataset, hid_t memory_type, const void* data, Index rows, Index first) {
  if (rows == 0 || extents(dataset).back() == 0) return;
  note_rows(dataset, memory_type, data, rows, first);
  const Selection part = select(dataset, 0, first, rows);
  const herr_t status = H5Dwrite(dataset.id.get(), memory_type, part.memory.get(), part.file.get(), H5P_DEFAULT, data);
  check(status, dataset.where);
}

void read_rows(const Object& dataset, hid_t memory_type, Target target, Index rows, Index first) {
  const std::vector<hsize_t> size = extents(dataset);
  if (size.empty()) {
    const Selection all{Id(check(H5Dget_space(dataset.id.get()), dataset.where), H5Sclose),
                        Id(check(H5Screate(H5S_SCALAR), dataset.where), H5Sclose)};
    return read(dataset, memory_type, all, target);
  }
  if (rows == 0 || size.back() == 0) return;
  read(dataset, memory_type, select(dataset, 0, first, rows), target);
}

void write_layer(const Object& dataset, hid_t memory_type, const void* data, Index layer) {
  if (dataset.contents) dataset.contents->note_layer(dataset, memory_type, data, layer);
  const Selection part = select(dataset, 1, layer, 1);
  const herr_t status = H5Dwrite(dataset.id.get(), memory_type, part.memory.get(), part.file.get(), H5P_DEFAULT, data);
  check(status, dataset.where);
}

void read_layer(const Object& dataset, hid_t memory_type, Target target, Index layer) {
  read(dataset, memory_type, select(dataset, 1, layer, 1), target);
}

void flush(const Object& file) {
  check(H5Fflush(file.id.get(), H5F_SCOPE_LOCAL), file.where);
}

void abandon(Object file) {
  static auto& abandoned = *new std::vector<Object>;  // never destroyed
  abandoned.push_back(std::move(file));
}

}  // namespace onebit::sim::h5
