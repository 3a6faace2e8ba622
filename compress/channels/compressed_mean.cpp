#include "compress/channels/compressed_mean.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "compress/channels/exchange_pattern.hpp"
#include "compress/channels/measure.hpp"
#include "compress/codecs/codec_options.hpp"
#include "compress/codecs/recorded_draws.hpp"
#include "compress/feedback/error_kernels.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {
namespace {

std::vector<char> dense_marks(std::span<const Tensor> tensors, const Codec& up, const ExchangeConfig& config) {
  require_matches(tensors, config.dense, "codec.dense");
  std::vector<char> marks = matching(tensors, config.dense);
  for (std::size_t i = 0; i < config.dense_tensors.size(); ++i) marks[i] |= config.dense_tensors[i];
  if (pattern_of(up, config) != ExchangePattern::linear) return marks;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (up.keeps_dense(tensors[i])) marks[i] = 1;
  }
  return marks;
}

/// Marks every tensor if there are dense steps.
std::vector<char> all_marks(std::span<const Tensor> tensors, const ExchangeConfig& config) {
  return std::vector<char>(tensors.size(), config.dense_steps > 0 ? 1 : 0);
}

/// Whether one side of the exchange, the workers or the servers, keeps errors. traits: the traits of that side's codec.
bool keeps_errors(Feedback feedback, const Traits& traits) {
  if (feedback == Feedback::automatic) return traits.contraction || !(traits.unbiased || traits.expanding);
  return feedback == Feedback::ef;
}

/// Copies the errors of every segment that both tables have, in `rows` rows. Segments of the same elements have the
/// same number of errors.
void copy_errors(const device::Device& device, Index rows, const SegmentTable& from, FloatRows source,
                 const SegmentTable& to, ErrorRows target) {
  std::map<Index, Index> states;  // offset of a segment's errors, by its first element
  for (const Segment& segment : from.segments()) {
    if (segment.active > 0) states[segment.parameter] = segment.state;
  }
  for (const Segment& segment : to.segments()) {
    const auto state = states.find(segment.parameter);
    if (segment.active == 0 || state == states.end()) continue;
    for_each_row(
        device, rows, segment.active,
        CopyErrorsKernel{source.values + state->second, source.stride, target.data + segment.state, target.stride});
  }
}

Index real_elements(const SegmentTable& table) {
  Index count = 0;
  for (const Segment& segment : table.segments()) count += segment.real;
  return count;
}

/// Returns ||e|| / ||y||; 0 for y = 0.
double ratio(const CodecSquares& squares) {
  return squares.input > 0 ? std::sqrt(squares.error) / std::sqrt(squares.input) : 0.0;
}

}  // namespace

void check(const ExchangeConfig& config) {
  require_range(config.up, "dense-steps", config.dense_steps, 0, Index{1} << 40);
  make_codec(config.up);
  make_codec(down_of(config));
  for (const CodecEntry& entry : codecs()) {  // parameters of other codecs must be valid, too
    CodecConfig other = config.up;
    if (entry.name != config.up.name) other.packing = "none";
    other.name = entry.name;
    entry.make(other);
  }
}

void require_adoptable(const ExchangeConfig& config) {
  const std::unique_ptr<Codec> up = make_codec(config.up), down = make_codec(down_of(config));
  const auto require = [](bool carried, const std::string& reason, const std::string& where, const std::string& hint) {
    if (!carried)
      throw ConfigError("freeze.scope tensor cannot carry errors over to a new exchange: " + reason, where, hint);
  };
  require(config.granularity == Granularity::tensor, "the tensors share one vector", "optimizer.granularity fused",
          "use --optimizer.granularity tensor");
  require(config.padding == Padding::wire_only, "padding elements have errors", "optimizer.semantics deepspeed",
          "use --optimizer.semantics paper");
  require(pattern_of(*up, config) == ExchangePattern::server, "this codec's payloads do not go through servers",
          "codec " + config.up.name, "use --channel server, or another codec");
  require(config.error_type == ErrorType::fp32, "they are stored in fewer bytes than float32", "feedback.dtype",
          "leave out feedback.dtype");
  for (const Codec* codec : {up.get(), down.get()}) {
    require(!codec->has_memory(), "the codec keeps its own state", "codec " + std::string(codec->name()),
            "use another codec");
  }
}

void check(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config) {
  CompressedMean(shard, tensors, config);
}

