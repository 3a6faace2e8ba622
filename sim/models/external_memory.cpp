#include "sim/models/external_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

constexpr Index kAlignment = 64;

[[noreturn]] void refuse(Index bytes) {
  throw IoError("cannot share memory with the worker program: " + std::string(std::strerror(errno)),
                std::to_string(bytes) + " bytes", "use a smaller --worker-group or a smaller batch");
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
  if (descriptor_ >= 0) close(descriptor_);
}

bool SharedMemory::reserve(Index bytes) {
  if (bytes <= size_) return false;
  if (descriptor_ < 0) {
    descriptor_ = memfd_create("onebit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // The other process must not truncate what is mapped here.
    if (descriptor_ < 0 || fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) refuse(bytes);
  }
  // A lack of memory must show here, not when the memory is written to.
  do {
    errno = posix_fallocate(descriptor_, 0, bytes);
  } while (errno == EINTR);
  if (errno != 0) refuse(bytes);
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
  data_ = nullptr;
  void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) refuse(bytes);
  data_ = static_cast<std::byte*>(mapped);
  size_ = bytes;
  return true;
}

std::string SharedMemory::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

ExternalArrays::ExternalArrays(Index parameters, Index rows) : weights(add(rows * parameters, sizeof(float))) {}

ExternalArrays::ExternalArrays(Index parameters, Index rows, const Batch& batch, bool with_gradients)
    : ExternalArrays(parameters, rows) {
  features = add(static_cast<Index>(batch.features.size()), sizeof(float));
  tokens = add(static_cast<Index>(batch.tokens.size()), sizeof(std::int32_t));
  labels = add(static_cast<Index>(batch.labels.size()), sizeof(std::int32_t));
  if (!with_gradients) return;
  gradients = add(batch.workers * parameters, sizeof(float));
  losses = add(batch.workers, sizeof(double));
}

ExternalArrays::Array ExternalArrays::add(Index count, Index element) {
  const Array array{bytes, count};
  bytes += round_up(count * element, kAlignment);
  return array;
}

std::string ExternalArrays::words() const {
  const std::pair<const char*, Array> arrays[] = {{"weights", weights}, {"features", features},   {"tokens", tokens},
                                                  {"labels", labels},   {"gradients", gradients}, {"losses", losses}};
  std::string text;
  for (const auto& [name, array] : arrays) {
    if (array.count > 0) text.append(" ").append(name).append("=").append(std::to_string(array.offset));
  }
  return text;
}

}  // namespace onebit::sim
