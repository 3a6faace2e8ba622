#include "netmodel/step/workload.hpp"

#include <algorithm>
#include <array>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::netmodel {
namespace {

constexpr Seconds ms(double value) {
  return Seconds(value * 1e-3);
}

/// Times for six operations per parameter and token at 40 TFLOP/s on a V100, a third of them in the forward pass.
std::vector<BatchTimes> transformer(double parameters, double tokens) {
  const double seconds = 6 * parameters * tokens / 40e12;
  return {{"v100", 1, Seconds(seconds / 3), Seconds(seconds * 2 / 3)}};
}

/// Times for `per_second` images per second on a V100 in batches of 32, a third of the time in the forward pass.
std::vector<BatchTimes> images(double per_second) {
  const double seconds = 32 / per_second;
  return {{"v100", 32, Seconds(seconds / 3), Seconds(seconds * 2 / 3)}};
}

/// Returns the requested GPU if it was measured, else the last one of the list.
template <class Rows>
std::string measured_gpu(const Rows& rows, std::string_view wanted) {
  for (const auto& row : rows) {
    if (row.gpu == wanted) return row.gpu;
  }
  return rows.back().gpu;
}

BatchTimes scaled(const BatchTimes& times, double factor) {
  return {times.gpu, times.batch, factor * times.forward, factor * times.backward};
}

BatchTimes between(const BatchTimes& a, const BatchTimes& b, double batch) {
  const double t = (batch - a.batch) / (b.batch - a.batch);
  return {a.gpu, batch, a.forward + t * (b.forward - a.forward), a.backward + t * (b.backward - a.backward)};
}

BatchTimes at_batch(const std::vector<BatchTimes>& rows, std::string_view gpu, double batch) {
  const BatchTimes* before = nullptr;
  for (const BatchTimes& row : rows) {
    if (row.gpu != gpu) continue;
    if (batch <= row.batch) return before == nullptr ? row : between(*before, row, batch);
    before = &row;
  }
  return scaled(*before, batch / before->batch);
}

}  // namespace

std::span<const Workload> workloads() {
  static const auto table = std::to_array<Workload>({
      {"bert-large",
       "BERT-Large, sequence 128, fp16; the V100 times of 1-bit Adam's Table 1",
       Source::published,
       336'226'108,
       {{"v100-pcie", 1, ms(36.65), ms(33.63)},
        {"v100-pcie", 16, ms(35.71), ms(60.81)},
        {"v100", 1, ms(25.36), ms(23.25)},
        {"v100", 16, ms(32.81), ms(59.99)}},
       {{"v100-pcie", ms(75.1)}, {"v100", ms(57.8)}}},
      // Outside the embeddings, BERT-Base has 28% of BERT-Large's operations.
      {"bert-base",
       "BERT-Base, sequence 128, fp16; scaled from BERT-Large",
       Source::estimated,
       110'106'428,
       {{"v100", 1, ms(12.7), ms(6.5)}, {"v100", 16, ms(12.7), ms(16.8)}},
       {{"v100", ms(18.9)}}},
      // In DeepSpeed's figure, one GPU processes 18.7 samples per second
      {"squad",
       "BERT-Large on SQuAD, sequence 384, 3 samples per GPU; from DeepSpeed's figure",
       Source::published,
       335'143'938,
       {{"v100", 3, ms(37), ms(65)}},
       {{"v100", ms(58)}}},
      {"resnet18", "ResNet-18, ImageNet", Source::estimated, 11'689'512, images(2400), {}},
      {"resnet50", "ResNet-50, ImageNet", Source::estimated, 25'557'032, images(800), {}},
      {"resnet152", "ResNet-152, ImageNet", Source::estimated, 60'192'808, images(300), {}},
      {"dcgan", "DCGAN, 64 x 64 images, both networks", Source::estimated, 6'342'272, images(4000), {}},
      {"gpt2", "GPT-2, sequence 1,024", Source::estimated, 124'439'808, transformer(124e6, 1024), {}},
      {"gpt2-medium", "GPT-2 medium, sequence 1,024", Source::estimated, 354'823'168, transformer(355e6, 1024), {}},
      {"gpt2-large", "GPT-2 large, sequence 1,024", Source::estimated, 774'030'080, transformer(774e6, 1024), {}},
      {"gpt2-xl", "GPT-2 XL, sequence 1,024", Source::estimated, 1'557'611'200, transformer(1558e6, 1024), {}},
      {"dlrm-dense",
       "DLRM's dense layers, which are data-parallel; embedding tables are not",
       Source::estimated,
       2'368'000,
       {{"v100", 2048, ms(3), ms(6)}},
       {}},
      {"none", "no computation, only the communication of --step.parameters", Source::estimated, 0, {}, {}},
  });
  return table;
}

const Workload& find_workload(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    names.push_back(workload.name);
  }
  throw ConfigError("unknown workload \"" + std::string(name) + "\"", "", suggestion(name, names));
}

Seconds sweep(const Gpu& gpu, Index parameters, double bytes_each) {
  return Bytes(bytes_each * static_cast<double>(parameters)) / gpu.memory;
}

ComputeTimes compute_times(const Workload& workload, const Gpu& gpu, Index batch, Index accumulation) {
  if (batch < 1 || accumulation < 1) throw ConfigError("batch and accumulation must be at least 1", "");
  ComputeTimes times;
  times.optimizer = sweep(gpu, workload.parameters, kAdamBytes);
  if (!workload.updates.empty()) {
    const std::string known = measured_gpu(workload.updates, gpu.name);
    const double factor = known.empty() ? 1 : find_gpu(known).memory / gpu.memory;
    for (const UpdateTime& update : workload.updates) {
      if (update.gpu == known) times.optimizer = factor * update.seconds;
    }
  }
  if (workload.batches.empty()) return times;
  const std::string known = measured_gpu(workload.batches, gpu.name);
  const double factor = known.empty() ? 1 : find_gpu(known).speed / gpu.speed;
  const BatchTimes one = scaled(at_batch(workload.batches, known, static_cast<double>(batch)), factor);
  const auto count = static_cast<double>(accumulation);
  times.forward = count * one.forward;
  times.backward = count * one.backward;
  times.last_backward = one.backward;
  if (known.empty()) {
    times.basis = workload.doc.empty() ? "given" : workload.doc;
    return times;
  }
  times.basis = std::string(name(workload.source)) + " for " + known;
  if (known != gpu.name) times.basis += ", scaled to " + std::string(gpu.name);
  return times;
}

}  // namespace onebit::netmodel
