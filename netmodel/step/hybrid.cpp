#include "netmodel/step/hybrid.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

constexpr double kNumber = sizeof(float);
constexpr double kIndex = 8;    // bytes of an index, an int64 as in PyTorch
constexpr double kSector = 32;  // the least that a GPU reads from memory

/// Largest value of a function of the GPUs' shares: all GPUs wait for the slowest.
template <class Value>
double most(const std::vector<TableShare>& shares, const Value& value) {
  double largest = 0;
  for (const TableShare& share : shares) largest = std::max(largest, value(share));
  return largest;
}

/// The costs of the tables on one fabric: exchanges, and memory that GPUs touch.
class Tables {
 public:
  Tables(const HybridWork& work, const Fabric& fabric, const CostModel& model)
      : work_(work),
        fabric_(fabric),
        model_(model),
        shares_(shares_of(work.tables, work.split, fabric.ranks())),
        batch_(static_cast<double>(work.batch)),
        gpus_(static_cast<double>(fabric.ranks())),
        pooled_(static_cast<double>(work.tables.count * work.tables.width)) {}

  const std::vector<TableShare>& shares() const { return shares_; }

  Priced indices() const {
    const double ids = static_cast<double>(work_.tables.count) * work_.tables.ids;
    if (work_.split == TableSplit::column_wise) return even(Collective::all_gather, batch_ * ids * kIndex);
    if (work_.split == TableSplit::row_wise) return even(Collective::all_to_all, gpus_ * batch_ * ids / gpus_ * kIndex);
    return uneven([&](const TableShare& share) { return batch_ * share.ids * kIndex; }, true);
  }

  Priced forward() const {
    const double bytes = work_.boundary.forward;
    // The sum of two payloads is not a payload, so a reduce-scatter cannot carry payloads.
    if (work_.split == TableSplit::row_wise) {
      return even(work_.boundary.compresses() ? Collective::all_to_all : Collective::reduce_scatter,
                  gpus_ * batch_ * pooled_ * bytes);
    }
    return uneven([&](const TableShare& share) { return batch_ * share.values * bytes; }, false);
  }

  Priced backward() const {
    const double bytes = work_.boundary.backward;
    if (work_.split == TableSplit::row_wise) {
      if (work_.boundary.masked) return even(Collective::all_to_all, gpus_ * batch_ * pooled_ * bytes);
      return even(Collective::all_gather, batch_ * pooled_ * bytes);
    }
    return uneven([&](const TableShare& share) { return batch_ * share.values * bytes; }, true);
  }

  /// Time of pooling, if every row is read from memory each time that a batch needs it.
  Seconds pooling() const {
    return sweep([&](const TableShare& share) {
      return gpus_ * batch_ * (share.ids * (kIndex + std::max(share.row_bytes, kSector)) + share.values * kNumber);
    });
  }
  /// Time of the update. For every row of a bag, the bag's gradient is read, and the row is read and written.
  Seconds update() const {
    return sweep([&](const TableShare& share) {
      return gpus_ * batch_ * share.ids * (kIndex + 3 * std::max(share.row_bytes, kSector));
    });
  }

  /// Time of kernels that touch `bytes` bytes for each number that an owner exchanges with other GPUs.
  Seconds at_owner(double bytes) const {
    return sweep([&](const TableShare& share) { return (gpus_ - 1) * batch_ * share.values * bytes; });
  }
  /// Time of kernels that touch `bytes` bytes for each number that a GPU exchanges with the owners of its samples'
  /// rows.
  Seconds at_trainer(double bytes) const {
    const bool partial = work_.split == TableSplit::row_wise;  // every other owner has sums of all tables
    return sweep([&](const TableShare& share) {
      return batch_ * (partial ? (gpus_ - 1) * pooled_ : pooled_ - share.values) * bytes;
    });
  }
  /// Time of kernels that touch `bytes` bytes for each number of the gradients that a GPU encodes. If the gradients are
  /// gathered, all owners get the same payload.
  Seconds encoding_back(double bytes) const {
    const bool gathers = work_.split == TableSplit::row_wise && !work_.boundary.masked;
    if (!gathers) return at_trainer(bytes);
    return gpus_ == 1 ? Seconds(0) : Seconds(batch_ * pooled_ * bytes / fabric_.gpu().memory.value);
  }

 private:
  template <class BytesOf>
  Seconds sweep(const BytesOf& bytes) const {
    return Seconds(most(shares_, bytes) / fabric_.gpu().memory.value);
  }

