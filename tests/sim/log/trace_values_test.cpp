// Values of a trace that a reader does not expect: each is either read correctly or refused, and none is written beyond
// the memory for it.

#include <array>
#include <functional>
#include <numeric>

#include "device/base/error.hpp"
#include "sim/log/h5.hpp"
#include "sim/run/trace.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

using Sizes = std::vector<hsize_t>;

h5::Id space_of(const Sizes& sizes) {
  return sizes.empty() ? h5::Id(H5Screate(H5S_SCALAR), H5Sclose)
                       : h5::Id(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
}

h5::Id variable_text() {
  h5::Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  REQUIRE(H5Tset_size(type.get(), H5T_VARIABLE) >= 0);
  return type;
}

void write_dataset(const h5::Object& file, const char* name, hid_t type, const Sizes& sizes, const void* values) {
  const h5::Id space = space_of(sizes);
  const h5::Id set(H5Dcreate2(file.id.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  REQUIRE(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

void write_attribute(const h5::Object& object, hid_t type, const h5::Id& space, const void* values) {
  const h5::Id attribute(H5Acreate2(object.id.get(), "value", type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  REQUIRE(attribute.get() >= 0);
  if (values != nullptr) REQUIRE(H5Awrite(attribute.get(), type, values) >= 0);
}

/// A trace of one step, one worker, two parameters and a case "case", to which `add` adds.
std::string write_trace(const std::string& path, const std::function<void(const h5::Object& group)>& add) {
  const h5::Object file = h5::create_file(path);
  const std::array<float, 2> values = {1, 2};
  const std::int64_t size = 2;
  write_dataset(file, "gradients", H5T_NATIVE_FLOAT, {1, 1, 2}, values.data());
  write_dataset(file, "x0", H5T_NATIVE_FLOAT, {2}, values.data());
  write_dataset(file, "tensor_sizes", H5T_NATIVE_INT64, {1}, &size);
  const h5::Object group = h5::create_group(file, "case");
  write_dataset(group, "params", H5T_NATIVE_FLOAT, {1, 2}, values.data());
  add(group);
  return path;
}

GradientTrace::Attribute attribute_of(const std::function<void(const h5::Object& group)>& add) {
  const Folder folder;
  return GradientTrace(write_trace(folder / "trace.h5", add)).attributes("case").at("value");
}

/// Expects a ConfigError of one line that names the file and the attribute.
void check_refused(const std::function<void(const h5::Object& group)>& add, const std::string& why) {
  const Folder folder;
  const GradientTrace trace(write_trace(folder / "trace.h5", add));
  CAPTURE(why);
  CHECK_THROWS_AS(trace.attributes("case"), ConfigError);
  CHECK_THROWS_WITH(trace.attributes("case"),
                    Contains(folder / "trace.h5") && Contains("/case attribute value") && Contains(why));
}

/// A chunked dataset of which nothing is stored.
void write_hollow(const h5::Object& file, const char* name, const Sizes& sizes) {
  const h5::Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Sizes chunk(sizes.size(), 1);
  REQUIRE(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0);
  const h5::Id space = space_of(sizes);
  const hid_t id =
      H5Dcreate2(file.id.get(), name, H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT);
  REQUIRE(h5::Id(id, H5Dclose).get() >= 0);
}

}  // namespace

TEST_CASE("trace values: texts of fixed and of variable length come back") {
  const std::string text(3000, 'x');
  CHECK(attribute_of([&](const h5::Object& group) {
          write_attribute(group, h5::text_type(text.size()).get(), space_of({}), text.data());
        }).text == text);
  CHECK(attribute_of([&](const h5::Object& group) {
          const char* pointer = text.c_str();
          write_attribute(group, variable_text().get(), space_of({}), &pointer);
        }).text == text);
  CHECK(attribute_of([&](const h5::Object& group) {
          const char* pointer = text.c_str();
          write_attribute(group, variable_text().get(), space_of({1}), &pointer);
        }).text == text);
}

TEST_CASE("trace values: several texts in one attribute are refused") {
  check_refused(
      [](const h5::Object& group) {
        const std::string texts(std::size_t{4000} * 8, 'x');
        write_attribute(group, h5::text_type(8).get(), space_of({4000}), texts.data());
      },
      "not one value");
  check_refused(
      [](const h5::Object& group) {
        const std::vector<const char*> texts(2000, "text");
        write_attribute(group, variable_text().get(), space_of({20, 100}), texts.data());
      },
      "not one value");
  check_refused(
      [](const h5::Object& group) {
        write_attribute(group, variable_text().get(), h5::Id(H5Screate(H5S_NULL), H5Sclose), nullptr);
      },
      "not one value");
}

TEST_CASE("trace values: numbers of any type and shape come back, too many are refused") {
  const std::vector<std::int16_t> numbers = {1, -2, 3, 4};
  CHECK(attribute_of([&](const h5::Object& group) {
          write_attribute(group, H5T_NATIVE_INT16, space_of({2, 2}), numbers.data());
        }).numbers == std::vector<double>{1, -2, 3, 4});
  CHECK(attribute_of([&](const h5::Object& group) {  // how h5py writes true
          const h5::Id type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
          const std::int8_t no = 0, yes = 1;
          REQUIRE(H5Tenum_insert(type.get(), "FALSE", &no) >= 0);
          REQUIRE(H5Tenum_insert(type.get(), "TRUE", &yes) >= 0);
          write_attribute(group, type.get(), space_of({}), &yes);
        })
            .numbers == std::vector<double>{1});
  const std::vector<double> many(1025);
  check_refused(
      [&](const h5::Object& group) { write_attribute(group, H5T_NATIVE_DOUBLE, space_of({1025}), many.data()); },
      "more than 1024");
}

TEST_CASE("trace values: values of another kind are refused") {
  const std::array<double, 64> memory{};
  const auto refused = [&](const h5::Id& type, const std::string& why) {
    check_refused([&](const h5::Object& group) { write_attribute(group, type.get(), space_of({}), memory.data()); },
                  why);
  };
  const hsize_t length = 16;
  refused(h5::Id(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &length), H5Tclose), "an unexpected type");
  refused(h5::Id(H5Tcreate(H5T_OPAQUE, 32), H5Tclose), "an unexpected type");
  h5::Id compound(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
  REQUIRE(H5Tinsert(compound.get(), "a", 0, H5T_NATIVE_DOUBLE) >= 0);
  refused(compound, "an unexpected type");
  check_refused(
      [](const h5::Object& group) {
        std::vector<double> numbers(50);
        const hvl_t list = {numbers.size(), numbers.data()};
        write_attribute(group, h5::Id(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose).get(), space_of({}), &list);
      },
      "an unexpected type");
}

TEST_CASE("trace values: sizes that the file cannot hold are refused before memory is taken") {
  const Folder folder;
  const hsize_t huge = hsize_t{1} << 39;
  const auto refused = [&](const std::string& name, const Sizes& gradients, const Sizes& x0) {
    CAPTURE(name);
    {
      const h5::Object file = h5::create_file(folder / name);
      const auto size = static_cast<std::int64_t>(x0[0]);
      write_hollow(file, "gradients", gradients);
      write_hollow(file, "x0", x0);
      write_dataset(file, "tensor_sizes", H5T_NATIVE_INT64, {1}, &size);
    }
    CHECK_THROWS_AS(GradientTrace(folder / name), ConfigError);
    CHECK_THROWS_WITH(GradientTrace(folder / name), Contains(folder / name) && Contains("implausible"));
  };
  refused("parameters", {1, 1, huge}, {huge});
  refused("steps", {huge, 1, 2}, {2});
  refused("beyond", {hsize_t{1} << 62, hsize_t{1} << 62, 2}, {2});
}

TEST_CASE("trace values: a dataset whose values are in other files is refused") {
  const Folder folder;
  write_file(folder / "secret", std::string(8, 's'));
  {
    const h5::Object file = h5::create_file(folder / "trace.h5");
    const float values[2] = {};
    const std::int64_t size = 2;
    write_dataset(file, "gradients", H5T_NATIVE_FLOAT, {1, 1, 2}, values);
    write_dataset(file, "tensor_sizes", H5T_NATIVE_INT64, {1}, &size);
    const h5::Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    REQUIRE(H5Pset_external(creation.get(), (folder / "secret").c_str(), 0, 8) >= 0);
    const h5::Id space = space_of({2});
    REQUIRE(
        h5::Id(H5Dcreate2(file.id.get(), "x0", H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
               H5Dclose)
            .get() >= 0);
  }
  CHECK_THROWS_AS(GradientTrace(folder / "trace.h5"), ConfigError);
  CHECK_THROWS_WITH(GradientTrace(folder / "trace.h5"), Contains("/x0") && Contains("in other files"));
}

TEST_CASE("h5: no read writes beyond its memory") {
  const Folder folder;
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.0f);
  const h5::Object file = h5::create_file(folder / "file.h5");
  write_dataset(file, "box", H5T_NATIVE_FLOAT, {3, 2, 2}, values.data());
  const h5::Object box = h5::open_dataset(file, "box");
  std::vector<float> row(4), layer(6), small(3);
  h5::read_rows(box, H5T_NATIVE_FLOAT, row, 1, 2);
  CHECK(row == std::vector<float>{8, 9, 10, 11});
  h5::read_layer(box, H5T_NATIVE_FLOAT, layer, 1);
  CHECK(layer == std::vector<float>{2, 3, 6, 7, 10, 11});
  CHECK_THROWS_WITH(h5::read_rows(box, H5T_NATIVE_FLOAT, small, 1), Contains("unexpected number of values: 4"));
  CHECK_THROWS_AS(h5::read_rows(box, H5T_NATIVE_FLOAT, row, 1, 3), IoError);
  CHECK_THROWS_AS(h5::read_rows(box, h5::text_type(4).get(), row, 1), IoError);
}
