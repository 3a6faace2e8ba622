#include "device/cuda/blas.hpp"

#include <dlfcn.h>

#include <string>

#include "device/base/error.hpp"

namespace onebit::device::cuda {
namespace {

#define ONEBIT_TEXT(name) #name
#define ONEBIT_SYMBOL(name) ONEBIT_TEXT(name)  // cublasCreate is a macro for cublasCreate_v2

const std::string kLibrary = "libcublas.so." ONEBIT_SYMBOL(CUBLAS_VER_MAJOR);

/// Searches the loader's paths, then the library folder of the toolkit used for this build.
void* open_library() {
  void* library = dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  library = dlopen((ONEBIT_CUDA_LIBRARIES "/" + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error("cannot load cuBLAS", why, "add its folder to LD_LIBRARY_PATH");
  return library;
}

template <class Function>
Function find(void* library, const char* symbol) {
  void* found = dlsym(library, symbol);
  if (found == nullptr) throw Error("cuBLAS lacks a function: " + std::string(symbol), kLibrary);
  return reinterpret_cast<Function>(found);
}

#define ONEBIT_FIND(name) find<decltype(&name)>(library, ONEBIT_SYMBOL(name))

Blas load() {
  void* library = open_library();
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
