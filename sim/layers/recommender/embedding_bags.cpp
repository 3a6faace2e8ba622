#include "sim/layers/recommender/embedding_bags.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/channels/blocks.hpp"
#include "compress/channels/records.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/sums.hpp"
#include "sim/layers/boundary_kernels.hpp"
#include "sim/layers/dropout_kernels.hpp"

namespace onebit::sim {
namespace {

constexpr Index kMostElements = Index{1} << 40;

}  // namespace

EmbeddingBags::EmbeddingBags(const device::Device& device, Shape shape, const TablesConfig& config, std::uint32_t seed)
    : Layer(0, shape.parts * std::ssize(shape.tables) * shape.width),
      device_(device),
      shape_(std::move(shape)),
      config_(config) {
  for (const BagTable& table : shape_.tables) {
    places_.push_back({rows_, table.rows, slots_, table.slots});
    rows_ += table.rows;
    slots_ += table.slots;
  }
  if (rows_ > kMostElements / shape_.width) {
    throw ConfigError("the tables are too large", std::to_string(rows_) + " rows of " + std::to_string(shape_.width),
                      "cap the rows (--data.max-rows) or use a smaller --tables.width");
  }
  if (config_.optimizer != "sgd" && config_.optimizer != "adagrad") {
    throw ConfigError("unknown optimizer for the tables", "tables.optimizer " + config_.optimizer, "sgd or adagrad");
  }
  if (!(std::isfinite(config_.lr) && config_.lr >= 0)) {
    throw ConfigError("option out of range", "tables.lr " + shortest(config_.lr), "a finite number, at least 0");
  }
  if (!(std::isfinite(config_.eps) && config_.eps > 0)) {
    throw ConfigError("option out of range", "tables.eps " + shortest(config_.eps), "a finite number above 0");
  }
  place_table_ = device::Buffer<TablePlace>::copy_of(device_, places_);
  weights_ = device::Buffer<float>(device_, rows_ * shape_.width);
  if (config_.optimizer == "adagrad") squares_ = device::Buffer<float>::zeros(device_, rows_);
  draw(seed);
}

void EmbeddingBags::draw(std::uint32_t seed) {
  const device::RandomKey key{seed, device::Purpose::initialization};
  for (std::size_t t = 0; t < places_.size(); ++t) {
    const TablePlace& place = places_[t];
    const Index elements = place.rows * shape_.width;
    float* first = weights_.data() + place.first_row * shape_.width;
    if (shape_.deviation > 0) {
      for_each(device_, elements,
               DrawNormalTableKernel{key, static_cast<Index>(t), shape_.width, shape_.zeros,
                                     static_cast<float>(shape_.deviation), first});
      continue;
    }
    const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(place.rows)));
    for_each(device_, elements, DrawTableKernel{key, static_cast<Index>(t), bound, first});
  }
}

std::vector<compress::Tensor> EmbeddingBags::tensors() const {
  std::vector<compress::Tensor> tensors;
  for (const TablePlace& place : places_) {
    tensors.push_back({"table" + std::to_string(tensors.size() + 1), place.rows * shape_.width, place.rows});
  }
  return tensors;
}

void EmbeddingBags::forward(const Pass& pass, const float*, float* output) {
  const auto tables = std::ssize(places_);
  const PoolKernel kernel{tables,      shape_.parts,    shape_.width, slots_, place_table_.data(),
                          pass.tokens, weights_.data(), output};
  for_each_row(device_, pass.examples() * shape_.parts * tables, shape_.width, kernel);
}

/// Keeps the gradients of the pooled embeddings for the end of the step.
void EmbeddingBags::backward(const Pass& pass, const float*, const float*, float* output_delta, float*) {
  const bool plain = pass.boundaries == AtBoundaries::plain;
  if (!collects(pass) && !plain) return;
  Gradients& gradients = plain ? plain_ : gradients_;
  if (gradients.used == gradients.parts.size()) gradients.parts.emplace_back();
  Part& part = gradients.parts[gradients.used++];
  part.workers = pass.workers;
  part.batch = pass.batch;
  part.first_worker = pass.place.first_worker;
  part.first_draw = pass.place.first_draw;
  grow(part.deltas, device_, pass.examples() * outputs());
  for_each(device_, pass.examples() * outputs(), CopyKernel{output_delta, part.deltas.data()});
  if (plain) return;  // the bags are those of the step
  grow(part.bags, device_, pass.examples() * slots_);
  for_each(device_, pass.examples() * slots_, CopyBagsKernel{pass.tokens, part.bags.data()});
}

void EmbeddingBags::visit_state(device::StateVisitor& visitor) {
  visitor.shared("tables", weights_);
  if (squares_.size() > 0) visitor.shared("squares", squares_);
}

void EmbeddingBags::end_step(const StepEnd& end) {
  Index examples = 0;
  for (std::size_t p = 0; p < gradients_.used; ++p) examples += gradients_.parts[p].workers * gradients_.parts[p].batch;
  const Index draws = examples / end.shard.own().count, all = end.shard.workers() * draws;
  if (all > std::numeric_limits<std::int32_t>::max()) {
    throw ConfigError("a step has too many examples for tables", std::to_string(all), "at most 2^31 - 1");
  }
  const bool measured = plain_.used > 0;
  grow(gradients_.deltas, device_, all * outputs());
  grow(bags_, device_, all * slots_);
  place_parts(gradients_, draws);
  if (measured) {
    grow(plain_.deltas, device_, all * outputs());
    place_parts(plain_, draws);
  }
  exchange(end.shard, draws, measured);
  const Index rows = list_rows(all);
  add_up(gradients_, rows);
  if (measured) {
    add_up(plain_, rows);
    end.measured->gradients = agreement(rows);
  }
  update(config_.lr > 0 ? config_.lr * end.schedule_factor : end.lr, rows);
  record(end.traffic);
}