  Priced even(Collective collective, double payload) const {
    return price(collective, Bytes(payload), fabric_, model_);
  }

  /// Prices an all-to-all whose blocks differ in size.
  template <class BytesOf>
  Priced uneven(const BytesOf& block, bool by_receiver) const {
    const Bytes payload(gpus_ * most(shares_, block));
    Priced priced{choose(Collective::all_to_all, payload, fabric_, model_), {}};
    Request request = request_of(Collective::all_to_all, payload, priced.choice);
    const bool same =
        std::ranges::all_of(shares_, [&](const auto& share) { return block(share) == block(shares_[0]); });
    if (!same) {
      for (const TableShare& share : shares_) request.blocks.emplace_back(block(share));
      request.by_receiver = by_receiver;
    }
    priced.estimate = model_.cost(plan(request, fabric_), fabric_);
    return priced;
  }

  const HybridWork& work_;
  const Fabric& fabric_;
  const CostModel& model_;
  const std::vector<TableShare> shares_;
  const double batch_, gpus_, pooled_;
};

/// What the dense layers exchange: gradients that may overlap, and everything else.
struct DenseExchange {
  Bytes gradients;
  StepEstimate rest;  ///< the step without these gradients, and without overlap
};

DenseExchange dense_exchange(const ComputeTimes& compute, const StepTraffic& traffic, const Fabric& fabric,
                             const CostModel& model, StepOptions options) {
  options.overlap = Overlap::none;
  return {dense_gradients(traffic, options),
          estimate_step(compute, without_dense_gradients(traffic), fabric, model, options)};
}

constexpr const char *kIndices = "indices to the tables", *kPooling = "pooling", *kEncode = "encoding of embeddings",
                     *kForward = "embeddings", *kBottom = "bottom layers, forward", *kDecode = "decoding of embeddings",
                     *kTop = "top layers, forward", *kTopBack = "top layers, backward",
                     *kEncodeBack = "encoding of their gradients", *kTopGradients = "gradients of top layers",
                     *kBackward = "gradients of embeddings", *kBottomBack = "bottom layers, backward",
                     *kGradients = "gradients of dense layers", *kBottomGradients = "gradients of bottom layers",
                     *kCodec = "codec of dense layers", *kExchange = "exchange of dense layers",
                     *kDecodeBack = "decoding of gradients", *kSparse = "update of tables",
                     *kDense = "update of dense layers";

/// Builds the stages of a step, and adds up its exchanges.
class Builder {
 public:
  Builder(const HybridWork& work, const Fabric& fabric, const CostModel& model, const StepOptions& options,
          const DenseExchange& dense)
      : work_(work), fabric_(fabric), model_(model), options_(options), dense_(dense), tables_(work, fabric, model) {}

  /// `split`: whether gradients of top and bottom layers are exchanged separately.
  HybridEstimate build(bool split, bool overlaps) {
    forward();
    backward(split);
    updates();
    streams_.run(!overlaps);
    return finish(overlaps);
  }

 private:
  void compute(const char* name, StageKind kind, Seconds time, std::vector<std::string> after) {
    streams_.add({.name = name, .kind = kind, .time = time, .after = std::move(after)});
  }
  void exchange(const char* name, StageKind kind, const Priced& priced, std::vector<std::string> after) {
    estimate_.step.exchange += priced.estimate;
    if (priced.estimate.total > longest_) {
      longest_ = priced.estimate.total;
      estimate_.step.algorithm = netmodel::name(priced.choice.algorithm);
      estimate_.step.reason = priced.choice.reason;
    }
    streams_.add({.name = name, .kind = kind, .time = priced.estimate.total, .after = std::move(after)});
  }

  void forward() {
    const double bottom = work_.tables.bottom_share;
    const Boundary& boundary = work_.boundary;
    exchange(kIndices, StageKind::model_parallel, tables_.indices(), {});
    compute(kPooling, StageKind::forward, slowdown(fabric_) * tables_.pooling(), {kIndices});
    compute(kEncode, StageKind::codec, tables_.at_owner(boundary.encode), {});
    exchange(kForward, StageKind::model_parallel, tables_.forward(), {kPooling, kEncode});
    compute(kBottom, StageKind::forward, bottom * dense_.rest.forward, {});
    compute(kDecode, StageKind::codec, tables_.at_trainer(boundary.decode), {kForward});
    compute(kTop, StageKind::forward, (1 - bottom) * dense_.rest.forward, {kForward});
  }

