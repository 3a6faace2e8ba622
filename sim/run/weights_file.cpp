#include "sim/run/weights_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/output_file.hpp"

namespace onebit::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 4096;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ConfigError("cannot take initial weights: " + why, path,
                    "a weights file holds weights [parameters], tensor_sizes [tensors], tensor_names [tensors]");
}

h5::Object open_weights(const std::string& path) {
  if (!fs::exists(path)) refuse(path, "no such file");
  if (!fs::is_regular_file(path)) refuse(path, "not an HDF5 file but a folder or a device");
  try {
    return h5::open_file(path, false, "weights");
  } catch (const IoError&) {
    refuse(path, "not an HDF5 file, or truncated");
  }
}

/// Opens a dataset of `count` values of one of two kinds.
h5::Object open_list(const h5::Object& file, const std::string& name, std::size_t count, H5T_class_t kind,
                     H5T_class_t other) {
  const std::string& path = file.where.file;
  if (!h5::exists(file, name)) refuse(path, "no dataset " + name);
  h5::Object dataset = h5::open_dataset(file, name);
  const h5::Id type(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const H5T_class_t found = H5Tget_class(type.get());
  if (found != kind && found != other) refuse(path, name + " has values of another type");
  const std::vector<hsize_t> sizes = h5::extents(dataset);
  if (sizes.size() != 1) refuse(path, name + " has " + std::to_string(sizes.size()) + " dimensions");
  if (sizes[0] != count) {
    refuse(path, name + " has " + std::to_string(sizes[0]) + " values, the model has " + std::to_string(count));
  }
  return dataset;
}

std::vector<std::string> read_names(const h5::Object& dataset, std::size_t count) {
  const h5::Id type(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const std::size_t size = H5Tget_size(type.get());
  if (H5Tis_variable_str(type.get()) != 0 || size > kLongestName) {
    refuse(dataset.where.file, "tensor_names are not strings of one fixed length");
  }
  std::string text(count * size, '\0');
  h5::read_rows(dataset, type.get(), text, static_cast<Index>(count));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string padded = text.substr(i * size, size);
    names.push_back(padded.substr(0, padded.find('\0')));
  }
  return names;
}

std::string described(const std::string& name, Index size) {
  return name + " with " + std::to_string(size) + " elements";
}

void check_tensors(const h5::Object& file, std::span<const compress::Tensor> tensors) {
  const std::size_t count = tensors.size();
  std::vector<Index> sizes(count);
  h5::read_rows(open_list(file, "tensor_sizes", count, H5T_INTEGER, H5T_INTEGER), H5T_NATIVE_INT64, sizes,
                static_cast<Index>(count));
  const std::vector<std::string> names =
      read_names(open_list(file, "tensor_names", count, H5T_STRING, H5T_STRING), count);
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == tensors[i].name && sizes[i] == tensors[i].size) continue;
    refuse(file.where.file, "tensor " + std::to_string(i + 1) + " is " + described(names[i], sizes[i]) +
                                ", the model's is " + described(tensors[i].name, tensors[i].size));
  }
}

h5::Object open_checked(const h5::Object& file, std::span<const compress::Tensor> tensors) {
  check_tensors(file, tensors);
  const auto parameters = static_cast<std::size_t>(compress::total_size(tensors));
  return open_list(file, "weights", parameters, H5T_FLOAT, H5T_INTEGER);
}

void write_list(const h5::Object& file, const std::string& name, hid_t type, Index count, const void* values) {
  h5::Object dataset = h5::create_array(file, name, type, count);
  h5::write(dataset, type, values);
  h5::close(dataset);
}

