#include "tests/fuzz/log_variants.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include "sim/log/compact.hpp"
#include "sim/log/h5.hpp"
#include "sim/log/writer.hpp"

namespace onebit::fuzz {
namespace {

using Edit = std::function<void(const sim::h5::Object&)>;

Bytes bytes_of(const std::string& path) {
  Bytes bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void write_bytes(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void fill(sim::LogWriter& log) {
  for (Index step = 1; step <= 3; ++step) {
    log.append(sim::StepRow{.step = step, .samples = 8 * step});
    log.append(sim::WorkerRow{step, {1, 2}, {3, 4}});
    log.append(sim::ProbeRow{.step = step});
    log.append(sim::EvaluationRow{step, 8 * step, 1, 0.5, 100});
    log.append(sim::Event{step, "freeze", "text"});
    log.append(step, {netmodel::Traffic{}});
  }
}

sim::LogHeader header() {
  sim::LogHeader header;
  header.workers = 2;
  header.tensors = {{"weight", 6, 2}, {"bias", 2}};
  header.config = {{"optimizer", "adam"}};
  header.per_tensor = false;
  header.probed = true;
  return header;
}

/// The paths of all objects and attributes of a group and of everything in it.
struct Names {
  std::vector<std::string> objects, attributes;  ///< attributes as "object:name"
};

void collect(const sim::h5::Object& file, const std::string& group, Names& names) {
  const sim::h5::Object object = sim::h5::open_group(file, group.empty() ? "/" : group);
  for (const std::string& name : sim::h5::attribute_names(object)) names.attributes.push_back(group + ":" + name);
  for (const std::string& name : sim::h5::link_names(object)) {
    const std::string path = group + "/" + name;
    names.objects.push_back(path);
    H5O_info_t info{};
    require(H5Oget_info_by_name(file.id.get(), path.c_str(), &info, H5P_DEFAULT) >= 0);
    if (info.type == H5O_TYPE_GROUP) collect(file, path, names);
    if (info.type != H5O_TYPE_DATASET) continue;
    for (const std::string& attribute : sim::h5::attribute_names(sim::h5::open_dataset(file, path))) {
      if (attribute != "units" && attribute != "doc") names.attributes.push_back(path + ":" + attribute);
    }
  }
}

/// Returns edits that remove an object or put another one in its place.
std::vector<Edit> edits_of_object(const std::string& path) {
  const auto remove = [path](const sim::h5::Object& file) {
    require(H5Ldelete(file.id.get(), path.c_str(), H5P_DEFAULT) >= 0);
  };
  const auto instead = [remove](auto create) {
    return Edit([=](const sim::h5::Object& file) {
      remove(file);
      create(file);
    });
  };
  return {remove,
          instead([path](const auto& file) { sim::h5::close(sim::h5::create_group(file, path)); }),
          instead([path](const auto& file) { sim::h5::create_scalar(file, path, H5T_NATIVE_INT64); }),
          instead([path](const auto& file) { sim::h5::create_array(file, path, H5T_NATIVE_FLOAT, 2); }),
          instead([path](const auto& file) { sim::h5::create_array(file, path, sim::h5::text_type(3).get(), 5); }),
          instead([path](const auto& file) {
            const std::vector<Index> sizes{3, 1, 2};
            sim::h5::create_box(file, path, H5T_NATIVE_DOUBLE, sizes);
          }),
          instead([path](const auto& file) { sim::h5::create_rows(file, path, H5T_NATIVE_DOUBLE, 7); })};
}

std::vector<Edit> edits_of_attribute(const std::string& path) {
  const std::string name = path.substr(path.find(':') + 1);
  const std::string group = path.find(':') == 0 ? "/" : path.substr(0, path.find(':'));
  const auto instead = [=](auto put) {
    return Edit([=](const sim::h5::Object& file) {
      const sim::h5::Object object{{H5Oopen(file.id.get(), group.c_str(), H5P_DEFAULT), H5Oclose}, file.where};
      require(H5Adelete(object.id.get(), name.c_str()) >= 0);
      put(object);
    });
  };
  const auto value = [=](auto number) {
    return instead([=](const auto& object) { sim::h5::put_attribute(object, name, number); });
  };
  return {instead([](const auto&) {}),
          value(Index{-1}),
          value(std::numeric_limits<Index>::max()),
          value(std::numeric_limits<double>::quiet_NaN()),
          value(std::string_view("x\ny")),
          instead([=](const auto& object) {
            const hsize_t size = 3;
            const sim::h5::Id space(H5Screate_simple(1, &size, nullptr), H5Sclose);
            const sim::h5::Id attribute(
                H5Acreate2(object.id.get(), name.c_str(), H5T_NATIVE_INT64, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                H5Aclose);
            require(attribute.get() >= 0);
          })};
}

sim::h5::Object open_for_edit(const std::string& path) {
  return {{H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose}, {sim::h5::Access::write, path}};
}

constexpr std::size_t kBlock = 64;

/// Compares block by block; the last block may be smaller.
LogVariant variant_of(const Bytes& first, const Bytes& bytes) {
  static constexpr std::uint8_t zeros[kBlock] = {};
  LogVariant variant{bytes.size(), {}, {}};
  Bytes base = first;
  base.resize(bytes.size());
  for (std::size_t begin = 0; begin < bytes.size(); begin += kBlock) {
    const std::size_t size = std::min(kBlock, bytes.size() - begin);
    const std::uint8_t* block = bytes.data() + begin;
    if (std::memcmp(block, zeros, size) != 0) variant.blocks.push_back(begin / kBlock);
    if (std::memcmp(block, base.data() + begin, size) == 0) continue;
    const bool follows = !variant.differences.empty() &&
                         variant.differences.back().first + variant.differences.back().second.size() == begin;
    if (!follows) variant.differences.emplace_back(begin, Bytes());
    Bytes& different = variant.differences.back().second;
    different.insert(different.end(), block, block + size);
  }
  return variant;
}

/// Keeps only a few columns of /steps: most are alike, and each takes time.
void leave_few_columns(const std::string& path) {
  constexpr std::string_view kept[] = {"step", "samples", "loss", "variance_ratio", "variance_ratio_corrected"};
  const sim::h5::Object file = open_for_edit(path);
  for (const std::string& column : sim::h5::link_names(sim::h5::open_group(file, "steps"))) {
    if (std::ranges::find(kept, column) == std::end(kept))
      require(H5Ldelete(file.id.get(), ("steps/" + column).c_str(), H5P_DEFAULT) >= 0);
  }
}

}  // namespace

void LogVariant::apply(Changes& changes) const {
  changes.resize(size);
  for (const auto& [place, bytes] : differences) changes.write(place, bytes);
}

std::size_t LogVariant::place(std::size_t number) const {
  return std::min(blocks[number / kBlock % blocks.size()] * kBlock + number % kBlock, size - 1);
}

Logs make_logs() {
  ScratchFile file;
  const std::string& path = file.path();
  sim::LogWriter log(path, header(), true);
  fill(log);
  log.flush();
  const Bytes killed = bytes_of(path);
  log.close(sim::RunStatus::finished);
  const Bytes finished = bytes_of(path);
  sim::compress_log(path, 5);
  const Bytes compressed = bytes_of(path);
  leave_few_columns(path);
  sim::compress_log(path, 5);

  Logs logs{bytes_of(path), {}};
  const auto add = [&](const Bytes& bytes) { logs.variants.push_back(variant_of(logs.first, bytes)); };
  for (const Bytes& bytes : {finished, killed, compressed, logs.first}) add(bytes);
  Names names;
  collect(open_for_edit(path), "", names);
  std::vector<Edit> edits;
  for (const std::string& object : names.objects) std::ranges::copy(edits_of_object(object), std::back_inserter(edits));
  for (const std::string& name : names.attributes)
    std::ranges::copy(edits_of_attribute(name), std::back_inserter(edits));
  for (const Edit& edit : edits) {
    edit(open_for_edit(path));
    add(bytes_of(path));
    write_bytes(path, logs.first);
  }
  return logs;
}

}  // namespace onebit::fuzz
