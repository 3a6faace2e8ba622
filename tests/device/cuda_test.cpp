// If there is a GPU, every test over backends() runs on it too. This test shows whether there is one.

#include "tests/catch.hpp"
#include "tests/devices.hpp"

#ifdef ONEBIT_CUDA
#include <algorithm>

#include "device/base/error.hpp"
#include "device/cuda/blas.hpp"
#include "device/cuda/blas_library.hpp"
#include "tests/folder.hpp"
#endif

using namespace onebit;
using namespace onebit::tests;

TEST_CASE("a GPU is among the backends under test") {
  const bool found = backends().back() == "cuda:0";
  ONEBIT_SKIP_UNLESS(found, "cuda", device::list_devices().back().second);
  CHECK(device_of("cuda:0").name() == "cuda:0");
}

#ifdef ONEBIT_CUDA
TEST_CASE("cuBLAS is found when it is asked for, and has every function") {
  const device::cuda::Blas& blas = device::cuda::blas();
  CHECK(std::string(blas.status_string(CUBLAS_STATUS_SUCCESS)) != blas.status_string(CUBLAS_STATUS_NOT_INITIALIZED));
  CHECK(blas.create != nullptr);
  CHECK(blas.gemm_strided != nullptr);
  CHECK(blas.gemm_scattered != nullptr);
}

namespace {

using Names = std::vector<std::string>;

/// A machine with these libraries.
struct Machine {
  Names libraries, asked = {};

  /// Returns the name of the cuBLAS that is chosen.
  std::string chosen(int driver) {
    asked.clear();
    return device::cuda::open_blas_library(driver, "toolkit",
                                           [this](const std::string& path, std::string& why) {
                                             asked.push_back(path);
                                             why = path + ": no such file";
                                             return std::ranges::count(libraries, path) > 0 ? static_cast<void*>(this)
                                                                                            : nullptr;
                                           })
        .name;
  }
};

}  // namespace

TEST_CASE("cuBLAS is of the newest major version that the machine has and the driver supports") {
  Machine both{{"libcublas.so.12", "libcublas.so.13"}};
  CHECK(both.chosen(13000) == "libcublas.so.13");
  CHECK(both.chosen(14010) == "libcublas.so.13");
  CHECK(both.chosen(0) == "libcublas.so.13");
  CHECK(both.chosen(12080) == "libcublas.so.12");
  CHECK(both.asked == Names{"libcublas.so.12"});
  Machine old{{"libcublas.so.12"}}, toolkit{{"toolkit/libcublas.so.13"}};
  CHECK(old.chosen(13000) == "libcublas.so.12");
  CHECK(toolkit.chosen(13000) == "libcublas.so.13");
  CHECK_THROWS_WITH(Machine{}.chosen(13000),
                    "cannot load cuBLAS (libcublas.so.13: no such file; libcublas.so.12: no such file); add its folder "
                    "to LD_LIBRARY_PATH");
}

TEST_CASE("a cuBLAS that is there but cannot be opened is named with the reason") {
  const Folder toolkit;
  toolkit.write("libcublas.so.12", "cut off");
  const auto open = [](const std::string& path, std::string& why) -> void* {
    why = path.starts_with('/') ? "file too short" : "no such file";
    return nullptr;
  };
  CHECK_THROWS_WITH(device::cuda::open_blas_library(13000, toolkit.path(), open),
                    Catch::Contains("(no such file; no such file; file too short)"));
}
#endif
