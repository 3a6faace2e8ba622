#pragma once
// Finds the cuBLAS library of a machine.

#include <functional>
#include <string>

namespace onebit::device::cuda {

/// Opens the library of this name or path, as dlopen() does. If that fails, returns null and sets `why`.
using OpenLibrary = std::function<void*(const std::string& path, std::string& why)>;

struct BlasLibrary {
  void* handle = nullptr;
  std::string name;
};

/// Opens a version of cuBLAS that the driver supports, trying major version 13 first and then 12. The functions and
/// constants that the backend uses are the same in both. PyTorch comes with one of the two versions. Searches the
/// loader's paths, then `folder`. driver: the CUDA version that the driver supports, such as 13000; 0 if there is no
/// driver. Throws Error with a reason for each version that is not found, and for each file in `folder` that cannot be
/// opened.
BlasLibrary open_blas_library(int driver, const std::string& folder, const OpenLibrary& open);

}  // namespace onebit::device::cuda
