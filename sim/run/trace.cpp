#include "sim/run/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "sim/data/hash.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/output_file.hpp"

namespace onebit::sim {
namespace {

constexpr const char* kSquares = "gradient_squares";  ///< the norms of a compact trace

[[noreturn]] void bad_trace(const std::string& path, const std::string& why) {
  throw ConfigError("cannot read gradient trace: " + why, path,
                    "a trace holds gradients [steps, workers, parameters], x0 [parameters], tensor_sizes [tensors]");
}

h5::Object open_trace(const std::string& path) {
  if (!std::filesystem::exists(path)) bad_trace(path, "no such file");
  if (!std::filesystem::is_regular_file(path)) bad_trace(path, "not an HDF5 file but a folder or a device");
  try {
    return h5::open_file(path, false, "gradient trace");
  } catch (const IoError&) {
    bad_trace(path, "not an HDF5 file, or truncated");
  }
}

/// Sizes of a dataset of numbers. Throws ConfigError if a file of this size cannot hold them.
std::vector<Index> sizes_of(const h5::Object& file, const std::string& name) try {
  if (!h5::exists(file, name)) bad_trace(file.where.file, "no dataset " + name);
  const h5::Object dataset = h5::open_dataset(file, name);
  const h5::Id type(h5::check(H5Dget_type(dataset.id.get()), dataset.where), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) bad_trace(file.where.file, name + " does not hold numbers");
  const std::vector<hsize_t> sizes = h5::extents(dataset);
  double bytes = static_cast<double>(H5Tget_size(type.get()));
  for (hsize_t size : sizes) bytes *= static_cast<double>(size);
  h5::check_plausible(dataset, bytes);
  return {sizes.begin(), sizes.end()};
} catch (const IoError& error) {
  throw ConfigError(error.what());
}

std::vector<Index> sizes_of(const h5::Object& file, const std::string& name, std::size_t rank) {
  std::vector<Index> sizes = sizes_of(file, name);
  if (sizes.size() != rank) bad_trace(file.where.file, name + " has " + std::to_string(sizes.size()) + " dimensions");
  return sizes;
}

template <class T>
std::vector<T> read_vector(const h5::Object& file, const std::string& name, hid_t type, Index size) {
  std::vector<T> values(static_cast<std::size_t>(size));
  h5::read_rows(h5::open_dataset(file, name), type, values, size);
  return values;
}

GradientTrace::Attribute read_attribute(const h5::Object& group, const std::string& name) {
  if (h5::is_text_attribute(group, name)) return {{}, h5::text_attribute(group, name)};
  return {h5::numbers_attribute(group, name), ""};
}

/// The datasets of a case.
class CaseDraws final : public compress::RecordedDraws {
 public:
  CaseDraws(h5::Object group, Index steps) : group_(std::move(group)), steps_(steps) {}

  std::optional<compress::RecordedArray> find(const std::string& name) const override {
    if (!h5::exists(group_, name)) return std::nullopt;
    compress::RecordedArray array{sizes_of(group_, name), {}};
    Index count = 1;
    for (const Index size : array.sizes) {
      if (size > 0 && count > kMost / size) bad_trace(group_.where.file, name + " is implausibly large");
      count *= size;
    }
    array.values.resize(static_cast<std::size_t>(count));
    if (array.sizes.empty() || count == 0) return array;
    h5::read_rows(h5::open_dataset(group_, name), H5T_NATIVE_DOUBLE, array.values, array.sizes[0]);
    return array;
  }
  Index steps() const override { return steps_; }

