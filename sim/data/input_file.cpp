#include "sim/data/input_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "device/error.hpp"
#include "sim/data/gunzip.hpp"

namespace onebit::sim {
namespace {

constexpr Index map_from = Index{1} << 26;

std::string reason() {
  return std::generic_category().message(errno);
}

}  // namespace

InputFile::InputFile(std::string path, const std::string& hint) : path_(std::move(path)) {
  struct stat status = {};
  if (stat(path_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {  // opening a pipe would block
    throw ConfigError("no such file", path_, hint);
  }
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw ConfigError("cannot open the file: " + reason(), path_, "check its permissions");
  size_ = static_cast<Index>(status.st_size);
}

InputFile::~InputFile() {
  close(descriptor_);
}

bool InputFile::packed() const {
  return is_gzip(head());
}

bool InputFile::binary() const {
  std::vector<std::uint8_t> bytes = head();
  if (is_gzip(bytes)) bytes = gunzip_head({path_, std::move(bytes)});
  return std::find(bytes.begin(), bytes.end(), 0) != bytes.end();
}

std::vector<std::uint8_t> InputFile::head() const {
  return read(std::min<Index>(size_, 8192));
}

std::vector<std::uint8_t> InputFile::read(Index count) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (Index done = 0; done < count;) {
    const ssize_t got = pread(descriptor_, bytes.data() + done, static_cast<std::size_t>(count - done), done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError("cannot read: " + reason(), path_);
    if (got == 0) throw IoError("the file became shorter while it was read", path_);
    done += got;
  }
  return bytes;
}

Bytes InputFile::map() const {
  const auto size = static_cast<std::size_t>(size_);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (memory == MAP_FAILED) throw IoError("cannot map: " + reason(), path_, "try --data.mmap false");
  const std::shared_ptr<const void> owner(memory, [size](void* mapped) { munmap(mapped, size); });
  return {path_, {static_cast<const std::uint8_t*>(memory), size}, owner};
}

Bytes InputFile::load(Switch mapping, Index limit) const {
  if (size_ > limit) {
    throw ConfigError(std::to_string(size_) + " bytes exceed the limit of " + std::to_string(limit), path_);
  }
  if (packed()) {
    if (mapping == Switch::yes) {
      throw ConfigError("a packed file cannot be mapped", path_, "unpack it by gunzip or leave out --data.mmap");
    }
    return {path_, gunzip({path_, read(size_)}, limit)};
  }
  const bool large = size_ >= (mapping == Switch::yes ? 1 : map_from);  // nothing cannot be mapped
  return large && mapping != Switch::no ? map() : Bytes(path_, read(size_));
}

}  // namespace onebit::sim
