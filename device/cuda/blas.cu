#include "device/cuda/blas.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string>

#include "device/base/error.hpp"
#include "device/cuda/blas_library.hpp"

namespace onebit::device::cuda {
namespace {

#define ONEBIT_TEXT(name) #name
#define ONEBIT_SYMBOL(name) ONEBIT_TEXT(name)  // cublasCreate is a macro for cublasCreate_v2

BlasLibrary open_library() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  return open_blas_library(driver, ONEBIT_CUDA_LIBRARIES, [](const std::string& path, std::string& why) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) why = dlerror();
    return handle;
  });
}

template <class Function>
Function find(const BlasLibrary& library, const char* symbol) {
  void* found = dlsym(library.handle, symbol);
  if (found == nullptr) throw Error("cuBLAS lacks a function: " + std::string(symbol), library.name);
  return reinterpret_cast<Function>(found);
}

#define ONEBIT_FIND(name) find<decltype(&name)>(library, ONEBIT_SYMBOL(name))

Blas load() {
  const BlasLibrary library = open_library();
  return {.create = ONEBIT_FIND(cublasCreate),
          .destroy = ONEBIT_FIND(cublasDestroy),
          .set_stream = ONEBIT_FIND(cublasSetStream),
          .set_workspace = ONEBIT_FIND(cublasSetWorkspace),
          .gemm_strided = ONEBIT_FIND(cublasGemmStridedBatchedEx_64),
          .gemm_scattered = ONEBIT_FIND(cublasGemmBatchedEx_64),
          .status_string = ONEBIT_FIND(cublasGetStatusString)};
}

}  // namespace

const Blas& blas() {
  static const Blas table = load();
  return table;
}

}  // namespace onebit::device::cuda
