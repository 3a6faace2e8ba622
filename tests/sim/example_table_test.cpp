// Examples that a device keeps: a batch has the same features as if the source had read them.
#include "sim/data/example_table.hpp"

#include "sim/cluster/replica.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using tests::Folder;

/// 30 records of a label and an image of 3 x 32 x 32.
std::string cifar_records() {
  std::string records;
  for (int i = 0; i < 30; ++i) {
    records += static_cast<char>(i % 10);
    for (int byte = 0; byte < 3072; ++byte) records += static_cast<char>((i * 7 + byte * 13) % 256);
  }
  return records;
}

std::vector<DataConfig> sources(const Folder& folder) {
  const std::string lines = "1 1:2 3:2.5\n2 2:1\n3 3:-4\n1 1:1 2:2 3:3\n";
  return {{.name = "synthetic", .seed = 3, .features = 7, .classes = 3, .examples = 90},
          {.name = "libsvm", .paths = {folder.write("lines", lines)}},
          {.name = "cifar10", .paths = {folder.write("records", cifar_records())}}};
}

/// Places a batch, and returns the device's copy of its features.
std::vector<float> placed(const device::Device& device, ExampleTable& table, Batch& batch, Index features) {
  table.place(device, batch);
  std::vector<float> values(static_cast<std::size_t>(batch.rows() * features));
  device.memory().download(values.data(), batch.on_device, static_cast<Index>(values.size() * sizeof(float)));
  return values;
}

TEST_CASE("examples on a device are those of the source, in batches of any size") {
  const Folder folder;
  for (const std::string& backend : tests::backends()) {
    const device::Device device = tests::device_of(backend);
    for (const DataConfig& config : sources(folder)) {
      CAPTURE(backend, config.name);
      const auto source = make_data(config);
      auto table = ExampleTable::of(device, *source);
      REQUIRE(table);
      for (const Index size : {3, 1, 5}) {
        Batch host, listed;
        listed.with_features = false;
        source->sample(size, {2, 4}, size, host);
        source->sample(size, {2, 4}, size, listed);
        CHECK(listed.features.empty());
        CHECK(listed.labels == host.labels);
        CHECK(placed(device, *table, listed, source->feature_count()) == host.features);
      }
      Batch host, listed;
      listed.with_features = false;
      source->holdout(0, source->holdout_size(), host);
      source->holdout(0, source->holdout_size(), listed);
      CHECK(placed(device, *table, listed, source->feature_count()) == host.features);
    }
  }
}

TEST_CASE("what has no features, or more than a table holds, has no table") {
  const Folder folder;
  const device::Device device = tests::device_of("cpu");
  const auto text = make_data({.name = "text", .paths = {folder.write("a", std::string(200, 'a'))}});
  CHECK_FALSE(ExampleTable::of(device, *text));
  CHECK_FALSE(ExampleTable::of(device, *make_data({.name = "none"})));
  const std::string wide = "1 16777216:1\n2 1:1\n";
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += wide;
  CHECK_FALSE(ExampleTable::of(device, *make_data({.name = "libsvm", .paths = {folder.write("wide", lines)}})));
}

TEST_CASE("a table that is planned counts its bytes and reads nothing") {
  const device::Device plan = tests::device_of("cpu").plan();
  const auto source = make_data({.name = "synthetic", .features = 50, .examples = 1000});
  const auto table = ExampleTable::of(plan, *source);
  CHECK(plan.memory().use().used >= 50 * 1000 * 4);
}

}  // namespace
}  // namespace onebit::sim
