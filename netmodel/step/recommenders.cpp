#include "netmodel/step/recommenders.hpp"

#include "device/base/text.hpp"

namespace onebit::netmodel {
namespace {

/// Multiplications of a sample in a forward pass: one for each parameter, and the dot products of all features.
double multiplications(const DlrmShape& shape) {
  const auto features = static_cast<double>(shape.rows.size() + 1);
  return static_cast<double>(shape.parameters()) + features * features * static_cast<double>(shape.width());
}

/// Weights, a row for each output, and biases.
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

/// Time of both passes of the dense layers that does not depend on the batch: an inference. TorchRec's example took 7.2
/// ms for steps of 256 samples on each of eight A100s (facebookresearch/dlrm, torchrec_dlrm/README.MD: 284,615 samples
/// per second). The other 0.2 ms are what such a step takes by the formulas. Other programs have less: NVIDIA's later
/// example takes 8.0 ms for 32,768 samples on an A100.
constexpr Seconds kFixed{7e-3};

/// Time that each sample of MLPerf's shape adds on a V100. NVIDIA's example trained 875,000 samples per second in
/// batches of 32,768 with mixed precision on one V100 (DeepLearningExamples, DLRM for PyTorch, README of April
/// 2020; dense layers of MLPerf's shape, tables of 15 GB). Of such a step, 3.77 ms are what the tables and the dense
/// update take by the formulas. The README of August 2020 has 2.6 times as many samples per second there; the page
/// docs/recommenders-price.md compares.
constexpr Seconds kSample{(32768 / 875e3 - 3.77e-3 - kFixed.value) / 32768};

/// Times on every GPU, a third of them in the forward pass. The GPU's speed decides what a sample takes. The fixed part
/// is the same everywhere, because a step of 256 samples waits for the host, and at every batch: between the two rows,
/// times grow linearly.
std::vector<BatchTimes> times_of(double relative) {
  constexpr double largest = 1e9;
  std::vector<BatchTimes> times;
  for (const Gpu& gpu : gpus()) {
    for (const double batch : {1.0, largest}) {
      const Seconds both = kFixed + batch * relative / gpu.speed * kSample;
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
  workload.batches = times_of(multiplications(shape) / multiplications(dlrm_mlperf()));
  workload.tables = {
      .count = static_cast<Index>(shape.rows.size()),
      .width = shape.width(),
      .ids = 1,
      .bottom_share = static_cast<double>(shape.bottom_parameters()) / static_cast<double>(shape.parameters()),
      .rows = shape.rows};
  workload.doc = "DLRM, " + data + ": ";
  workload.doc.append(std::to_string(workload.tables.count)).append(" tables of together ");
  workload.doc.append(number(static_cast<double>(workload.tables.total_rows()) / 1e6)).append(" M rows x ");
  workload.doc.append(std::to_string(shape.width())).append(", split over the GPUs, and ");
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
  std::vector<Index> widths = {top_inputs()};
  widths.insert(widths.end(), top.begin(), top.end());
  std::vector<TensorShape> all;
  add_layers("bottom", bottom, all);
  add_layers("top", widths, all);
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
