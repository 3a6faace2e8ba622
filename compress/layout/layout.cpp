#include "compress/layout/layout.hpp"

#include <algorithm>

namespace onebit::compress {
namespace {

template <class Size>
device::Chunks chunks_of(const device::Device& device, std::span<const Segment> segments, Size size) {
  std::vector<Index> sizes;
  for (const Segment& segment : segments) sizes.push_back(size(segment));
  return {device, sizes};
}

/// Server j takes elements [j * c, (j + 1) * c) of every segment, where c = padded / workers.
std::vector<Segment> server_segments(std::span<const Segment> worker, Index workers) {
  std::vector<Segment> servers;
  for (const Segment& segment : worker) {
    const Index chunk = segment.padded / workers;
    for (Index begin = 0; begin < segment.padded; begin += chunk) {
      servers.push_back({.parameter = segment.parameter + begin,
                         .real = std::clamp(segment.real - begin, Index{0}, chunk),
                         .state = segment.state + begin,
                         .active = std::clamp(segment.active - begin, Index{0}, chunk),
                         .padded = chunk,
                         .bytes = segment.bytes + begin / 8});
    }
  }
  return servers;
}

}  // namespace

SegmentTable::SegmentTable(const device::Device& device, std::vector<Segment> segments)
    : segments_(std::move(segments)),
      real_(chunks_of(device, segments_, [](const Segment& s) { return s.real; })),
      active_(chunks_of(device, segments_, [](const Segment& s) { return s.active; })),
      padding_(chunks_of(device, segments_, [](const Segment& s) { return s.active - s.real; })) {
  std::vector<Index> offsets;
  for (const Segment& segment : segments_) {
    sizes_.add(segment.active);
    offsets.push_back(segment.bytes);
    if (segment.active > 0) state_end_ = std::max(state_end_, segment.state + segment.active);
  }
  table_ = device::Buffer<Segment>::copy_of(device, segments_);
  byte_offsets_ = device::Buffer<Index>::copy_of(device, offsets);
}

struct ExchangeLayout::Cut {
  std::vector<Segment> segments;
  std::vector<Index> tensors;
  Index parameters = 0;
  Index state_size = 0;
};

ExchangeLayout::Cut ExchangeLayout::cut(std::span<const Index> tensor_sizes, Index workers, Granularity granularity,
                                        Padding padding, std::span<const char> left_out) {
  Cut result;
  Index bytes = 0;
  const auto add = [&](Index first, Index size, Index tensor) {
    if (size == 0) return;
    const Index padded = round_up(size, padding_quantum(workers));
    const Index active = padding == Padding::as_data ? padded : size;
    result.segments.push_back({first, size, result.state_size, active, padded, bytes});
    result.tensors.push_back(tensor);
    result.state_size += active;
    bytes += padded / 8;
  };
  Index run = 0;  // the first element that is not in a segment yet
  for (std::size_t tensor = 0; tensor < tensor_sizes.size(); ++tensor) {
    const Index first = result.parameters;
    result.parameters += tensor_sizes[tensor];
    if (!left_out.empty() && left_out[tensor] != 0) {
      add(run, first - run, -1);
      run = result.parameters;
    } else if (granularity == Granularity::tensor) {
      add(first, tensor_sizes[tensor], static_cast<Index>(tensor));
      run = result.parameters;
    }
  }
  add(run, result.parameters - run, -1);
  return result;
}

ExchangeLayout::ExchangeLayout(const device::Device& device, std::span<const Index> tensor_sizes, Index workers,
                               Granularity granularity, Padding padding, std::span<const char> left_out)
    : ExchangeLayout(device, cut(tensor_sizes, workers, granularity, padding, left_out), workers) {}

ExchangeLayout::ExchangeLayout(const device::Device& device, Cut cut, Index workers)
    : workers_(workers),
      parameters_(cut.parameters),
      state_size_(cut.state_size),
      tensors_(std::move(cut.tensors)),
      worker_(device, cut.segments),
      server_(device, server_segments(cut.segments, workers)) {}

std::vector<device::SignPlace> sign_places(const ExchangeLayout& layout, std::span<const Index> tensor_sizes) {
  const auto vectors = layout.worker().segments();
  std::vector<device::SignPlace> places;
  std::size_t v = 0;
  Index first = 0;
  for (const Index size : tensor_sizes) {
    places.emplace_back();
    if (size == 0) continue;  // an empty tensor belongs to no vector
    if (first >= vectors[v].parameter + vectors[v].real) ++v;
    places.back() = {.byte = vectors[v].bytes,
                     .scale = static_cast<Index>(v) * layout.workers(),
                     .per_scale = vectors[v].padded / layout.workers(),
                     .first = first - vectors[v].parameter};
    first += size;
  }
  return places;
}

ServerPart::ServerPart(const device::Device& device, const ExchangeLayout& layout, Range servers)
    : ServerPart(device, compact(layout, servers)) {}

ServerPart::ServerPart(const device::Device& device, Parts parts)
    : vectors_(device, std::move(parts.vectors)),
      chunks_(device, std::move(parts.chunks)),
      state_size_(parts.state_size) {}

/// Places the errors and bytes of these servers' chunks contiguously, without gaps for the chunks of other servers.
ServerPart::Parts ServerPart::compact(const ExchangeLayout& layout, Range servers) {
  Parts parts;
  Index bytes = 0;
  const auto all = layout.server().segments();
  for (Index s = 0; s < layout.worker().count(); ++s) {
    const auto own = all.subspan(static_cast<std::size_t>(s * layout.workers() + servers.first),
                                 static_cast<std::size_t>(servers.count));
    Segment vector{.parameter = own.front().parameter, .state = parts.state_size, .bytes = bytes};
    for (Segment chunk : own) {
      chunk.state = parts.state_size;
      chunk.bytes = bytes;
      parts.state_size += chunk.active;
      bytes += chunk.padded / 8;
      vector.real += chunk.real;
      vector.active += chunk.active;
      vector.padded += chunk.padded;
      parts.chunks.push_back(chunk);
    }
    parts.vectors.push_back(vector);
  }
  return parts;
}

}  // namespace onebit::compress
