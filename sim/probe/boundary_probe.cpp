#include "sim/probe/boundary_probe.hpp"

#include <cmath>

#include "device/launch/sums.hpp"
#include "sim/layers/boundary_kernels.hpp"

namespace onebit::sim {

double BoundarySums::cosine() const {
  return gradients.product / std::sqrt(gradients.coded * gradients.plain);
}

BoundaryProbe::BoundaryProbe(const device::Shard& shard, Index parameters, Index group)
    : shard_(shard),
      parameters_(parameters),
      coded_sum_(shard, parameters),
      plain_sum_(shard, parameters),
      rows_(shard.device, group * parameters),
      coded_(shard.device, parameters),
      plain_(shard.device, parameters) {}

void BoundaryProbe::pass(Model& model, const Weights& weights, Batch& batch, const GradientRows& rows) {
  batch.boundaries = AtBoundaries::plain;
  batch.freeze_running_stats = true;
  model.gradients(weights, batch, {rows_.data(), parameters_, rows.add, rows.scale});
  batch.boundaries = AtBoundaries::usual;
}

void BoundaryProbe::absorb(Range group, const float* coded) {
  coded_sum_.absorb(group, coded, parameters_);
  plain_sum_.absorb(group, rows_.data(), parameters_);
}

void BoundaryProbe::add(BoundarySums::Agreement& agreement) {
  coded_sum_.take_mean(coded_.data());
  plain_sum_.take_mean(plain_.data());
  const AgreementTerm term{coded_.data(), plain_.data()};
  const std::vector<double> products = sums(shard_.device, AgreementTerm::kinds, device::Chunks(parameters_), term);
  agreement.product += products[0];
  agreement.coded += products[1];
  agreement.plain += products[2];
}

}  // namespace onebit::sim
