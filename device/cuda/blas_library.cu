#include "device/cuda/blas_library.hpp"

#include <filesystem>

#include "device/base/error.hpp"

namespace onebit::device::cuda {
namespace {

constexpr int kMajors[] = {13, 12};
constexpr int kOldest = 12;

bool supports(int driver, int major) {
  return driver == 0 || major == kOldest || driver / 1000 >= major;
}

}  // namespace

BlasLibrary open_blas_library(int driver, const std::string& folder, const OpenLibrary& open) {
  std::string reasons;
  for (const int major : kMajors) {
    if (!supports(driver, major)) continue;
    const std::string name = "libcublas.so." + std::to_string(major);
    const std::string path = folder + "/" + name;
    std::string why, why_in_folder;
    if (void* handle = open(name, why)) return {handle, name};
    if (void* handle = open(path, why_in_folder)) return {handle, name};
    reasons += (reasons.empty() ? "" : "; ") + why;
    if (std::filesystem::exists(path)) reasons += "; " + why_in_folder;
  }
  throw Error("cannot load cuBLAS", reasons, "add its folder to LD_LIBRARY_PATH");
}

}  // namespace onebit::device::cuda
