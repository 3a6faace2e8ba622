#include "sim/data/features/byte_rows.hpp"

#include <algorithm>
#include <utility>

namespace onebit::sim {

void ByteRows::add(Bytes file, Index first, Index stride, Index count) {
  const Index before = files_.empty() ? 0 : files_.back().end;
  files_.push_back({std::move(file), first, stride, before + count});
}

const std::uint8_t* ByteRows::record(Index example) const {
  const auto after = [](Index place, const File& file) { return place < file.end; };
  const auto file = std::upper_bound(files_.begin(), files_.end(), example, after);
  const Index before = file == files_.begin() ? 0 : std::prev(file)->end;
  return file->bytes.data() + file->first + (example - before) * file->stride;
}

void ByteRows::read_bytes(Index example, std::span<std::uint8_t> row) const {
  std::copy_n(record(example), row.size(), row.begin());
}

std::vector<float> ByteRows::values() const {
  std::vector<float> all;
  for (const Values& channel : channels_) all.insert(all.end(), channel.begin(), channel.end());
  return all;
}

void ByteRows::read(Index example, std::span<float> row) const {
  const std::uint8_t* from = record(example);
  const std::size_t part = row.size() / channels_.size();
  for (std::size_t i = 0; i < row.size(); i += part, from += part) {
    const Values& values = channels_[i / part];
    std::transform(from, from + part, row.begin() + static_cast<std::ptrdiff_t>(i),
                   [&](std::uint8_t byte) { return values[byte]; });
  }
}

void ByteRows::standardise(std::span<const Standard> channels) {
  channels_.clear();
  for (const Standard& standard : channels) channels_.push_back(values_of(standard));
}

ByteRows::Values ByteRows::values_of(const Standard& standard) {
  Values values;
  for (std::size_t byte = 0; byte < values.size(); ++byte) values[byte] = standard(static_cast<float>(byte) / 255.0F);
  return values;
}

}  // namespace onebit::sim
