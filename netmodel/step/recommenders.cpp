#include "netmodel/step/recommenders.hpp"

#include <functional>
#include <numeric>

#include "device/base/text.hpp"

namespace onebit::netmodel {
namespace {

double as_double(Index value) {
  return static_cast<double>(value);
}

/// Number of inputs of the top layers, followed by the widths of these layers.
std::vector<Index> top_widths(const DlrmShape& shape) {
  std::vector<Index> widths = {shape.top_inputs()};
  widths.insert(widths.end(), shape.top.begin(), shape.top.end());
  return widths;
}

/// Multiplications of a chain of layers for a sample.
double products(const std::vector<Index>& widths) {
  return std::transform_reduce(widths.begin() + 1, widths.end(), widths.begin(), 0.0, std::plus<>(),
                               [](Index outputs, Index inputs) { return as_double(outputs * inputs); });
}

/// Floating-point operations of a sample in the matrix products of both passes. The forward pass computes the layers
/// and the dot products of all pairs of features. The backward pass needs twice as many operations, except that it
/// computes no gradient of the model's inputs.
double operations(const DlrmShape& shape) {
  const double features = as_double(std::ssize(shape.rows) + 1);
  const double forward =
      products(shape.bottom) + products(top_widths(shape)) + features * features * as_double(shape.width());
  return 2 * (3 * forward - as_double(shape.bottom[0] * shape.bottom[1]));
}

/// Bytes that both passes move for a sample's activations in 16 bits. An activation is written once and read twice, by
/// the next product and by the product for the weights' gradient. The same holds for its gradient.
double moved_bytes(const DlrmShape& shape) {
  constexpr double moves = 6, bytes = 2;
  double numbers = as_double(std::ssize(shape.rows) * shape.width());
  for (std::size_t i = 1; i < shape.bottom.size(); ++i) numbers += as_double(shape.bottom[i]);
  for (const Index width : top_widths(shape)) numbers += as_double(width);
  return moves * bytes * numbers;
}

/// Adds the weights, with a row for each output, and the biases.
void add_layers(const std::string& name, std::span<const Index> widths, std::vector<TensorShape>& tensors) {
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string layer = name + "." + std::to_string(i);
    tensors.push_back({layer + ".weight", widths[i + 1], widths[i]});
    tensors.push_back({layer + ".bias", 1, widths[i + 1]});
  }
}

/// Criteo Terabyte without sub-sampling, with indices modulo `most` (reference code, --max-ind-range).
std::vector<Index> terabyte_rows(Index most) {
  return {most,  39'060, 17'295, 7'424, 20'265, 3,  7'122, 1'543, 63,   most,    3'067'956, 405'282, 10,
          2'209, 11'938, 155,    4,     976,    14, most,  most,  most, 590'152, 12'973,    108,     36};
}

/// The part of the time of both passes of the dense layers that does not depend on the batch. It is inferred, not
/// measured: TorchRec's example took 7.2 ms for steps of 256 samples on each of eight A100s (facebookresearch/dlrm,
/// torchrec_dlrm/README.MD: 284,615 samples per second), of which the GPU needs 0.2 ms. Other programs need less:
/// NVIDIA's example takes 8.0 ms for 32,768 samples on an A100.
constexpr Seconds kFixed{7e-3};

/// Times in mixed precision on every GPU, with a third of the time in the forward pass: the fixed part, products at
/// kUtilisation of the peak rate, and activations at the rate of the memory. Between the two rows, times grow linearly.
/// The page docs/recommenders-price.md compares them with published steps.
std::vector<BatchTimes> times_of(const DlrmShape& shape) {
  constexpr double largest = 1e9;
  std::vector<BatchTimes> times;
  for (const Gpu& gpu : gpus()) {
    const Seconds sample =
        Seconds(operations(shape) / (kUtilisation * gpu.peak)) + Bytes(moved_bytes(shape)) / gpu.memory;
    for (const double batch : {1.0, largest}) {
      const Seconds both = kFixed + batch * sample;
      times.push_back({std::string(gpu.name), batch, 1.0 / 3 * both, 2.0 / 3 * both});
    }
  }
  return times;
}

Workload recommender(const std::string& name, const std::string& data, const DlrmShape& shape) {
  Workload workload;
  workload.name = name;
  workload.tensors = shape.tensors();
  workload.parameters = shape.parameters();
  workload.batches = times_of(shape);
  workload.tables = {
      .count = static_cast<Index>(shape.rows.size()),
      .width = shape.width(),
      .ids = 1,
      .bottom_share = static_cast<double>(shape.bottom_parameters()) / static_cast<double>(shape.parameters()),
      .rows = shape.rows};
  workload.doc = "DLRM, " + data + ": ";
  workload.doc.append(std::to_string(workload.tables.count)).append(" tables with ");
  workload.doc.append(number(static_cast<double>(workload.tables.total_rows()) / 1e6)).append(" M rows x ");
  workload.doc.append(std::to_string(shape.width())).append(" in total, split over the GPUs, and ");
  workload.doc.append(std::to_string(workload.parameters)).append(" dense parameters");
  return workload;
}

}  // namespace

Index DlrmShape::top_inputs() const {
  const auto features = static_cast<Index>(rows.size()) + 1;
  return width() + features * (features - 1) / 2;
}

Index DlrmShape::bottom_parameters() const {
  std::vector<TensorShape> tensors;
  add_layers("bottom", bottom, tensors);
  return total_size(tensors);
}

std::vector<TensorShape> DlrmShape::tensors() const {
  std::vector<TensorShape> all;
  add_layers("bottom", bottom, all);
  add_layers("top", top_widths(*this), all);
  return all;
}

Index DlrmShape::parameters() const {
  return total_size(tensors());
}

DlrmShape dlrm_kaggle() {
  return {{13, 512, 256, 64, 16}, {512, 256, 1}, {1'460,  583,       10'131'227, 2'202'608, 305,       24,    12'517,
                                                  633,    3,         93'145,     5'683,     8'351'593, 3'194, 27,
                                                  14'992, 5'461'306, 10,         5'652,     2'173,     4,     7'046'547,
                                                  18,     15,        286'181,    105,       142'572}};
}

DlrmShape dlrm_terabyte() {
  return {{13, 512, 256, 64}, {512, 512, 256, 1}, terabyte_rows(10'000'000)};
}

DlrmShape dlrm_mlperf() {
  return {{13, 512, 256, 128}, {1024, 1024, 512, 256, 1}, terabyte_rows(40'000'000)};
}

std::vector<Workload> recommender_workloads() {
  return {recommender("dlrm-kaggle", "Criteo Kaggle", dlrm_kaggle()),
          recommender("dlrm-terabyte", "Criteo Terabyte", dlrm_terabyte()),
          recommender("dlrm-mlperf", "Criteo Terabyte as in MLPerf", dlrm_mlperf())};
}

}  // namespace onebit::netmodel
