#include "sim/trace.hpp"

#include <algorithm>
#include <filesystem>

#include "device/error.hpp"
#include "device/text.hpp"
#include "sim/log/h5.hpp"
#include "sim/log/output_file.hpp"

namespace onebit::sim {
namespace {

[[noreturn]] void bad_trace(const std::string& path, const std::string& why) {
  throw ConfigError("cannot read gradient trace: " + why, path,
                    "a trace holds gradients [steps, workers, parameters], x0 [parameters], tensor_sizes [tensors]");
}

h5::Object open_trace(const std::string& path) {
  if (!std::filesystem::exists(path)) bad_trace(path, "no such file");
  if (!std::filesystem::is_regular_file(path)) bad_trace(path, "not an HDF5 file but a folder or a device");
  try {
    return h5::open_file(path, false);
  } catch (const IoError&) {
    bad_trace(path, "not an HDF5 file, or truncated");
  }
}

/// Sizes of a dataset of `rank` dimensions; they are what HDF5 stores, so reading them cannot run past the file.
std::vector<Index> sizes_of(const h5::Object& file, const std::string& name, std::size_t rank) {
  if (!h5::exists(file, name)) bad_trace(file.where.file, "no dataset " + name);
  const h5::Object dataset = h5::open_dataset(file, name);
  const h5::Id type(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) bad_trace(file.where.file, name + " does not hold numbers");
  const std::vector<hsize_t> sizes = h5::extents(dataset);
  if (sizes.size() != rank) bad_trace(file.where.file, name + " has " + std::to_string(sizes.size()) + " dimensions");
  std::vector<Index> result;
  for (hsize_t size : sizes) {
    if (size > hsize_t{1} << 40) bad_trace(file.where.file, name + " is implausibly large");
    result.push_back(static_cast<Index>(size));
  }
  return result;
}

template <class T>
std::vector<T> read_vector(const h5::Object& file, const std::string& name, hid_t type, Index size) {
  std::vector<T> values(static_cast<std::size_t>(size));
  h5::read_rows(h5::open_dataset(file, name), type, values.data(), size);
  return values;
}

/// h5py writes texts of variable length, others of fixed length.
std::string read_text(const h5::Id& attribute, const h5::Id& type, const h5::Where& where) {
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    h5::check(H5Aread(attribute.get(), type.get(), &text), where);
    const std::string copy = text == nullptr ? "" : text;
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type.get()), '\0');
  h5::check(H5Aread(attribute.get(), type.get(), text.data()), where);
  return text.substr(0, text.find('\0'));
}

GradientTrace::Attribute read_attribute(const h5::Object& group, const std::string& name) {
  const h5::Id attribute(h5::check(H5Aopen(group.id.get(), name.c_str(), H5P_DEFAULT), group.where), H5Aclose);
  const h5::Id type(h5::check(H5Aget_type(attribute.get()), group.where), H5Tclose);
  if (H5Tget_class(type.get()) == H5T_STRING) return {{}, read_text(attribute, type, group.where)};
  const h5::Id space(h5::check(H5Aget_space(attribute.get()), group.where), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > 1024) h5::fail(group.where, "implausible attribute " + name);
  GradientTrace::Attribute value{std::vector<double>(static_cast<std::size_t>(count)), ""};
  h5::check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, value.numbers.data()), group.where);
  return value;
}

}  // namespace

struct GradientTrace::File {
  h5::Object file;
  h5::Object gradients;
};

GradientTrace::GradientTrace(const std::string& path) : file_(new File{open_trace(path), {}}) {
  const h5::Object& file = file_->file;
  const std::vector<Index> shape = sizes_of(file, "gradients", 3);
  steps_ = shape[0];
  workers_ = shape[1];
  parameters_ = shape[2];
  if (steps_ < 1 || workers_ < 1 || parameters_ < 1) bad_trace(path, "gradients is empty");
  if (sizes_of(file, "x0", 1)[0] != parameters_) bad_trace(path, "x0 and gradients differ in parameters");
  x0_ = read_vector<float>(file, "x0", H5T_NATIVE_FLOAT, parameters_);
  const Index tensors = sizes_of(file, "tensor_sizes", 1)[0];
  if (tensors > parameters_) bad_trace(path, "more tensors than parameters");
  tensor_sizes_ = read_vector<Index>(file, "tensor_sizes", H5T_NATIVE_INT64, tensors);
  Index left = parameters_;
  for (Index size : tensor_sizes_) {
    if (size < 0 || size > left) bad_trace(path, "tensor_sizes does not sum to the parameters");
    left -= size;
  }
  if (left != 0) bad_trace(path, "tensor_sizes does not sum to the parameters");
  file_->gradients = h5::open_dataset(file, "gradients");
}

