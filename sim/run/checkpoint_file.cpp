#include "sim/run/checkpoint_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "device/base/error.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/descriptor.hpp"
#include "sim/run/pause_point.hpp"

namespace onebit::sim {
namespace {

constexpr Index kBlock = 512;              // HDF5's smallest user block
constexpr Index kParcel = Index{1} << 20;  // bytes that a rank sends at a time
constexpr Index kPiece = Index{8} << 20;   // bytes that are copied at a time
constexpr const char* kSeal = "onebit-checkpoint 1\nbytes %ld\ncrc32 %08lx\n";
constexpr const char* kContents = "contents %08lx\n";  // the next line; early checkpoints lack it

[[noreturn]] void fail_writing(const std::string& path) {
  throw IoError("cannot write checkpoint: " + std::string(std::strerror(errno)), path);
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ConfigError("cannot use checkpoint: " + why, path);
}

struct Seal {
  Index bytes = 0;  ///< number of bytes after the first block
  unsigned long crc = 0;
  std::optional<unsigned long> contents = {};  ///< checksum of the values passed to HDF5
};

/// Returns the length and the checksum of what the file contains after its first block.
Seal seal_of(const Descriptor& file, const std::string& path) {
  Seal seal;
  const auto piece = std::make_unique_for_overwrite<unsigned char[]>(kPiece);
  while (true) {
    const ssize_t count = file.read_at(piece.get(), std::size_t{kPiece}, kBlock + seal.bytes);
    if (count < 0) throw IoError("cannot read checkpoint: " + std::string(std::strerror(errno)), path);
    if (count == 0) return seal;
    seal.crc = crc32_z(seal.crc, piece.get(), static_cast<std::size_t>(count));
    seal.bytes += count;
  }
}

std::array<char, kBlock> text_of(const Seal& seal) {
  std::array<char, kBlock> text{};
  const int length = std::snprintf(text.data(), text.size(), kSeal, static_cast<long>(seal.bytes), seal.crc);
  char* rest = text.data() + length;
  if (seal.contents) std::snprintf(rest, text.size() - static_cast<std::size_t>(length), kContents, *seal.contents);
  return text;
}

/// Parses the first block of a file. Empty if the file does not begin like a checkpoint.
std::optional<Seal> seal_in(const std::array<char, kBlock>& text) {
  Seal seal;
  long bytes = 0;
  if (std::memchr(text.data(), '\0', text.size()) == nullptr) return {};
  if (std::sscanf(text.data(), kSeal, &bytes, &seal.crc) != 2) return {};
  seal.bytes = bytes;
  unsigned long contents = 0;
  const char* line = std::strstr(text.data(), "\ncontents ");
  if (line != nullptr && std::sscanf(line + 1, kContents, &contents) == 1) seal.contents = contents;
  return seal;
}

/// Returns what is wrong with the bytes of a file; empty if nothing is. Sets `seal` to the seal that the file contains.
std::string defect_of(const std::string& path, Seal& seal) {
  const Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return std::strerror(errno);
  std::array<char, kBlock> text{};
  const ssize_t there = file.read_at(text.data(), text.size(), 0);
  if (there < 0) return std::strerror(errno);
  if (there != static_cast<ssize_t>(text.size())) return "truncated";
  const std::optional<Seal> wanted = seal_in(text);
  if (!wanted) return "it does not begin like a checkpoint";
  seal = *wanted;
  Seal found = seal_of(file, path);
  if (found.bytes != seal.bytes) {
    return "it has " + std::to_string(found.bytes) + " bytes instead of " + std::to_string(seal.bytes);
  }
  found.contents = seal.contents;
  return text_of(found) == text ? "" : "its checksum does not match its bytes";
}

hid_t h5_type(device::ElementType type) {
  switch (type) {
    case device::ElementType::float32:
      return H5T_NATIVE_FLOAT;
    case device::ElementType::float64:
      return H5T_NATIVE_DOUBLE;
    case device::ElementType::int64:
      return H5T_NATIVE_INT64;
    case device::ElementType::uint16:
      return H5T_NATIVE_UINT16;
    case device::ElementType::uint8:
      return H5T_NATIVE_UINT8;
    case device::ElementType::int8:
      return H5T_NATIVE_INT8;
  }
  return H5I_INVALID_HID;
}

/// Cuts pieces into smaller pieces of at most `most` elements.
std::vector<device::Piece> cut(std::span<const device::Piece> pieces, Index most) {
  std::vector<device::Piece> parts;
  for (const device::Piece& piece : pieces) {
    for (Index done = 0; done < piece.count; done += most) {
      parts.push_back({piece.first + done, piece.global + done, std::min(most, piece.count - done)});
    }
  }
  return parts;
}

/// Calls copy(piece, host memory) for pieces of at most kPiece bytes.
template <class Copy>
void for_each_part(std::span<const device::Piece> pieces, device::ElementType type, const Copy& copy) {
  std::vector<std::byte> host;
  for (const device::Piece& part : cut(pieces, kPiece / device::bytes_of(type))) {
    host.resize(std::max(host.size(), static_cast<std::size_t>(part.count * device::bytes_of(type))));
    copy(part, host.data());
  }
}

/// Returns the number of doubles that hold `bytes` bytes.
std::size_t words(Index bytes) {
  return static_cast<std::size_t>(ceil_div(bytes, Index{sizeof(double)}));
}

/// Packs place, count and bytes of a piece into numbers, which ranks can all-gather.
std::vector<double> packed(const device::Elements& elements, const device::Piece& piece) {
  std::vector<double> parcel(2 + words(piece.count * device::bytes_of(elements.type)));
  parcel[0] = static_cast<double>(piece.global);
  parcel[1] = static_cast<double>(piece.count);
  elements.download(&parcel[2], piece.first, piece.count);
  return parcel;
}

}  // namespace

h5::Object create_checkpoint_file(const std::string& path) {
  return h5::create_file(path, "checkpoint", kBlock);
}

h5::Object open_checkpoint_file(const std::string& path) {
  try {
    return h5::open_file(path, false, "checkpoint");
  } catch (const IoError& error) {
    refuse(path, error.what());
  }
}

void seal(const h5::Object& closed) {
  const std::string& path = closed.where.file;
  const Descriptor file(path, O_RDWR);
  if (file.get() < 0) fail_writing(path);
  Seal seal = seal_of(file, path);
  seal.contents = closed.contents->checksum();
  const std::array<char, kBlock> text = text_of(seal);
  if (!file.write_at(text.data(), text.size(), 0)) fail_writing(path);
}

void verify_written(const h5::Object& closed) {
  h5::verify(closed);
  Seal seal;
  const std::string defect = defect_of(closed.where.file, seal);
  if (!defect.empty()) throw IoError("cannot write checkpoint: " + defect, closed.where.file);
}

void verify_seal(const std::string& path) {
  Seal seal;
  const std::string defect = defect_of(path, seal);
  if (!defect.empty()) refuse(path, defect);
  if (!seal.contents) return;
  try {
    if (h5::Contents::of(open_checkpoint_file(path)).checksum() == *seal.contents) return;
  } catch (const IoError& error) {
    refuse(path, error.what());
  }
  refuse(path, "its contents differ from what was computed");
}

h5::Object StateWriter::dataset(const std::string& path, device::ElementType type, Index total) {
  if (h5::exists(*file_, path)) return h5::open_dataset(*file_, path);
  for (auto end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    if (!h5::exists(*file_, path.substr(0, end))) h5::close(h5::create_group(*file_, path.substr(0, end)));
  }
  return h5::create_array(*file_, path, h5_type(type), total);
}

void StateWriter::device(const std::string& path, const device::Elements& elements,
                         std::span<const device::Piece> pieces, Index total, Held held) {
  if (held == Held::by_every_rank && shard().rank() > 0) return;
  if (held == Held::by_one_rank && gathers_) return gather(path, elements, pieces, total);
  h5::Object target = dataset(path, elements.type, total);
  for_each_part(pieces, elements.type, [&](const device::Piece& part, std::byte* host) {
    elements.download(host, part.first, part.count);
    h5::write_rows(target, h5_type(elements.type), host, part.count, part.global);
  });
  h5::close(target);
  pause_point("checkpoint.data");
}

/// All-gathers one parcel (place, count and bytes) of every rank at a time, until no rank has more; the root writes
/// them.
void StateWriter::gather(const std::string& path, const device::Elements& elements,
                         std::span<const device::Piece> pieces, Index total) {
  const Index size = device::bytes_of(elements.type);
  const std::vector<device::Piece> parts = cut(pieces, kParcel / size);
  const auto own = static_cast<double>(parts.size());
  const std::vector<double> counts = shard().communicator->all_gather({&own, 1});
  const auto rounds = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  std::optional<h5::Object> target;
  if (file_ != nullptr) target = dataset(path, elements.type, total);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<double> parcel;
    if (round < parts.size()) parcel = packed(elements, parts[round]);
    const std::vector<double> all = shard().communicator->all_gather(parcel);
    for (std::size_t at = 0; target && at < all.size();) {
      const auto global = static_cast<Index>(all[at]), count = static_cast<Index>(all[at + 1]);
      h5::write_rows(*target, h5_type(elements.type), &all[at + 2], count, global);
      at += 2 + words(count * size);
    }
  }
  if (target) h5::close(*target);
}

