#include "sim/run/weights_file.hpp"

#include <cmath>

#include "tests/fuzz/hdf5_objects.hpp"

using namespace onebit;

namespace {

const std::vector<compress::Tensor> kTensors = {{"a", 3}, {"b", 1}};

void write_weights(fuzz::Input& input, const std::string& path) {
  const fuzz::Object file = fuzz::create_file(path);
  fuzz::add_dataset(input, file, "weights", 0, {4});
  fuzz::add_dataset(input, file, "tensor_sizes", 1, {2});
  fuzz::add_dataset(input, file, "tensor_names", 4, {2});
}

/// Writes good sizes and names if the datasets have room for them, so that the weights are read too.
void mend(fuzz::Input& input, const std::string& path) {
  const fuzz::Object file{{H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose}, {}};
  const auto put = [&](const char* name, hid_t type, std::size_t bytes, const void* values) {
    const fuzz::Id dataset(H5Dopen2(file.id.get(), name, H5P_DEFAULT), H5Dclose);
    if (dataset.get() < 0) return;
    const fuzz::Id own(H5Dget_type(dataset.get()), H5Tclose), space(H5Dget_space(dataset.get()), H5Sclose);
    const bool fits = H5Tequal(own.get(), type) > 0 && H5Sget_simple_extent_npoints(space.get()) == 2 && bytes > 0;
    if (fits) H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  };
  if (input.byte() % 4 == 0) return;
  constexpr std::int64_t sizes[] = {3, 1};
  put("tensor_sizes", H5T_NATIVE_INT64, sizeof(sizes), sizes);
  put("tensor_names", sim::h5::text_type(5).get(), 10, "a\0\0\0\0b\0\0\0\0");
}

}  // namespace

/// Weights as any program can write them with HDF5: the input decides the types and sizes of datasets.
ONEBIT_FUZZ(weights, input) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  static const fuzz::ScratchFile file;
  write_weights(input, file.path());
  mend(input, file.path());
  try {
    sim::check_weights(file.path(), kTensors);
    const std::vector<float> weights = sim::read_weights(file.path(), kTensors);
    fuzz::require(weights.size() == 4);
    for (const float weight : weights) fuzz::require(std::isfinite(weight));
  } catch (const IoError&) {
  }
  fuzz::require(fuzz::nothing_open());
}
