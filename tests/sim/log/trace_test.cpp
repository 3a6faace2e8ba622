// Gradient traces as other programs write them, and damage that they may have.

#include "sim/run/trace.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "sim/log/h5.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

using Sizes = std::vector<hsize_t>;

void write_array(const h5::Object& file, const std::string& name, hid_t type, const Sizes& sizes, const void* values) {
  const h5::Id space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
  const h5::Id dataset(
      H5Dcreate2(file.id.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  REQUIRE(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

/// A trace of 4 steps, 3 workers, 5 parameters in tensors of 2 and 3. Tests may change anything before it is written.
struct Sample {
  Sizes gradients{4, 3, 5};
  Sizes x0{5};
  Sizes tensors{2};
  std::vector<std::int64_t> tensor_sizes{2, 3};
  std::string without = {};

  std::string write(const std::string& path) const {
    const h5::Object file = h5::create_file(path);
    std::vector<float> values(60);
    std::iota(values.begin(), values.end(), 0.5f);
    if (without != "gradients") write_array(file, "gradients", H5T_NATIVE_FLOAT, gradients, values.data());
    if (without != "x0") write_array(file, "x0", H5T_NATIVE_FLOAT, x0, values.data());
    if (without != "tensor_sizes") write_array(file, "tensor_sizes", H5T_NATIVE_INT64, tensors, tensor_sizes.data());
    return path;
  }
};

/// Expects that reading gives an error that names the file and says `why`.
void check_refused(const std::string& path, const std::string& why) {
  CAPTURE(path, why);
  CHECK_THROWS_AS(GradientTrace(path), ConfigError);
  CHECK_THROWS_WITH(GradientTrace(path), Contains(path) && Contains(why));
}

/// Writes the file of a script with h5py; the path is sys.argv[1].
void write_by_h5py(const Python& python, const std::string& script, const std::string& path) {
  REQUIRE(python.run("import h5py, numpy\n" + script, path) == 0);
}

}  // namespace

TEST_CASE("trace: everything comes back") {
  const Folder folder;
  const GradientTrace trace(Sample().write(folder / "trace.h5"));
  CHECK(trace.steps() == 4);
  CHECK(trace.workers() == 3);
  CHECK(trace.parameters() == 5);
  CHECK(trace.tensor_sizes() == std::vector<Index>{2, 3});
  CHECK(trace.x0() == std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f, 4.5f});
  CHECK(trace.cases().empty());
  for (Index step = 0; step < 4; ++step) {
    std::vector<float> gradients, expected(15);
    trace.read_step(step, gradients);
    std::iota(expected.begin(), expected.end(), 0.5f + 15.0f * static_cast<float>(step));
    CHECK(gradients == expected);
  }
}

TEST_CASE("trace: losses come back, those of another shape are refused, and a case has those next to its gradients") {
  const Folder folder;
  const std::vector<double> losses = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, NAN};
  const auto write = [&](const std::string& name, const Sizes& sizes, bool in_case) {
    const std::string path = Sample().write(folder / name);
    const h5::Object file{h5::Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
    if (!in_case) return write_array(file, "losses", H5T_NATIVE_DOUBLE, sizes, losses.data());
    const std::vector<float> values(12);
    const h5::Object group = h5::create_group(file, "own");
    write_array(group, "gradients", H5T_NATIVE_FLOAT, {2, 1, 5}, values.data());
    write_array(group, "params", H5T_NATIVE_FLOAT, {2, 5}, values.data());
    write_array(group, "losses", H5T_NATIVE_DOUBLE, sizes, losses.data());
  };
  write("trace.h5", {4, 3}, false);
  CHECK(GradientTrace(folder / "trace.h5").losses(1) == std::vector<double>{4, 5, 6});
  CHECK(std::isnan(GradientTrace(folder / "trace.h5").losses(3)[2]));
  write("shape.h5", {3, 4}, false);
  check_refused(folder / "shape.h5", "losses is not [steps, workers]");
  write("case.h5", {2, 1}, true);
  CHECK(GradientTrace(folder / "case.h5", "own").losses(1) == std::vector<double>{2});
  CHECK(GradientTrace(folder / "case.h5").losses(1).empty());
}

TEST_CASE("trace: its hash tells traces apart") {
  const Folder folder;
  Sample other;
  other.tensor_sizes = {3, 2};
  const GradientTrace one(Sample().write(folder / "one.h5")), same(Sample().write(folder / "same.h5"));
  CHECK(one.hash() == same.hash());
  CHECK(one.hash() != GradientTrace(other.write(folder / "other.h5")).hash());
}

TEST_CASE("trace: a trace written by h5py, with reference cases, comes back") {
  const Python python;
  ONEBIT_SKIP_UNLESS(python.available(), "h5py", "no python3 with h5py");
  const Folder folder;
  write_by_h5py(python, R"(
with h5py.File(sys.argv[1], 'w') as file:
    file['gradients'] = numpy.arange(24, dtype='f8').reshape(4, 2, 3)
    file['x0'] = numpy.array([1, 2, 3], dtype='f4')
    file['tensor_sizes'] = numpy.array([3, 0], dtype='i4')
    group = file.create_group('adam_wd')
    group['params'] = numpy.arange(12, dtype='f4').reshape(4, 3)
    group.attrs['optimizer'] = 'onebit-adam'
    group.attrs['fixed'] = numpy.bytes_('adam')
    group.attrs['betas'] = [0.9, 0.97]
    group.attrs['freeze_step'] = 20
    file.create_group('no_case')
)",
                folder / "trace.h5");
  const GradientTrace trace(folder / "trace.h5");
  CHECK(trace.tensor_sizes() == std::vector<Index>{3, 0});
  std::vector<float> gradients;
  trace.read_step(3, gradients);
  CHECK(gradients == std::vector<float>{18, 19, 20, 21, 22, 23});
  CHECK(trace.cases() == std::vector<std::string>{"adam_wd"});
  auto attributes = trace.attributes("adam_wd");
  CHECK(attributes.size() == 4);
  CHECK(attributes["optimizer"].text == "onebit-adam");
  CHECK(attributes["fixed"].text == "adam");
  CHECK(attributes["betas"].numbers == std::vector<double>{0.9, 0.97});
  CHECK(attributes["freeze_step"].numbers == std::vector<double>{20});
  CHECK(trace.reference("adam_wd", 2) == std::vector<double>{6, 7, 8});
  CHECK_THROWS_WITH(trace.attributes("adam_dw"), Contains("adam_dw") && Contains("did you mean adam_wd?"));
  CHECK_THROWS_AS(trace.attributes("no_case"), ConfigError);
}

TEST_CASE("trace: a reference of another shape is refused") {
  const Folder folder;
  Sample().write(folder / "trace.h5");
  {
    const h5::Object file{h5::Id(H5Fopen((folder / "trace.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
    const h5::Object group = h5::create_group(file, "short");
    const std::vector<float> values(15);
    write_array(group, "params", H5T_NATIVE_FLOAT, {3, 5}, values.data());
  }
  const GradientTrace trace(folder / "trace.h5");
  CHECK_THROWS_AS(trace.attributes("short"), ConfigError);
  CHECK_THROWS_WITH(trace.attributes("short"), Contains(folder / "trace.h5") && Contains("short/params"));
}

TEST_CASE("trace: parameters of all workers come back step by step, and are refused in another shape") {
  const Folder folder;
  Sample().write(folder / "trace.h5");
  {
    const h5::Object file{h5::Id(H5Fopen((folder / "trace.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
    std::vector<float> values(60);
    std::iota(values.begin(), values.end(), 0.0f);
    for (const std::string name : {"shared", "local", "turned"}) {
      const h5::Object group = h5::create_group(file, name);
      write_array(group, "params", H5T_NATIVE_FLOAT, {4, 5}, values.data());
      if (name == "local") write_array(group, "params_all_workers", H5T_NATIVE_FLOAT, {3, 4, 5}, values.data());
      if (name == "turned") write_array(group, "params_all_workers", H5T_NATIVE_FLOAT, {4, 3, 5}, values.data());
    }
  }
  const GradientTrace trace(folder / "trace.h5");
  CHECK_FALSE(trace.has_worker_reference("shared"));
  REQUIRE(trace.has_worker_reference("local"));
  CHECK(trace.worker_reference("local", 2) ==
        std::vector<double>{10, 11, 12, 13, 14, 30, 31, 32, 33, 34, 50, 51, 52, 53, 54});
  CHECK_THROWS_AS(trace.has_worker_reference("turned"), ConfigError);
  CHECK_THROWS_WITH(trace.has_worker_reference("turned"), Contains("turned/params_all_workers"));
}

TEST_CASE("trace: a case may have gradients and weights of its own, and recorded random numbers") {
  const Folder folder;
  Sample sample;
  sample.without = "gradients";
  const std::string path = sample.write(folder / "trace.h5");
  {
    const h5::Object file{h5::Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
    std::vector<double> values(40);
    std::iota(values.begin(), values.end(), 0.0);
    const h5::Object own = h5::create_group(file, "own"), none = h5::create_group(file, "none");
    write_array(own, "params", H5T_NATIVE_DOUBLE, {4, 5}, values.data());
    write_array(own, "gradients", H5T_NATIVE_DOUBLE, {4, 2, 5}, values.data());
    write_array(own, "x0", H5T_NATIVE_DOUBLE, {5}, values.data());
    write_array(own, "mask", H5T_NATIVE_DOUBLE, {2, 3}, values.data());
    write_array(none, "params", H5T_NATIVE_DOUBLE, {4, 5}, values.data());
    const std::vector<std::int64_t> shapes = {2, 1, 3, 0};
    write_array(file, "tensor_shapes", H5T_NATIVE_INT64, {2, 2}, shapes.data());
  }
  const GradientTrace trace(path, "own");
  CHECK(trace.workers() == 2);
  CHECK(trace.x0() == std::vector<float>{0, 1, 2, 3, 4});
  CHECK(trace.tensors()[0].rows == 2);
  CHECK(trace.tensors()[1].rows == 1);
  std::vector<float> gradients;
  trace.read_step(1, gradients);
  CHECK(gradients == std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  const auto mask = trace.recorded("own")->find("mask");
  REQUIRE(mask);
  CHECK(mask->sizes == std::vector<Index>{2, 3});
  CHECK(mask->values == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK_FALSE(trace.recorded("own")->find("masks"));
  const GradientTrace unnamed(path);
  CHECK(unnamed.cases() == std::vector<std::string>{"none", "own"});
  CHECK_THROWS_WITH(unnamed.read_step(0, gradients), Contains("--reference"));
}

TEST_CASE("trace: shapes that do not fit the tensors are refused") {
  const Folder folder;
  const auto refused = [&](const std::string& name, const Sizes& sizes, const std::vector<std::int64_t>& shapes) {
    const std::string path = Sample().write(folder / name);
    {
      const h5::Object file{h5::Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
      write_array(file, "tensor_shapes", H5T_NATIVE_INT64, sizes, shapes.data());
    }
    check_refused(path, "tensor_shapes");
  };
  refused("sizes.h5", {1, 2}, {2, 1});
  refused("product.h5", {2, 2}, {2, 1, 2, 2});
  refused("negative.h5", {2, 2}, {-2, -1, 3, 1});
  refused("large.h5", {2, 2}, {INT64_MAX, INT64_MAX, 3, 1});
}

TEST_CASE("trace: a missing dataset is named") {
  const Folder folder;
  for (const std::string name : {"gradients", "x0", "tensor_sizes"}) {
    Sample sample;
    sample.without = name;
    check_refused(sample.write(folder / (name + ".h5")), "no dataset " + name);
  }
}

TEST_CASE("trace: shapes that do not fit together are refused") {
  const Folder folder;
  auto refused = [&folder, count = 0](const Sample& sample, const std::string& why) mutable {
    check_refused(sample.write(folder / ("trace" + std::to_string(count++) + ".h5")), why);
  };
  refused({.gradients = {12, 5}}, "gradients has 2 dimensions");
  refused({.gradients = {0, 3, 5}}, "gradients is empty");
  refused({.gradients = {4, 0, 5}}, "gradients is empty");
  refused({.x0 = {4}}, "x0 and gradients differ");
  refused({.x0 = {1, 5}}, "x0 has 2 dimensions");
  refused({.tensors = {1, 2}}, "tensor_sizes has 2 dimensions");
  refused({.tensor_sizes = {2, 2}}, "does not sum");
  refused({.tensor_sizes = {3, 3}}, "does not sum");
  refused({.tensor_sizes = {6, -1}}, "does not sum");
  refused({.tensor_sizes = {INT64_MAX, INT64_MAX}}, "does not sum");
  refused({.tensors = {6}, .tensor_sizes = {1, 1, 1, 1, 1, 0}}, "more tensors than parameters");
}

TEST_CASE("trace: datasets of another type are refused as input") {
  const Folder folder;
  for (const std::string name : {"gradients", "x0", "tensor_sizes"}) {
    CAPTURE(name);
    const std::string path = folder / (name + ".h5");
    Sample sample;
    sample.without = name;
    sample.write(path);
    {
      const h5::Object file{h5::Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose), {}};
      const Sizes sizes = name == "gradients" ? sample.gradients : name == "x0" ? sample.x0 : sample.tensors;
      const h5::Id text = h5::text_type(4);
      const std::vector<char> values(60 * 4, 'a');
      write_array(file, name, text.get(), sizes, values.data());
    }
    CHECK_THROWS_AS(GradientTrace(path), ConfigError);
  }
}

TEST_CASE("trace: what is no trace at all is refused") {
  const Folder folder;
  check_refused(folder / "absent.h5", "no such file");
  write_file(folder / "empty.h5", "");
  check_refused(folder / "empty.h5", "not an HDF5 file");
  write_file(folder / "text.h5", std::string(5000, 'x'));
  check_refused(folder / "text.h5", "not an HDF5 file");
  check_refused(folder / "", "not an HDF5 file");
  const std::string whole = read_file(Sample().write(folder / "whole.h5"));
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{100}, std::size_t{8}}) {
    CAPTURE(bytes);
    write_file(folder / "cut.h5", whole.substr(0, bytes));
    check_refused(folder / "cut.h5", "truncated");
  }
}

TEST_CASE("trace: parameters of a replay are written as promised") {
  const Folder folder;
  {
    TraceWriter writer(folder / "params.h5", 3, false);
    writer.write_step(0, {1, 2, 3});
    writer.write_step(1, {4, 5, 6});
    writer.close();
  }
  const h5::Object file = h5::open_file(folder / "params.h5", false);
  const h5::Object params = h5::open_dataset(file, "params");
  CHECK(h5::extents(params) == Sizes{2, 3});
  std::vector<float> values(6);
  h5::read_rows(params, H5T_NATIVE_FLOAT, values, 2);
  CHECK(values == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("trace: parameters of all workers are written where they have their own") {
  const Folder folder;
  {
    TraceWriter writer(folder / "params.h5", 3, false, 2, 2);
    writer.write_step(0, {1, 2, 3, 4, 5, 6});
    writer.write_step(1, {7, 8, 9, 10, 11, 12});
    writer.close();
  }
  const h5::Object file = h5::open_file(folder / "params.h5", false);
  const h5::Object params = h5::open_dataset(file, "params"), all = h5::open_dataset(file, "params_all_workers");
  CHECK(h5::extents(all) == Sizes{2, 2, 3});
  std::vector<float> first(6), rows(12);
  h5::read_rows(params, H5T_NATIVE_FLOAT, first, 2);
  h5::read_rows(all, H5T_NATIVE_FLOAT, rows, 2);
  CHECK(first == std::vector<float>{1, 2, 3, 7, 8, 9});
  CHECK(rows == std::vector<float>{1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12});
}

TEST_CASE("trace: output that exists is kept unless it may be replaced, and has to be creatable") {
  const Folder folder;
  write_file(folder / "params.h5", "mine");
  CHECK_THROWS_AS(TraceWriter(folder / "params.h5", 3, false), ConfigError);
  CHECK(read_file(folder / "params.h5") == "mine");
  CHECK_NOTHROW(TraceWriter(folder / "params.h5", 3, true).close());
  CHECK(h5::exists(h5::open_file(folder / "params.h5", false), "params"));
  CHECK_THROWS_WITH(TraceWriter(folder / "absent/params.h5", 3, false), Contains(folder / "absent/params.h5"));
}