CompressedMean::CompressedMean(const device::Shard& shard, std::span<const Tensor> tensors,
                               const ExchangeConfig& config)
    : shard_(shard),
      tensors_(tensors.begin(), tensors.end()),
      up_(make_codec(config.up)),
      down_(make_codec(down_of(config))),
      dense_marks_(dense_marks(tensors, *up_, config)),
      layout_(shard.device, sizes_of(tensors), shard.workers(), config.granularity, config.padding, dense_marks_),
      worker_feedback_(keeps_errors(config.feedback, up_->traits())),
      server_feedback_(keeps_errors(config.feedback, down_->traits())),
      seed_(config.seed),
      channel_(make_channel(shard, layout_, tensors_, *up_, *down_, config)),
      dense_(shard, tensors, dense_marks_),
      dense_steps_(config.dense_steps),
      all_dense_(shard, tensors, all_marks(tensors, config)),
      worker_errors_(shard.device, shard.own().count, channel_->error_stride(), config.error_type),
      server_error_(device::Buffer<float>::zeros(shard.device, channel_->server_state_size())),
      audit_every_(config.audit_every) {
  check_error_type(config);
  take_recorded(config);
  if (channel_->packed_mean() != nullptr && dense_.empty()) {
    sign_places_ = device::Buffer<device::SignPlace>::copy_of(shard.device, sign_places(layout_, sizes_of(tensors)));
  }
  if (audit_every_ == 0) return;
  audit_.emplace(shard, layout_.parameters(),
                 FeedbackAudit::Places{&layout_.worker(), channel_->servers(), channel_->error_stride()});
}

/// For types other than float32, throws ConfigError if the errors cannot be stored in the configured type or the
/// workers keep no errors.
void CompressedMean::check_error_type(const ExchangeConfig& config) const {
  if (config.error_type == ErrorType::fp32) return;
  const std::string where =
      "codec " + config.up.name + ", feedback.dtype " + (config.error_type == ErrorType::bf16 ? "bf16" : "int8");
  if (channel_->revisits_errors()) {
    throw ConfigError("this exchange needs the errors of all workers at once, as float32", where,
                      "leave out feedback.dtype, or use another codec or channel");
  }
  if (!worker_feedback_) {
    throw ConfigError("the workers keep no errors, so feedback.dtype has no effect", where,
                      "leave out feedback.dtype, or use --feedback ef if the optimizer allows it");
  }
}

/// Passes recorded draws to the codec. Throws ConfigError if the codec accepts them but does not encode whole vectors:
/// the draws were recorded for whole vectors.
void CompressedMean::take_recorded(const ExchangeConfig& config) {
  if (!config.recorded || !up_->take_recorded(shard_.device, layout_.worker(), shard_.workers(), *config.recorded))
    return;
  if (pattern_of(*up_, config) == ExchangePattern::gather) return;
  throw ConfigError("recorded indices refer to whole vectors, but this channel cuts them into chunks",
                    "codec " + config.up.name, "leave out --channel and --codec.down");
}

RngKey CompressedMean::key() const {
  return {seed_, step_, shard_.own().first, device::Purpose::worker_codec};
}

void CompressedMean::begin(Index step) {
  step_ = step;
  if (!worker_feedback_) worker_errors_.zero();
  if (!server_feedback_) server_error_.zero();
  if (!audits(step)) return;
  if (!audit_->remembers()) audit_->remember(worker_errors_, server_error_);
  audit_->scale(worker_feedback_ ? 1.0f : 0.0f, server_feedback_ ? 1.0f : 0.0f);
}

void CompressedMean::absorb(Range group, const EncodeInput& input) {
  if (averages()) return all_dense_.absorb(group, input);
  if (audits(step_)) audit_->absorb(group, input);
  const Index before = shard_.own().first;
  worker_errors_.edit({group.first - before, group.count}, [&](Range rows, float* errors) {
    const Range part{before + rows.first, rows.count};
    channel_->absorb(part, input.without_first(part.first - group.first), key(), errors);
    if (audits(step_) && !worker_errors_.exact()) audit_->leave(part, errors);
  });
  dense_.absorb(group, input);
}

std::optional<device::SignVector> CompressedMean::packed_mean() const {
  if (sign_places_.size() == 0 || audits(step_) || averages()) return std::nullopt;
  const Payload& packed = *channel_->packed_mean();
  return device::SignVector{packed.body.data(), packed.scales.data(), sign_places_.data()};
}

ExchangeSeconds CompressedMean::exchange(float* result, netmodel::TrafficList& traffic) {
  ExchangeSeconds seconds;
  if (averages()) {
    all_dense_.exchange(result, traffic);
    audit(result);
    return seconds;
  }
  seconds = channel_->exchange(key(), worker_errors_, server_error_, result, traffic);
  dense_.exchange(result, traffic);
  audit(result);
  return seconds;
}