 private:
  static constexpr Index kMost = Index{1} << 30;  ///< largest number of elements in a dataset
  h5::Object group_;
  Index steps_;
};

/// Returns the path of a dataset: the case's own if it has one, otherwise the one of the whole trace.
std::string own_or_common(const h5::Object& file, const std::string& name, const std::string& dataset) {
  const std::string own = name + "/" + dataset;
  return !name.empty() && h5::exists(file, own) ? own : dataset;
}

}  // namespace

struct GradientTrace::File {
  h5::Object file;
  h5::Object gradients;
  h5::Object losses = {};
};

/// Returns the path of the gradients. If only the cases have gradients and none is named, returns the path of the first
/// case's gradients, because the sizes can be read from them.
std::string GradientTrace::gradients_of(const std::string& name) const {
  const std::string place = own_or_common(file_->file, name, "gradients");
  if (h5::exists(file_->file, place)) return place;
  for (const std::string& other : cases()) {
    if (h5::exists(file_->file, other + "/gradients")) return other + "/gradients";
  }
  return place;
}

GradientTrace::GradientTrace(const std::string& path, const std::string& name) try
    : file_(new File{open_trace(path), {}}) {
  const h5::Object& file = file_->file;
  const std::string gradients = gradients_of(name), x0 = own_or_common(file, name, "x0");
  compact_ = !h5::exists(file, gradients) && h5::exists(file, kSquares);
  if (compact_) {
    read_compact();
    return;
  }
  const std::vector<Index> shape = sizes_of(file, gradients, 3);
  steps_ = shape[0];
  workers_ = shape[1];
  parameters_ = shape[2];
  if (steps_ < 1 || workers_ < 1 || parameters_ < 1) bad_trace(path, "gradients is empty");
  if (sizes_of(file, x0, 1)[0] != parameters_) bad_trace(path, "x0 and gradients differ in their number of parameters");
  x0_ = read_vector<float>(file, x0, H5T_NATIVE_FLOAT, parameters_);
  read_tensors();
  if (gradients != own_or_common(file, name, "gradients")) return;
  file_->gradients = h5::open_dataset(file, gradients);
  read_losses(gradients.substr(0, gradients.size() - std::strlen("gradients")) + "losses", workers_);
} catch (const IoError& error) {
  throw ConfigError(error.what());
}

void GradientTrace::read_compact() {
  const h5::Object& file = file_->file;
  const std::string& path = file.where.file;
  const std::vector<Index> shape = sizes_of(file, kSquares, 2);
  steps_ = shape[0];
  workers_ = 1;
  if (steps_ < 1 || shape[1] < 1) bad_trace(path, std::string(kSquares) + " is empty");
  if (sizes_of(file, "tensor_sizes", 1)[0] != shape[1])
    bad_trace(path, std::string(kSquares) + " and tensor_sizes differ in their number of tensors");
  tensor_sizes_ = read_vector<Index>(file, "tensor_sizes", H5T_NATIVE_INT64, shape[1]);
  std::vector<Index> held;
  for (const Index size : tensor_sizes_) {
    if (size < 0) bad_trace(path, "tensor_sizes holds a negative size");
    held.push_back(std::min<Index>(size, 1));
    parameters_ += held.back();
  }
  if (parameters_ == 0) bad_trace(path, "all tensors are empty");
  x0_.assign(static_cast<std::size_t>(parameters_), 0);
  tensors_ = compress::unnamed(held);
  file_->gradients = h5::open_dataset(file, kSquares);
  if (h5::exists(file, "losses")) read_losses("losses", sizes_of(file, "losses", 2)[1]);
}

/// Opens the losses, if there are any.
void GradientTrace::read_losses(const std::string& place, Index columns) {
  const h5::Object& file = file_->file;
  if (!h5::exists(file, place)) return;
  if (columns < 1 || sizes_of(file, place, 2) != std::vector<Index>{steps_, columns})
    bad_trace(file.where.file, place + " is not [steps, workers]");
  file_->losses = h5::open_dataset(file, place);
}

void GradientTrace::read_tensors() {
  const h5::Object& file = file_->file;
  const std::string& path = file.where.file;
  const Index tensors = sizes_of(file, "tensor_sizes", 1)[0];
  if (tensors > parameters_) bad_trace(path, "more tensors than parameters");
  tensor_sizes_ = read_vector<Index>(file, "tensor_sizes", H5T_NATIVE_INT64, tensors);
  Index left = parameters_;
  for (Index size : tensor_sizes_) {
    if (size < 0 || size > left) bad_trace(path, "tensor_sizes does not sum to the number of parameters");
    left -= size;
  }
  if (left != 0) bad_trace(path, "tensor_sizes does not sum to the number of parameters");
  tensors_ = compress::unnamed(tensor_sizes_);
  if (!h5::exists(file, "tensor_shapes")) return;
  if (sizes_of(file, "tensor_shapes", 2) != std::vector<Index>{tensors, 2})
    bad_trace(path, "tensor_shapes is not [tensors, 2]");
  std::vector<Index> shapes(static_cast<std::size_t>(2 * tensors));
  h5::read_rows(h5::open_dataset(file, "tensor_shapes"), H5T_NATIVE_INT64, shapes, tensors);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Index rows = shapes[2 * i], columns = shapes[2 * i + 1], size = tensors_[i].size;
    if (columns == 0) continue;
    if (rows < 1 || columns < 0 || rows > size || size % rows != 0 || size / rows != columns) {
      bad_trace(path, "tensor_shapes does not match tensor_sizes");
    }
    tensors_[i].rows = rows;
  }
}

