#include "device/cuda/cuda.hpp"

namespace onebit::device::cuda {

std::vector<std::pair<std::string, std::string>> list() {
  return {{"cuda", "not in this build: configure with -DONEBIT_CUDA=ON where nvcc is installed"}};
}

}  // namespace onebit::device::cuda
