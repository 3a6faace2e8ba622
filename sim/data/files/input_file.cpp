#include "sim/data/files/input_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "device/base/error.hpp"
#include "sim/data/files/gunzip.hpp"

namespace onebit::sim {
namespace {

constexpr Index map_from = Index{1} << 26;

}  // namespace

bool InputFile::packed() const {
  return is_gzip(head());
}

bool InputFile::binary() const {
  std::vector<std::uint8_t> bytes = head();
  if (is_gzip(bytes)) bytes = gunzip_head({path(), std::move(bytes)});
  return std::find(bytes.begin(), bytes.end(), 0) != bytes.end();
}

std::vector<std::uint8_t> InputFile::head() const {
  return file_.head(8192);
}

Bytes InputFile::map() const {
  const auto bytes = static_cast<std::size_t>(size());
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file_.descriptor(), 0);
  if (memory == MAP_FAILED)
    throw IoError("cannot map: " + std::generic_category().message(errno), path(), "try --data.mmap false");
  const std::shared_ptr<const void> owner(memory, [bytes](void* mapped) { munmap(mapped, bytes); });
  return {path(), {static_cast<const std::uint8_t*>(memory), bytes}, owner};
}

Bytes InputFile::load(Switch mapping, Index limit) const {
  if (packed()) {
    if (mapping == Switch::yes) {
      throw ConfigError("a packed file cannot be mapped", path(), "unpack it with gunzip, or leave out --data.mmap");
    }
    return {path(), gunzip({path(), file_.all(limit)}, limit)};
  }
  const bool large = size() >= (mapping == Switch::yes ? 1 : map_from);  // an empty file cannot be mapped
  const bool maps = large && mapping != Switch::no && size() <= limit;
  return maps ? map() : Bytes(path(), file_.all(limit));
}

}  // namespace onebit::sim
