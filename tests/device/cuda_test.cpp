// If there is a GPU, every test over backends() runs on it too. This test shows whether there is one.

#include "tests/catch.hpp"
#include "tests/devices.hpp"

#ifdef ONEBIT_CUDA
#include "device/cuda/blas.hpp"
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
#endif