void write_numbers(const h5::Object& file, std::span<const float> weights, const device::Buffer<float>* owned) {
  const Index shared = std::ssize(weights), all = shared + (owned == nullptr ? 0 : owned->size());
  h5::Object dataset = h5::create_array(file, "weights", H5T_NATIVE_FLOAT, all);
  h5::write_rows(dataset, H5T_NATIVE_FLOAT, weights.data(), shared, 0);
  std::vector<float> piece(static_cast<std::size_t>(std::min(kWeightsAtOnce, all - shared)));
  for (Index at = 0; at < all - shared; at += std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(kWeightsAtOnce, all - shared - at)));
    owned->download(piece, at);
    h5::write_rows(dataset, H5T_NATIVE_FLOAT, piece.data(), std::ssize(piece), shared + at);
  }
  h5::close(dataset);
}

void write_all(const h5::Object& file, std::span<const compress::Tensor> tensors, std::span<const float> weights,
               const device::Buffer<float>* owned) {
  std::size_t longest = 1;
  for (const compress::Tensor& tensor : tensors) longest = std::max(longest, tensor.name.size());
  std::string names;
  for (const compress::Tensor& tensor : tensors) names.append(tensor.name).append(longest - tensor.name.size(), '\0');
  const auto count = static_cast<Index>(tensors.size());
  write_numbers(file, weights, owned);
  write_list(file, "tensor_sizes", H5T_NATIVE_INT64, count, compress::sizes_of(tensors).data());
  write_list(file, "tensor_names", h5::text_type(longest).get(), count, names.data());
}

}  // namespace

void check_weights(const std::string& path, std::span<const compress::Tensor> tensors) {
  const h5::Object file = open_weights(path);
  open_checked(file, tensors);
}

std::vector<float> read_weights(const std::string& path, std::span<const compress::Tensor> tensors) {
  return read_weights(path, tensors, {0, compress::total_size(tensors)});
}

std::vector<float> read_weights(const std::string& path, std::span<const compress::Tensor> tensors, Range part) {
  const h5::Object file = open_weights(path);
  const h5::Object dataset = open_checked(file, tensors);
  std::vector<float> weights(static_cast<std::size_t>(part.count));
  h5::read_rows(dataset, H5T_NATIVE_FLOAT, weights, part.count, part.first);
  const auto bad = std::ranges::find_if_not(weights, [](float weight) { return std::isfinite(weight); });
  if (bad == weights.end()) return weights;
  Index element = part.first + (bad - weights.begin());
  for (const compress::Tensor& tensor : tensors) {
    if (element < tensor.size) {
      throw ConfigError("a weight is not finite",
                        path + ", tensor " + tensor.name + ", element " + std::to_string(element),
                        "start from other weights");
    }
    element -= tensor.size;
  }
  return weights;
}

void check_weights_output(const std::string& path, const std::string& log, bool overwrite) {
  for (const std::string& taken : {path, part_of(path)}) {
    if (!log.empty() && fs::weakly_canonical(taken) == fs::weakly_canonical(log)) {
      throw ConfigError("the log and the weights would be the same file", "out " + log + ", weights-out " + path,
                        "give them different names");
    }
  }
  if (fs::exists(part_of(path))) {
    throw ConfigError("cannot write weights: the temporary file already exists", part_of(path), "move it or remove it");
  }
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder))
    throw ConfigError("cannot write weights: no such folder", path, "make it, or name a file in another one");
  if (access(folder.c_str(), W_OK) != 0)
    throw ConfigError("cannot write weights: the folder is not writable", path, "name a file in another one");
  files::check_output(path, overwrite);
}

void write_weights(const std::string& path, std::span<const compress::Tensor> tensors, std::span<const float> weights,
                   const device::Buffer<float>* owned) {
  const std::string part = part_of(path);
  h5::Object file = create_part(part);
  file.where.kind = "weights";
  try {
    write_all(file, tensors, weights, owned);
    h5::close_file(file);
  } catch (...) {
    remove_output(file);
    h5::abandon(std::move(file));
    throw;
  }
  files::publish(part, path, "weights", [&] { h5::verify(file); });
}

}  // namespace onebit::sim