GradientTrace::~GradientTrace() = default;

const std::string& GradientTrace::path() const {
  return file_->file.where.file;
}

void GradientTrace::read_step(Index step, std::vector<float>& gradients) const {
  if (file_->gradients.id.get() < 0) {
    throw ConfigError("every case of the trace has its own gradients", file_->file.where.file,
                      "choose a case with --reference");
  }
  gradients.resize(static_cast<std::size_t>(workers_ * parameters_));
  if (!compact_) return h5::read_rows(file_->gradients, H5T_NATIVE_FLOAT, gradients, 1, step);
  const std::vector<double> squares = numbers_of_tensors(kSquares, step);
  gradients.clear();
  for (std::size_t t = 0; t < squares.size(); ++t) {
    if (tensor_sizes_[t] > 0) gradients.push_back(static_cast<float>(std::sqrt(squares[t])));
  }
}

std::vector<double> GradientTrace::numbers_of_tensors(const std::string& dataset, Index step) const try {
  std::vector<double> numbers;
  const h5::Object& file = file_->file;
  if (!h5::exists(file, dataset)) return numbers;
  numbers.resize(tensor_sizes_.size());
  if (sizes_of(file, dataset) != std::vector<Index>{steps_, static_cast<Index>(numbers.size())})
    bad_trace(file.where.file, dataset + " is not [steps, tensors]");
  h5::read_rows(h5::open_dataset(file, dataset), H5T_NATIVE_DOUBLE, numbers, 1, step);
  return numbers;
} catch (const IoError& error) {
  throw ConfigError(error.what());
}

std::vector<double> GradientTrace::losses(Index step) const {
  std::vector<double> values;
  if (file_->losses.id.get() < 0) return values;
  values.resize(h5::extents(file_->losses)[1]);
  h5::read_rows(file_->losses, H5T_NATIVE_DOUBLE, values, 1, step);
  return values;
}

std::string GradientTrace::hash() const {
  Fnv1a hash;
  const auto add = [&](const auto& values) { hash.add(values.data(), values.size() * sizeof(values[0])); };
  add(std::vector<Index>{steps_, workers_, parameters_});
  add(tensor_sizes_);
  add(x0_);
  std::vector<float> gradients;
  for (const Index step : {Index{0}, steps_ - 1}) {
    read_step(step, gradients);
    add(gradients);
  }
  return hash.hex();
}

std::vector<std::string> GradientTrace::cases() const {
  std::vector<std::string> names;
  for (const std::string& name : h5::link_names(file_->file)) {
    if (h5::exists(file_->file, name + "/params")) names.push_back(name);
  }
  return names;
}

