#include "sim/run/trace.hpp"

#include <algorithm>

#include "tests/fuzz/hdf5_objects.hpp"

using namespace onebit;

namespace {

using fuzz::Input, fuzz::Object, fuzz::add_attribute, fuzz::add_dataset, fuzz::create_file, fuzz::nothing_open;

void write_trace(Input& input, const std::string& path) {
  const Object file = create_file(path);
  add_dataset(input, file, "gradients", 0, {3, 2, 4});
  add_dataset(input, file, "x0", 0, {4});
  add_dataset(input, file, "tensor_sizes", 1, {1});
  const Object group = sim::h5::create_group(file, "case");
  add_dataset(input, group, "params", 0, {3, 4});
  add_dataset(input, group, "params_all_workers", 0, {2, 3, 4});
  for (const char* name : {"a", "b", "c"}) add_attribute(input, group, name);
  add_dataset(input, file, "losses", 0, {3, 2});
  if (input.byte() % 2 == 0) return;
  H5Ldelete(file.id.get(), "gradients", H5P_DEFAULT);
  add_dataset(input, file, "gradient_squares", 2, {3, 1});
  add_dataset(input, file, "sign_changes", 2, {3, 1});
}

void read_trace(const std::string& path) {
  const sim::GradientTrace trace(path);
  Index sum = 0;
  for (const Index size : trace.tensor_sizes()) sum += trace.compact() ? std::min<Index>(size, 1) : size;
  fuzz::require(sum == trace.parameters() && static_cast<Index>(trace.x0().size()) == sum);
  std::vector<float> gradients;
  trace.read_step(trace.steps() - 1, gradients);
  fuzz::require(static_cast<Index>(gradients.size()) == trace.workers() * trace.parameters());
  const auto losses = static_cast<Index>(trace.losses(trace.steps() - 1).size());
  fuzz::require(losses == 0 || trace.compact() || losses == trace.workers());
  if (trace.compact()) trace.numbers_of_tensors("sign_changes", 0);
  for (const std::string& name : trace.cases()) {
    for (const auto& [key, value] : trace.attributes(name)) fuzz::require(value.numbers.size() <= 1024);
    fuzz::require(static_cast<Index>(trace.reference(name, 0).size()) == trace.parameters());
    if (trace.has_worker_reference(name)) trace.worker_reference(name, 0);
  }
}

}  // namespace

/// Traces as any program can write them with HDF5: the input decides the types and sizes of datasets and attributes.
ONEBIT_FUZZ(trace, input) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  static const fuzz::ScratchFile file;
  write_trace(input, file.path());
  read_trace(file.path());
  fuzz::require(nothing_open());
}