void CompressedMean::require_finite() const {
  const std::optional<Refused> refused = channel_->refusals().first();
  if (!refused) return;
  const std::string worker = refused->worker ? vector_of(*refused->worker, refused->state) : first_bad();
  throw NumericError((worker.empty() ? "a server's mean" : worker) + " is not finite", "step " + std::to_string(step_),
                     "lower the learning rate or clip gradients");
}

void CompressedMean::audit(const float* result) {
  balance_.reset();
  if (audits(step_)) balance_ = audit_->close(worker_errors_, server_error_, result);
  if (audits(step_ + 1)) {
    audit_->remember(worker_errors_, server_error_);
  } else if (audit_) {
    audit_->forget();  // drops errors remembered for a step that had no exchange
  }
}

void CompressedMean::visit_state(device::StateVisitor& visitor) {
  worker_errors_.visit_state(visitor);
  channel_->visit_state(visitor, server_error_);
  if (audit_) visitor.group("audit", [&] { audit_->visit_state(visitor); });
}

netmodel::TrafficList CompressedMean::plan() const {
  netmodel::TrafficList traffic = channel_->plan();
  for (const netmodel::Traffic& record : dense_.plan()) traffic.push_back(record);
  return traffic;
}

void CompressedMean::adopt_errors(const CompressedMean& other) {
  copy_errors(shard_.device, shard_.own().count, other.layout_.worker(),
              {other.worker_errors_.floats().data(), other.error_stride()}, layout_.worker(),
              {worker_errors_.floats().data(), error_stride()});
  copy_errors(shard_.device, 1, *other.channel_->servers(), {other.server_error_.data(), 0}, *channel_->servers(),
              {server_error_.data(), 0});
}

void CompressedMean::reset_errors() {
  worker_errors_.zero();
  server_error_.zero();
  if (audit_) audit_->scale(0, 0);
}

void CompressedMean::restart() {
  reset_errors();
  channel_->renew_payloads();
}

void CompressedMean::scale_errors(float factor) {
  worker_errors_.scale(factor);
  for_each(shard_.device, server_error_.size(), ScaleErrorsKernel{server_error_.data(), factor});
  if (!audit_) return;
  if (worker_errors_.exact() || !audit_->remembers()) return audit_->scale(factor, factor);
  audit_->remember(worker_errors_, server_error_);  // so that the rounding in this scaling does not count as a loss
}

void CompressedMean::set_density(double density) {
  up_->set_density(density);
  down_->set_density(density);
  channel_->renew_payloads();
}

CodecMeasures CompressedMean::worker_codec() const {
  if (averages()) return {};
  std::vector<double> own;
  for (const CodecSquares& squares : channel_->worker_squares(worker_errors_)) {
    own.push_back(ratio(squares));
    own.push_back(squares.sent);
  }
  const std::vector<double> all = shard_.communicator->all_gather(own);
  double errors = 0, sent = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    errors += all[i];
    sent += all[i + 1];
  }
  const auto workers = static_cast<double>(shard_.workers());
  CodecMeasures measures{.error = errors / workers};
  if (counts_sent()) measures.sent_share = sent / workers / static_cast<double>(real_elements(layout_.worker()));
  return measures;
}

/// Whether the elements that each worker sends are counted: the codec is sparse, and its payloads are decoded before
/// they are summed.
bool CompressedMean::counts_sent() const {
  return up_->traits().sparse && !channel_->decodes_sums();
}

double CompressedMean::server_codec_error() const {
  if (averages()) return 0;
  return ratio(channel_->server_squares(server_error_));
}

device::Number CompressedMean::server_error_norm() const {
  return device::Number([square = channel_->server_error_square(server_error_)] { return std::sqrt(square); });
}

std::string CompressedMean::first_bad() const {
  for (Index row = 0; row < shard_.own().count; ++row) {
    const std::vector<float> errors = worker_errors_.to_host({row, 1});
    const auto bad = std::ranges::find_if(errors, [](float error) { return !std::isfinite(error); });
    if (bad == errors.end()) continue;
    return vector_of(shard_.own().first + row, bad - errors.begin());
  }
  return "";
}

/// Describes which vector of the worker an element of its errors belongs to.
std::string CompressedMean::vector_of(Index worker, Index state) const {
  return "worker " + std::to_string(worker) + "'s vector for " + tensor_at(state);
}

/// Describes the tensor that an element of a worker's errors belongs to.
std::string CompressedMean::tensor_at(Index state) const {
  for (const Segment& segment : layout_.worker().segments()) {
    if (state >= segment.state + segment.active) continue;
    const Index parameter = segment.parameter + std::min(state - segment.state, segment.real - 1);
    Index end = 0;
    for (const Tensor& tensor : tensors_) {
      end += tensor.size;
      if (parameter < end) return "tensor " + tensor.name;
    }
  }
  return "an unknown tensor";
}

}  // namespace onebit::compress