/// Puts this device's gradients and bags where they belong among those of all workers.
void EmbeddingBags::place_parts(Gradients& gradients, Index draws) {
  for (std::size_t p = 0; p < gradients.used; ++p) {
    Part& part = gradients.parts[p];
    if (part.first_draw + part.batch > draws)
      throw Error("a batch extends beyond the examples of the step", "EmbeddingBags");
    const Index first = part.first_worker * draws + part.first_draw;
    const auto copy = [&](auto& to, auto& from, Index columns) {
      if (from.size() == 0) return;
      to.memory()->copy(compress::block(to, first * columns, part.workers, part.batch * columns, draws * columns),
                        *from.memory(),
                        compress::block(from, 0, part.workers, part.batch * columns, part.batch * columns));
    };
    copy(gradients.deltas, part.deltas, outputs());
    copy(bags_, part.bags, slots_);
  }
  gradients.used = 0;
}

/// Sends this device's gradients and bags to all other devices.
void EmbeddingBags::exchange(const device::Shard& shard, Index draws, bool measured) {
  if (shard.ranks() == 1) return;
  const auto rows_of = [&](Range workers) -> device::Blocks {
    const Index first = workers.first * draws, rows = workers.count * draws;
    const auto deltas = [&](Gradients& gradients) {
      return compress::block(gradients.deltas, first * outputs(), rows, outputs(), outputs());
    };
    device::Blocks blocks = {deltas(gradients_), compress::block(bags_, first * slots_, rows, slots_, slots_)};
    if (measured) blocks.push_back(deltas(plain_));
    return blocks;
  };
  std::vector<device::Blocks> to, from;
  for (Index rank = 0; rank < shard.ranks(); ++rank) {
    const bool self = rank == shard.rank();
    to.push_back(self ? device::Blocks{} : rows_of(shard.own()));
    from.push_back(self ? device::Blocks{} : rows_of(shard.ranges[static_cast<std::size_t>(rank)]));
  }
  shard.communicator->all_to_all(device_, to, from);
}

/// Lists the touched rows, and returns their number; on a device that only counts memory, the largest possible one.
Index EmbeddingBags::list_rows(Index examples) {
  const Index most = examples * slots_;  // the same in every step, so that buffers grow once
  const Index most_rows = std::min(most, rows_);
  grow(touched_, device_, most_rows);
  grow(examples_, device_, most);
  if (device_.plans()) return most_rows;
  std::vector<std::int32_t> bags(static_cast<std::size_t>(most));
  bags_.download(bags);
  lists_.list(bags, places_, shape_.parts, shape_.width);
  touched_.upload(lists_.rows);
  examples_.upload(lists_.examples);
  return std::ssize(lists_.rows);
}

/// Computes the gradients of the touched rows.
void EmbeddingBags::add_up(Gradients& gradients, Index rows) {
  grow(gradients.rows, device_, touched_.size() * shape_.width);
  const RowGradientKernel kernel{shape_.width,         outputs(),        1.0 / static_cast<double>(shape_.workers),
                                 touched_.data(),      examples_.data(), gradients.deltas.data(),
                                 gradients.rows.data()};
  for_each_row(device_, rows, shape_.width, kernel);
}

/// Returns the products of the gradients with and without the boundary's codec.
BoundarySums::Agreement EmbeddingBags::agreement(Index rows) const {
  if (rows == 0) return {};
  const AgreementTerm term{gradients_.rows.data(), plain_.rows.data()};
  const std::vector<double> products = sums(device_, AgreementTerm::kinds, device::Chunks(rows * shape_.width), term);
  return {products[0], products[1], products[2]};
}

/// Updates the touched rows.
void EmbeddingBags::update(double lr, Index rows) {
  const auto rate = static_cast<float>(lr);
  if (squares_.size() == 0) {
    const RowSgdKernel sgd{shape_.width, rate, touched_.data(), gradients_.rows.data(), weights_.data()};
    for_each_row(device_, rows, shape_.width, sgd);
  } else {
    const RowAdagradKernel adagrad{
        shape_.width,    rate,           static_cast<float>(config_.eps), touched_.data(), gradients_.rows.data(),
        squares_.data(), weights_.data()};
    for_each_item(device_, rows, adagrad);
  }
}

/// Records the traffic of the row numbers that workers send to the owners of the rows, 4 bytes each.
void EmbeddingBags::record(netmodel::TrafficList& traffic) {
  if (shape_.workers == 1) return;
  const Index numbers = ceil_div(std::ssize(lists_.examples), shape_.workers);
  traffic.push_back(compress::record(netmodel::Collective::all_to_all, netmodel::Direction::up,
                                     netmodel::WireType::packed, shape_.workers, 4 * numbers * shape_.copies,
                                     netmodel::kRowNumbers));
}

}  // namespace onebit::sim