template <class Number>
void StateWriter::list(const std::string& path, device::ElementType type, const std::vector<Number>& values) {
  if (shard().rank() > 0) return;
  const auto count = static_cast<Index>(values.size());
  h5::Object target = dataset(path, type, count);
  h5::write_rows(target, h5_type(type), values.data(), count, 0);
  h5::close(target);
}

void StateWriter::host(const std::string& path, std::vector<double>& values) {
  list(path, device::ElementType::float64, values);
}

void StateWriter::host(const std::string& path, std::vector<Index>& values) {
  list(path, device::ElementType::int64, values);
}

h5::Object StateReader::dataset(const std::string& path) const {
  if (!h5::exists(file_, path))
    refuse(file_.where.file, "it has no " + path + ": the run that wrote it had other options");
  return h5::open_dataset(file_, path);
}

void StateReader::device(const std::string& path, const device::Elements& elements,
                         std::span<const device::Piece> pieces, Index total, Held) {
  const h5::Object source = dataset(path);
  const std::vector<hsize_t> sizes = h5::extents(source);
  if (sizes.size() != 1 || static_cast<Index>(sizes[0]) != total) {
    refuse(file_.where.file,
           path + " does not have " + std::to_string(total) + " elements: the run that wrote it had other options");
  }
  for_each_part(pieces, elements.type, [&](const device::Piece& part, std::byte* host) {
    const auto bytes = static_cast<std::size_t>(part.count * device::bytes_of(elements.type));
    h5::read_rows(source, h5_type(elements.type), {host, bytes}, part.count, part.global);
    elements.upload(host, part.first, part.count);
  });
}

template <class Number>
void StateReader::list(const std::string& path, device::ElementType type, std::vector<Number>& values) {
  const h5::Object source = dataset(path);
  const std::vector<hsize_t> sizes = h5::extents(source);
  if (sizes.size() != 1) refuse(file_.where.file, path + " is not a list");
  h5::check_plausible(source, static_cast<double>(sizes[0]) * sizeof(Number));
  values.resize(static_cast<std::size_t>(sizes[0]));
  h5::read_rows(source, h5_type(type), values, static_cast<Index>(sizes[0]));
}

void StateReader::host(const std::string& path, std::vector<double>& values) {
  list(path, device::ElementType::float64, values);
}

void StateReader::host(const std::string& path, std::vector<Index>& values) {
  list(path, device::ElementType::int64, values);
}

}  // namespace onebit::sim