  void backward(bool split) {
    const double bottom = work_.tables.bottom_share;
    const Boundary& boundary = work_.boundary;
    compute(kTopBack, StageKind::backward, (1 - bottom) * dense_.rest.backward, {});
    compute(kEncodeBack, StageKind::codec, tables_.encoding_back(boundary.encode_back), {});
    if (split) gradients(kTopGradients, 1 - bottom, {kTopBack});
    exchange(kBackward, StageKind::model_parallel, tables_.backward(), {kTopBack, kEncodeBack, kTop, kForward});
    compute(kBottomBack, StageKind::backward, bottom * dense_.rest.backward, {});
    gradients(split ? kBottomGradients : kGradients, split ? bottom : 1, {kTopBack, kBottomBack});
    compute(kCodec, StageKind::codec, dense_.rest.codec, {});
    Priced rest;
    rest.estimate = dense_.rest.exchange;
    exchange(kExchange, StageKind::data_parallel, rest, {kCodec, kBottomBack, kTopBack});
    if (dense_.rest.all_communication >= longest_ && !dense_.rest.algorithm.empty()) {
      estimate_.step.algorithm = dense_.rest.algorithm;
      estimate_.step.reason = dense_.rest.reason;
    }
  }

  void gradients(const char* name, double part, std::vector<std::string> after) {
    if (part * dense_.gradients.value == 0) return;
    exchange(name, StageKind::data_parallel, price(Collective::all_reduce, part * dense_.gradients, fabric_, model_),
             std::move(after));
  }

  void updates() {
    compute(kDecodeBack, StageKind::codec, tables_.at_owner(work_.boundary.decode_back), {kBackward});
    compute(kSparse, StageKind::update, tables_.update(), {kBackward});
    compute(kDense, StageKind::update, dense_.rest.optimizer, {kTopGradients, kBottomGradients, kGradients, kExchange});
  }

  HybridEstimate finish(bool overlaps) {
    StepEstimate& step = estimate_.step;
    step.forward = streams_.total(StageKind::forward);
    step.backward = streams_.total(StageKind::backward);
    step.codec = streams_.total(StageKind::codec);
    step.optimizer = streams_.total(StageKind::update);
    estimate_.model_parallel = streams_.waiting(StageKind::model_parallel);
    estimate_.data_parallel = streams_.waiting(StageKind::data_parallel);
    step.communication = estimate_.model_parallel + estimate_.data_parallel;
    step.all_communication = streams_.total(StageKind::model_parallel) + streams_.total(StageKind::data_parallel);
    if (overlaps) step.backward += options_.stretch * (step.all_communication - step.communication);
    step.step = step.forward + step.backward + step.communication + step.codec + step.optimizer;
    estimate_.stages = streams_.stages();
    const std::vector<TableShare>& shares = tables_.shares();
    const double others = static_cast<double>((fabric_.ranks() - 1) * work_.batch) * work_.boundary.forward;
    for (const TableShare& share : shares) {
      const Bytes sent(others * share.values);
      estimate_.pooled += sent;
      estimate_.most_pooled = std::max(estimate_.most_pooled, sent);
    }
    estimate_.imbalance = imbalance(shares);
    return std::move(estimate_);
  }

  const HybridWork& work_;
  const Fabric& fabric_;
  const CostModel& model_;
  const StepOptions& options_;
  const DenseExchange& dense_;
  const Tables tables_;
  Streams streams_;
  HybridEstimate estimate_;
  Seconds longest_;
};

}  // namespace

void check(const HybridWork& work, Index gpus, const StepOptions& options) {
  shares_of(work.tables, work.split, gpus);
  if (options.sharding == Sharding::none) return;
  throw ConfigError("the exchanges of sharded dense layers are not known for models with tables", "step.sharding",
                    "leave it out: the tables are split anyway, and dense layers are small");
}

HybridEstimate estimate_hybrid(const HybridWork& work, const ComputeTimes& compute, const StepTraffic& traffic,
                               const Fabric& fabric, const CostModel& model, const StepOptions& options) {
  check(work, fabric.ranks(), options);
  const DenseExchange dense = dense_exchange(compute, traffic, fabric, model, options);
  const bool overlaps = overlaps_backward(fabric, options);
  HybridEstimate whole = Builder(work, fabric, model, options, dense).build(false, overlaps);
  if (!overlaps || dense.gradients.value == 0) return whole;
  HybridEstimate split = Builder(work, fabric, model, options, dense).build(true, overlaps);
  return split.step.step < whole.step.step ? split : whole;
}

}  // namespace onebit::netmodel
