// Weights are written to a file and read back; a file of another model is refused with the first difference.

#include "sim/run/weights_file.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include "device/base/error.hpp"
#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/h5.hpp"
#include "tests/catch.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const std::vector<compress::Tensor> kTensors = {{"first.weight", 6, 2}, {"bias", 1}};
const std::vector<float> kWeights = {1, -2, 0.5f, 1e-30f, 4, 5, -0.0f};

void check_refused(const std::string& path, const std::vector<compress::Tensor>& tensors, const std::string& why) {
  CAPTURE(path, why);
  CHECK_THROWS_WITH(read_weights(path, tensors), Contains("cannot take initial weights: " + why) && Contains(path));
  CHECK_THROWS_AS(check_weights(path, tensors), ConfigError);
}

}  // namespace

TEST_CASE("weights: a file gives back what was written, and is replaced whole") {
  const Folder folder;
  const std::string path = folder / "weights.h5";
  write_weights(path, kTensors, std::vector<float>(7, 9.0f));
  write_weights(path, kTensors, kWeights);
  CHECK(read_weights(path, kTensors) == kWeights);
  CHECK(std::signbit(read_weights(path, kTensors).back()));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("weights: equal weights make equal files, whenever they are written", "[once]") {
  const Folder folder;
  const std::string first = folder / "first.h5", second = folder / "second.h5";
  write_weights(first, kTensors, kWeights);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 would note seconds
  write_weights(second, kTensors, kWeights);
  CHECK(read_file(first) == read_file(second));
}

TEST_CASE("weights: another model's are refused by the first difference") {
  const Folder folder;
  const std::string path = folder / "weights.h5";
  write_weights(path, kTensors, kWeights);
  check_refused(path, {kTensors[0]}, "tensor_sizes has 2 values, the model has 1");
  check_refused(path, {{"first.weight", 5}, {"bias", 2}},
                "tensor 1 is first.weight with 6 elements, the model's is first.weight with 5 elements");
  check_refused(path, {kTensors[0], {"other", 1}},
                "tensor 2 is bias with 1 elements, the model's is other with 1 elements");
}

TEST_CASE("weights: files that are damaged or something else are refused") {
  const Folder folder;
  const std::string path = folder / "weights.h5";
  check_refused(path, kTensors, "no such file");
  check_refused(folder.path(), kTensors, "not an HDF5 file but a folder");
  write_file(path, "text");
  check_refused(path, kTensors, "not an HDF5 file, or truncated");
  write_weights(path, kTensors, kWeights);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  check_refused(path, kTensors, "not an HDF5 file, or truncated");
  for (const std::string missing : {"weights", "tensor_sizes", "tensor_names"}) {
    const std::string part = folder / (missing + ".h5");
    write_weights(part, kTensors, kWeights);
    {
      const hid_t file = H5Fopen(part.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
      REQUIRE(H5Ldelete(file, missing.c_str(), H5P_DEFAULT) >= 0);
      H5Fclose(file);
    }
    check_refused(part, kTensors, "no dataset " + missing);
  }
  std::vector<float> bad = kWeights;
  bad[1] = std::nanf("");
  write_weights(folder / "bad.h5", kTensors, bad);
  CHECK_THROWS_WITH(read_weights(folder / "bad.h5", kTensors), Contains("not finite") && Contains("element 1"));
  write_weights(folder / "short.h5", kTensors, std::vector<float>(6));
  check_refused(folder / "short.h5", kTensors, "weights has 6 values, the model has 7");
}

TEST_CASE("weights: an output that cannot be written is refused before the run") {
  const Folder folder;
  const std::string path = folder / "weights.h5";
  CHECK_NOTHROW(check_weights_output(path, "", false));
  write_file(path, "");
  CHECK_THROWS_WITH(check_weights_output(path, "", false), Contains("exists") && Contains("--overwrite"));
  CHECK_NOTHROW(check_weights_output(path, folder / "log.h5", true));
  CHECK_THROWS_WITH(check_weights_output(folder / "none/weights.h5", "", true), Contains("no such folder"));
  CHECK_THROWS_WITH(check_weights_output(folder.path(), "", true), Contains("not a regular file"));
  CHECK_THROWS_WITH(check_weights_output(path, path, true), Contains("the same file"));
  CHECK_THROWS_WITH(check_weights_output(path, path + ".part", true), Contains("the same file"));
  write_file(path + ".part", "");
  CHECK_THROWS_WITH(check_weights_output(path, "", true), Contains("already exists"));
}

TEST_CASE("weights: a run that starts from another's final weights starts at its evaluation") {
  const Folder folder;
  for (const std::string optimizer : {"adam", "local-sgd"}) {
    RunConfig config = mlp_config();
    config.optimizer.name = optimizer;
    config.workers = 6;
    VirtualCluster cluster(config);
    while (cluster.step() < cluster.steps()) cluster.advance();
    const std::string path = folder / (optimizer + ".h5");
    write_weights(path, cluster.model().tensors(), cluster.final_weights());
    config.model.init = path;
    config.seed = 99;  // other initial weights, if there were no file
    VirtualCluster next(config);
    CHECK(next.evaluate().loss == cluster.evaluate().loss);
    CHECK(next.final_weights() == cluster.final_weights());
  }
}
