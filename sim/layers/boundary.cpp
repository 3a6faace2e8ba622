#include "sim/layers/boundary.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "compress/channels/records.hpp"
#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/sums.hpp"
#include "sim/layers/dropout_kernels.hpp"

namespace onebit::sim {
namespace {

void require_one_of(const std::string& option, const std::string& value, std::initializer_list<const char*> values) {
  std::string hint;
  for (const char* each : values) {
    if (value == each) return;
    hint.append(hint.empty() ? "" : ", ").append(each);
  }
  throw ConfigError("unknown value", option + " " + value, hint);
}

/// Replaces `dct-mp` by what it stands for. nothing_returns: whether gradients need not cross.
BoundaryConfig resolved(BoundaryConfig config, bool nothing_returns) {
  if (nothing_returns && config.backward == "codec") config.backward = "dense";
  if (config.codec.name != "dct-mp") return config;
  config.codec.name = "dct";
  if (config.backward == "codec") config.backward = "mask";
  return config;
}

std::unique_ptr<compress::Codec> codec_of(const BoundaryConfig& config) {
  if (config.codec.name == "fp32") return nullptr;
  std::unique_ptr<compress::Codec> codec = compress::make_codec(config.codec);
  const compress::Traits traits = codec->traits();
  const std::string where = "boundary.codec " + config.codec.name;
  if (traits.linear || traits.shared_max) {
    throw ConfigError("this codec needs all workers' vectors, and a boundary has one sender", where,
                      "use a codec that encodes each vector separately, such as dct-mp, top-k or int4");
  }
  if (config.backward == "mask" && !traits.sparse) {
    throw ConfigError("this codec sends every element, so it gives no mask", where + ", boundary.backward mask",
                      "use a sparse codec, or boundary.backward codec");
  }
  if (config.codec.name == "random-k" && config.codec.scaled && config.backward == "mask") {
    throw ConfigError("with a mask, the gradients would not be scaled as the values were",
                      where + ", boundary.scaled, boundary.backward mask",
                      "boundary.scaled false, or boundary.backward codec");
  }
  if (config.forward == "dense" && config.backward == "dense") {
    throw ConfigError("nothing would pass through the codec",
                      where + ", boundary.forward dense, boundary.backward dense",
                      "leave out one of them, or boundary.codec");
  }
  if (codec->has_memory() && config.scope == "sample" && config.codec.renew > 1) {
    throw ConfigError("a sample's threshold cannot be kept, since the next step has other samples",
                      "boundary.scope sample, boundary.renew " + std::to_string(config.codec.renew),
                      "boundary.renew 1, or boundary.scope batch or neuron");
  }
  return codec;
}

}  // namespace

SendingColumns SendingColumns::one(Index columns) {
  return blocks(1, columns);
}

SendingColumns SendingColumns::blocks(Index senders, Index columns) {
  SendingColumns result{.senders = senders};
  for (Index c = 0; c < senders * columns; ++c)
    result.columns.push_back({c / columns, c % columns, columns, c / columns * columns});
  return result;
}

SendingColumns SendingColumns::everyone(Index workers, Index columns) {
  SendingColumns result = blocks(workers, columns);
  result.to_all = true;
  return result;
}

Boundary::Boundary(SendingColumns columns, Index workers, const BoundaryConfig& config)
    : Layer(std::ssize(columns.columns), std::ssize(columns.columns)),
      columns_(std::move(columns)),
      workers_(workers),
      config_(resolved(config, columns_.to_all)),
      by_neuron_(config.scope == "neuron"),
      by_sample_(config.scope == "sample") {
  require_one_of("boundary.scope", config.scope, {"batch", "sample", "neuron"});
  require_one_of("boundary.forward", config.forward, {"codec", "dense"});
  require_one_of("boundary.backward", config.backward, {"codec", "mask", "dense"});
  codec_ = columns_.to_all && workers == 1 ? nullptr : codec_of(config_);
}

/// Cuts a row into segments: one for each sender, or one for each of its examples or columns.
Boundary::Layout Boundary::made_layout(const device::Device& device, Index batch) const {
  std::vector<Index> widths(static_cast<std::size_t>(columns_.senders)), senders;
  for (const SendingColumn& column : columns_.columns) widths[static_cast<std::size_t>(column.sender)] = column.width;
  std::vector<compress::Segment> segments;
  compress::Segment last;
  for (std::size_t s = 0; s < widths.size(); ++s) {
    const Index pieces = by_sample_ ? batch : by_neuron_ ? widths[s] : 1;
    const Index size = widths[s] * batch / pieces;
    for (Index piece = 0; piece < pieces; ++piece) {
      const Index at = last.parameter + last.real;
      last = {at, size, at, size, round_up(size, 8), last.bytes + last.padded / 8};
      segments.push_back(last);
      senders.push_back(static_cast<Index>(s));
    }
  }
  return {compress::SegmentTable(device, std::move(segments)), std::move(senders)};
}

/// Chooses the layout for the pass's batch size, and makes the buffers large enough.
void Boundary::lay_out(const Pass& pass) {
  if (places_.size() == 0) places_ = device::Buffer<SendingColumn>::copy_of(pass.device, columns_.columns);
  grow(rows_, pass.device, pass.examples() * inputs());
  grow(decoded_, pass.device, pass.examples() * inputs());
  grow(crossings_, pass.device, pass.examples() * inputs());
  auto found = layouts_.find(pass.batch);
  if (found == layouts_.end()) found = layouts_.emplace(pass.batch, made_layout(pass.device, pass.batch)).first;
  layout_ = &found->second;
}

/// Returns the number of the first worker of the pass if workers keep what they would send to themselves; otherwise -1.
Index Boundary::first_keeper(const Pass& pass) const {
  return columns_.receivers_send && pass.training ? pass.place.first_worker : -1;
}

/// Returns how many elements cross in one direction of the pass.
double Boundary::elements_crossing(const Pass& pass) const {
  const Index first = first_keeper(pass);
  Index kept = 0;
  for (const SendingColumn& column : columns_.columns) {
    kept += first >= 0 && column.sender >= first && column.sender < first + pass.workers ? 1 : 0;
  }
  return static_cast<double>((inputs() * pass.workers - kept) * pass.batch);
}

void Boundary::grow_memory(const device::Device& device, Way& way) {
  const Index segments = by_neuron_ ? inputs() : columns_.senders;
  if (way.memory.size() == 0) way.memory = device::Buffer<float>::zeros(device, workers_ * segments);
}

/// Copies what the codec keeps for the pass's workers to the payload.
void Boundary::load_memory(const Pass& pass, Way& way) {
  if (!codec_->has_memory()) return;
  if (!pass.training || !keeps_memory()) return payload(way).memory.zero();
  grow_memory(pass.device, way);
  const Index segments = layout_->table.count();
  for_each(pass.device, pass.workers * segments,
           CopyKernel{way.memory.data() + pass.place.first_worker * segments, payload(way).memory.data()});
}

void Boundary::store_memory(const Pass& pass, Way& way) {
  if (!keeps_memory() || !collects(pass)) return;
  const Index segments = layout_->table.count();
  for_each(pass.device, pass.workers * segments,
           CopyKernel{payload(way).memory.data(), way.memory.data() + pass.place.first_worker * segments});
}

/// Encodes an activation or its gradient.
void Boundary::encode(const Pass& pass, Way& way, const float* input) {
  if (payload(way).rows < pass.workers) payload(way) = codec_->make_payload(pass.device, layout_->table, pass.workers);
  for_each_row(pass.device, pass.examples(), inputs(), PackBoundaryKernel{places(pass), inputs(), input, rows_.data()});
  load_memory(pass, way);
  const compress::RngKey key{pass.place.seed ^ static_cast<std::uint32_t>(pass.place.first_draw) * 0x9E3779B9u,
                             pass.exchange_step, pass.place.first_worker, way.purpose};
  codec_->encode(pass.device, layout_->table, {0, pass.workers}, {}, key, {rows_.data(), pass.batch * inputs()},
                 payload(way));
  store_memory(pass, way);
}

/// Decodes what encode() has encoded, and records what crossed.
void Boundary::decode(const Pass& pass, Way& way, const float* input, float* output) {
  const Index size = pass.batch * inputs();
  for (Index worker = 0; worker < pass.workers; ++worker) {
    codec_->decode(pass.device, layout_->table, payload(way), worker, decoded_.data() + worker * size);
  }
  const UnpackBoundaryKernel unpack{places(pass),
                                    inputs(),
                                    first_keeper(pass),
                                    by_sample_,
                                    layout_->table.count(),
                                    codec_->refuses() ? payload(way).refused.data() : nullptr,
                                    decoded_.data(),
                                    input,
                                    output,
                                    crossings_.data()};
  for_each_row(pass.device, pass.examples(), inputs(), unpack);
}

/// Returns the bytes of the encoded segments that crossed.
double Boundary::encoded_bytes(const Pass& pass, const Way& way) const {
  const bool varies = payload(way).sizes.size() > 0 && !pass.device.plans();
  const std::vector<Index> sizes = varies ? payload(way).sizes.to_host() : std::vector<Index>();
  const Index first = first_keeper(pass);
  double bytes = 0;
  for (Index worker = 0; worker < pass.workers; ++worker) {
    for (std::size_t s = 0; s < layout_->senders.size(); ++s) {
      if (first >= 0 && layout_->senders[s] == first + worker) continue;
      const compress::Segment& segment = layout_->table.segments()[s];
      const std::size_t row = static_cast<std::size_t>(worker) * layout_->senders.size() + s;
      bytes += static_cast<double>((sizes.empty() ? codec_->body_bytes(segment) : sizes[row]) +
                                   codec_->scale_bytes(segment));
    }
  }
  return bytes;
}

/// Returns the number of values that were sent forward in the last pass.
double Boundary::sent_values(const Pass& pass) const {
  const Index own = pass.batch * inputs();
  const auto counts = sums(pass.device, pass.workers, device::Chunks(own), SentTerm{crossings_.data(), own});
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

void Boundary::forward(const Pass& pass, const float* input, float* output) {
  double bytes = 4 * elements_crossing(pass);
  const bool asked = pass.training ? pass.boundaries != AtBoundaries::plain : pass.boundaries == AtBoundaries::coded;
  const bool encodes = codec_ != nullptr && asked;
  if (encodes) {
    lay_out(pass);
    encode(pass, up_, input);
    decode(pass, up_, input, output);
    if (config_.forward == "codec" && collects(pass)) bytes = encoded_bytes(pass, up_);
  }
  if (!encodes || config_.forward == "dense") {
    for_each(pass.device, pass.examples() * inputs(), CopyKernel{input, output});
  }
  if (collects(pass)) up_.bytes += bytes;
  measure(pass, up_, input, output);
  if (!measures(pass) || !codec_->traits().sparse) return;
  sent_ += sent_values(pass);
  to_send_ += elements_crossing(pass);
}

void Boundary::backward(const Pass& pass, const float*, const float*, float* output_delta, float* input_delta) {
  const Index count = pass.examples() * inputs();
  double bytes = 0;
  if (codec_ == nullptr || config_.backward == "dense" || pass.boundaries == AtBoundaries::plain) {
    for_each(pass.device, count, CopyKernel{output_delta, input_delta});
    bytes = 4 * elements_crossing(pass);
  } else if (config_.backward == "mask") {
    for_each(pass.device, count, MaskKernel{crossings_.data(), output_delta, input_delta});
    bytes = collects(pass) ? 4 * sent_values(pass) : 0;
  } else {
    encode(pass, down_, output_delta);
    decode(pass, down_, output_delta, input_delta);
    bytes = collects(pass) ? encoded_bytes(pass, down_) : 0;
  }
  if (collects(pass)) down_.bytes += bytes;
  if (!columns_.to_all || config_.backward != "dense") measure(pass, down_, output_delta, input_delta);
}

bool Boundary::measures(const Pass& pass) const {
  return codec_ != nullptr && pass.boundaries == AtBoundaries::measured && collects(pass);
}

/// Adds up the squared norms of what should have crossed in one direction (the input), and of what did.
void Boundary::measure(const Pass& pass, Way& way, const float* input, const float* output) const {
  if (!measures(pass)) return;
  const Index own = pass.batch * inputs();
  const auto add = [&](const float* values, std::vector<double>& squares) {
    squares.resize(static_cast<std::size_t>(workers_));
    const CrossingSquareTerm term{crossings_.data(), values, own};
    const std::vector<double> added = sums(pass.device, pass.workers, device::Chunks(own), term);
    for (std::size_t w = 0; w < added.size(); ++w) {
      squares[static_cast<std::size_t>(pass.place.first_worker) + w] += added[w];
    }
  };
  add(input, way.whole);
  add(output, way.crossed);
}

/// Returns the step's sums over all workers, added in the order of the workers, and resets them. Collective.
BoundarySums::Way Boundary::measured(const device::Shard& shard, Way& way) const {
  const Range own = shard.own();
  const auto total = [&](std::vector<double>& squares) {
    squares.resize(static_cast<std::size_t>(workers_));
    const std::vector<double> all = shard.communicator->all_gather(std::span<const double>(squares).subspan(
        static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count)));
    squares.clear();
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  const double whole = total(way.whole);
  return {whole, total(way.crossed)};
}

void Boundary::visit_state(device::StateVisitor& visitor) {
  if (!keeps_memory()) return;
  const Range own = visitor.shard().own();
  for (Way* way : {&up_, &down_}) {
    grow_memory(visitor.shard().device, *way);
    const Index segments = way->memory.size() / workers_;
    visitor.rows(way == &up_ ? "forward" : "backward", way->memory, segments, own.first * segments);
  }
}

/// Records what crossed in one direction, as an all-to-all from the point of view of the average worker.
void Boundary::append(const Way& way, double bytes, netmodel::TrafficList& traffic) const {
  const Index group = columns_.receivers_send ? workers_ : 2;
  if (group == 1) return;
  const double each = bytes / static_cast<double>(workers_);
  const double payload = each * static_cast<double>(group) / static_cast<double>(group - 1);
  traffic.push_back(compress::record(netmodel::Collective::all_to_all, way.direction,
                                     codec_ == nullptr ? netmodel::WireType::fp32 : netmodel::WireType::packed, group,
                                     static_cast<Index>(std::ceil(payload)), netmodel::kActivations));
}

/// Records that every worker has contributed its columns of all examples.
void Boundary::append_to_all(double bytes, netmodel::TrafficList& traffic) const {
  if (workers_ == 1) return;
  const bool encoded = codec_ != nullptr && config_.forward == "codec";
  const auto collective = encoded ? netmodel::Collective::all_gather : netmodel::Collective::all_reduce;
  traffic.push_back({.collective = collective,
                     .direction = encoded ? netmodel::Direction::up : netmodel::Direction::both,
                     .type = encoded ? netmodel::WireType::packed : netmodel::WireType::fp32,
                     .group_size = workers_,
                     .messages = messages_sent(collective, workers_),
                     .payload_bytes = static_cast<Index>(std::ceil(bytes / static_cast<double>(workers_))),
                     .tensor = netmodel::kActivations});
}

void Boundary::end_step(const StepEnd& end) {
  constexpr std::size_t kinds = 4;
  const std::vector<double> own = {up_.bytes, down_.bytes, sent_, to_send_};
  const std::vector<double> all = end.shard.communicator->all_gather(own);
  up_.bytes = down_.bytes = sent_ = to_send_ = 0;
  std::array<double, kinds> sums{};
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % kinds] += all[i];
  const auto [up, down, sent, to_send] = sums;
  if (end.measured != nullptr) {
    end.measured->sent_share = sent / to_send;
    end.measured->forward = measured(end.shard, up_);
    end.measured->backward = measured(end.shard, down_);
  }
  if (columns_.to_all) {
    end.traffic.clear();
    return append_to_all(up, end.traffic);
  }
  append(up_, up, end.traffic);
  append(down_, down, end.traffic);
}

}  // namespace onebit::sim