GradientTrace::~GradientTrace() = default;

void GradientTrace::read_step(Index step, std::vector<float>& gradients) const {
  gradients.resize(static_cast<std::size_t>(workers_ * parameters_));
  h5::read_rows(file_->gradients, H5T_NATIVE_FLOAT, gradients.data(), 1, step);
}

std::vector<std::string> GradientTrace::cases() const {
  std::vector<std::string> names;
  for (const std::string& name : h5::link_names(file_->file)) {
    if (h5::exists(file_->file, name + "/params")) names.push_back(name);
  }
  return names;
}

std::map<std::string, GradientTrace::Attribute> GradientTrace::attributes(const std::string& name) const {
  const std::vector<std::string> known = cases();
  const std::vector<std::string_view> views(known.begin(), known.end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw ConfigError("unknown case", file_->file.where.file + ": " + name,
                      known.empty() ? "the trace has no cases" : suggestion(name, views));
  }
  const std::vector<Index> shape = sizes_of(file_->file, name + "/params", 2);
  if (shape[0] != steps_ || shape[1] != parameters_)
    bad_trace(file_->file.where.file, name + "/params has another shape");
  const h5::Object group = h5::open_group(file_->file, name);
  std::map<std::string, Attribute> values;
  for (const std::string& attribute : h5::attribute_names(group)) values[attribute] = read_attribute(group, attribute);
  return values;
}

std::vector<float> GradientTrace::reference(const std::string& name, Index step) const {
  std::vector<float> values(static_cast<std::size_t>(parameters_));
  h5::read_rows(h5::open_dataset(file_->file, name + "/params"), H5T_NATIVE_FLOAT, values.data(), 1, step);
  return values;
}

bool GradientTrace::has_worker_reference(const std::string& name) const {
  const std::string dataset = name + "/params_all_workers";
  if (!h5::exists(file_->file, dataset)) return false;
  if (sizes_of(file_->file, dataset, 3) != std::vector<Index>{workers_, steps_, parameters_})
    bad_trace(file_->file.where.file, dataset + " has another shape");
  return true;
}

std::vector<float> GradientTrace::worker_reference(const std::string& name, Index step) const {
  std::vector<float> values(static_cast<std::size_t>(workers_ * parameters_));
  h5::read_layer(h5::open_dataset(file_->file, name + "/params_all_workers"), H5T_NATIVE_FLOAT, values.data(), step);
  return values;
}

struct TraceWriter::File {
  h5::Object file;
  h5::Object params;
  h5::Object all;
  bool has_all;
};

TraceWriter::TraceWriter(const std::string& path, Index parameters, bool overwrite, Index worker_rows, Index steps)
    : file_(new File{create_output(path, overwrite), {}, {}, worker_rows > 0}) {
  file_->params = h5::create_rows(file_->file, "params", H5T_NATIVE_FLOAT, parameters);
  if (!file_->has_all) return;
  file_->all = h5::create_box(file_->file, "params_all_workers", H5T_NATIVE_FLOAT,
                              std::vector<Index>{worker_rows, steps, parameters});
}

TraceWriter::~TraceWriter() {
  if (file_) remove_output(file_->file);  // not closed: the replay failed
}

void TraceWriter::write_step(Index step, const std::vector<float>& parameters) {
  h5::append_rows(file_->params, H5T_NATIVE_FLOAT, parameters.data(), step, 1);
  if (file_->has_all) h5::write_layer(file_->all, H5T_NATIVE_FLOAT, parameters.data(), step);
}

void TraceWriter::close() {
  h5::flush(file_->file);
  file_.reset();
}

}  // namespace onebit::sim