std::map<std::string, GradientTrace::Attribute> GradientTrace::attributes(const std::string& name) const try {
  const std::vector<std::string> known = cases();
  const std::vector<std::string_view> views(known.begin(), known.end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw ConfigError("unknown case", file_->file.where.file + ": " + name,
                      known.empty() ? "the trace has no cases" : suggestion(name, views));
  }
  const std::vector<Index> shape = sizes_of(file_->file, name + "/params", 2);
  if (shape[0] != steps_ || shape[1] != parameters_)
    bad_trace(file_->file.where.file, name + "/params has a different shape");
  const h5::Object group = h5::open_group(file_->file, name);
  std::map<std::string, Attribute> values;
  for (const std::string& attribute : h5::attribute_names(group)) values[attribute] = read_attribute(group, attribute);
  return values;
} catch (const IoError& error) {
  throw ConfigError(error.what());
}

std::vector<double> GradientTrace::reference(const std::string& name, Index step) const {
  std::vector<double> values(static_cast<std::size_t>(parameters_));
  h5::read_rows(h5::open_dataset(file_->file, name + "/params"), H5T_NATIVE_DOUBLE, values, 1, step);
  return values;
}

bool GradientTrace::has_worker_reference(const std::string& name) const {
  const std::string dataset = name + "/params_all_workers";
  if (!h5::exists(file_->file, dataset)) return false;
  if (sizes_of(file_->file, dataset, 3) != std::vector<Index>{workers_, steps_, parameters_})
    bad_trace(file_->file.where.file, dataset + " has a different shape");
  return true;
}

std::vector<double> GradientTrace::worker_reference(const std::string& name, Index step) const {
  std::vector<double> values(static_cast<std::size_t>(workers_ * parameters_));
  h5::read_layer(h5::open_dataset(file_->file, name + "/params_all_workers"), H5T_NATIVE_DOUBLE, values, step);
  return values;
}

std::shared_ptr<const compress::RecordedDraws> GradientTrace::recorded(const std::string& name) const {
  return std::make_shared<CaseDraws>(h5::open_group(file_->file, name), steps_);
}

struct TraceWriter::File {
  std::string path;
  bool overwrite;
  h5::Object file;
  h5::Object params = {};
  h5::Object all = {};
  bool complete = false;

  ~File() {
    if (complete) return;
    remove_output(file);  // the replay or the writing failed
    for (h5::Object* object : {&params, &all, &file}) h5::abandon(std::move(*object));
  }

  bool has_all() const { return all.id.get() >= 0; }
};

TraceWriter::TraceWriter(const std::string& path, Index parameters, bool overwrite, Index worker_rows, Index steps) {
  check_replaceable(path, overwrite);
  file_.reset(new File{path, overwrite, create_part(part_of(path))});
  file_->file.where.kind = "parameters";
  file_->params = h5::create_rows(file_->file, "params", H5T_NATIVE_FLOAT, parameters);
  if (worker_rows == 0) return;
  file_->all = h5::create_box(file_->file, "params_all_workers", H5T_NATIVE_FLOAT,
                              std::vector<Index>{worker_rows, steps, parameters});
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::write_step(Index step, const std::vector<float>& parameters) {
  h5::append_rows(file_->params, H5T_NATIVE_FLOAT, parameters.data(), step, 1);
  if (file_->has_all()) h5::write_layer(file_->all, H5T_NATIVE_FLOAT, parameters.data(), step);
}

void TraceWriter::close() {
  File& file = *file_;
  h5::close(file.params);
  h5::close(file.all);
  h5::close_file(file.file);
  file.complete = true;
  files::publish(file.file.where.file, file.path, "parameters", [&] {
    h5::verify(file.file);
    check_replaceable(file.path, file.overwrite);
  });
  file_.reset();
}

}  // namespace onebit::sim
