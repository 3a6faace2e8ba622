#include "sim/data/files/input_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

constexpr Index map_from = Index{1} << 26;

}  // namespace

bool InputFile::packed() const {
  return is_gzip(head());
}

bool InputFile::binary() const {
  return opening().text().find('\0') != std::string_view::npos;
}

Bytes InputFile::opening() const {
  std::vector<std::uint8_t> bytes = head();
  if (is_gzip(bytes)) bytes = gunzip_head({path(), std::move(bytes)});
  return {path(), std::move(bytes)};
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

Bytes InputFile::packed_bytes(Switch mapping, Index limit) const {
  if (mapping == Switch::yes) {
    throw ConfigError("a packed file cannot be mapped", path(), "unpack it with gunzip, or leave out --data.mmap");
  }
  return {path(), file_.all(limit)};
}

void InputFile::read(Switch mapping, Index limit, const TakePiece& take) const {
  if (packed()) return gunzip_pieces(packed_bytes(mapping, limit), limit, take);
  constexpr std::size_t most = std::size_t{1} << 20;
  const Bytes all = load(mapping, limit);
  for (auto rest = all.view(); !rest.empty(); rest = rest.subspan(std::min(most, rest.size())))
    take(rest.first(std::min(most, rest.size())));
}

Bytes InputFile::load(Switch mapping, Index limit, Index enough) const {
  if (packed()) return {path(), gunzip(packed_bytes(mapping, limit), limit, enough > 0 ? enough : limit)};
  const bool large = size() >= (mapping == Switch::yes ? 1 : map_from);  // an empty file cannot be mapped
  const bool maps = large && mapping != Switch::no && size() <= limit;
  return maps ? map() : Bytes(path(), file_.all(limit));
}

}  // namespace onebit::sim
