#include "netmodel/step/workload.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "netmodel/step/recommenders.hpp"

namespace onebit::netmodel {
namespace {

constexpr Seconds ms(double value) {
  return Seconds(value * 1e-3);
}

Bytes layer_inputs(Index tokens, Index layers, Index hidden) {
  return Bytes(2 * static_cast<double>(tokens * layers * hidden));
}

/// A GPT-2. Its times assume six operations per parameter and token at 40 TFLOP/s on a V100, a third of them in the
/// forward pass. `parameters` is rounded.
Workload gpt2(const std::string& name, const std::string& model, double parameters, Index layers, Index hidden) {
  const double seconds = 6 * parameters * 1024 / 40e12;
  return {name,
          model + ", sequence 1,024",
          Source::estimated,
          0,
          {{"v100", 1, Seconds(seconds / 3), Seconds(seconds * 2 / 3)}},
          {},
          gpt2_tensors(layers, hidden),
          layer_inputs(1024, layers, hidden)};
}

/// Times for six operations per parameter and token at kUtilisation of the peak rate, a third of them in the forward
/// pass.
std::vector<BatchTimes> language_model(Index parameters, double tokens) {
  std::vector<BatchTimes> times;
  for (const char* gpu : {"h100", "a100"}) {
    const double seconds = 6 * static_cast<double>(parameters) * tokens / (kUtilisation * find_gpu(gpu).peak);
    times.push_back({gpu, 1, Seconds(seconds / 3), Seconds(seconds * 2 / 3)});
  }
  return times;
}

Workload language_workload(const std::string& name, const std::string& model, Index tokens, Bytes activations,
                           std::vector<TensorShape> tensors) {
  const Index parameters = total_size(tensors);
  return {name,
          model + ", sequence " + std::to_string(tokens) + "; at 40% of the peak rate",
          Source::estimated,
          parameters,
          language_model(parameters, static_cast<double>(tokens)),
          {},
          std::move(tensors),
          activations};
}

/// Times of a V100 that processes `per_second` images per second in batches of 32. The forward pass takes a third.
std::vector<BatchTimes> images(double per_second) {
  const double seconds = 32 / per_second;
  return {{"v100", 32, Seconds(seconds / 3), Seconds(seconds * 2 / 3)}};
}

/// Returns the requested GPU if it was measured, otherwise the last one of the list.
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

/// Returns the time of an update, measured on this GPU, or else on one of its generation; otherwise estimated.
Seconds update_time(const Workload& workload, const Gpu& gpu) {
  Seconds seconds = sweep(gpu, workload.parameters, kAdamBytes);
  for (const UpdateTime& update : workload.updates) {
    if (update.gpu.empty() || update.gpu == gpu.name) return update.seconds;
    const Gpu& measured = find_gpu(update.gpu);
    if (measured.generation == gpu.generation) seconds = (measured.memory / gpu.memory) * update.seconds;
  }
  return seconds;
}

}  // namespace

static std::vector<Workload> paper_workloads() {
  constexpr std::array<Index, 4> resnet50 = {3, 4, 6, 3}, resnet152 = {3, 8, 36, 3};
  return {
      {"bert-large",
       "BERT-Large, sequence 128, fp16; V100 times from Table 1 of the paper on 1-bit Adam",
       Source::published,
       0,
       {{"v100-pcie", 1, ms(36.65), ms(33.63)},
        {"v100-pcie", 16, ms(35.71), ms(60.81)},
        {"v100", 1, ms(25.36), ms(23.25)},
        {"v100", 16, ms(32.81), ms(59.99)}},
       {{"v100-pcie", ms(75.1)}, {"v100", ms(57.8)}},
       bert_tensors(24, 1024, BertHead::pretraining),
       layer_inputs(128, 24, 1024)},
      // Outside the embeddings, BERT-Base has 28% of BERT-Large's operations.
      {"bert-base",
       "BERT-Base, sequence 128, fp16; scaled from BERT-Large",
       Source::estimated,
       0,
       {{"v100", 1, ms(12.7), ms(6.5)}, {"v100", 16, ms(12.7), ms(16.8)}},
       {{"v100", ms(18.9)}},
       bert_tensors(12, 768, BertHead::pretraining),
       layer_inputs(128, 12, 768)},
      // In DeepSpeed's figure, one GPU processes 18.7 samples per second
      {"squad",
       "BERT-Large on SQuAD, sequence 384, 3 samples per GPU; from DeepSpeed's figure",
       Source::published,
       0,
       {{"v100", 3, ms(37), ms(65)}},
       {{"v100", ms(58)}},
       bert_tensors(24, 1024, BertHead::questions),
       layer_inputs(384, 24, 1024)},
      {"resnet18", "ResNet-18, ImageNet", Source::estimated, 11'689'512, images(2400), {}},
      {"resnet50", "ResNet-50, ImageNet", Source::estimated, 0, images(800), {}, resnet_tensors(resnet50)},
      {"resnet152", "ResNet-152, ImageNet", Source::estimated, 0, images(300), {}, resnet_tensors(resnet152)},
      {"dcgan", "DCGAN, 64 x 64 images, both networks", Source::estimated, 6'342'272, images(4000), {}},
      gpt2("gpt2", "GPT-2", 124e6, 12, 768),
      gpt2("gpt2-medium", "GPT-2 medium", 355e6, 24, 1024),
      gpt2("gpt2-large", "GPT-2 large", 774e6, 36, 1280),
      gpt2("gpt2-xl", "GPT-2 XL", 1558e6, 48, 1600),
      {"dlrm-dense",
       "DLRM's dense layers, which are data-parallel, without its embedding tables, which are not",
       Source::estimated,
       2'368'000,
       {{"v100", 2048, ms(3), ms(6)}},
       {}},
      {"none", "no computation, only the communication of --step.parameters", Source::estimated, 0, {}, {}},
  };
}

/// Models with the sizes in their published config.json.
static std::vector<Workload> language_workloads() {
  const auto llama = [](const char* name, const char* model, Index tokens, const LlamaSizes& sizes) {
    return language_workload(name, model, tokens, layer_inputs(tokens, sizes.layers, sizes.hidden),
                             llama_tensors(sizes));
  };
  return {
      llama("qwen2.5-1.5b", "Qwen2.5 1.5B", 4096, {28, 1536, 256, 8960, 151'936, true, true}),
      llama("llama2-7b", "Llama 2 7B", 4096, {32, 4096, 4096, 11'008, 32'000}),
      llama("mistral-7b", "Mistral 7B", 8192, {32, 4096, 1024, 14'336, 32'000}),
      llama("qwen2.5-7b", "Qwen2.5 7B", 4096, {28, 3584, 512, 18'944, 152'064, true}),
      llama("llama3-8b", "Llama 3 8B", 8192, {32, 4096, 1024, 14'336, 128'256}),
      llama("llama2-13b", "Llama 2 13B", 4096, {40, 5120, 5120, 13'824, 32'000}),
      language_workload("gpt-neox-20b", "GPT-NeoX-20B", 2048, layer_inputs(2048, 44, 6144),
                        gpt_neox_tensors(44, 6144, 50'432)),
      llama("llama2-70b", "Llama 2 70B", 4096, {80, 8192, 1024, 28'672, 32'000}),
      llama("llama3-70b", "Llama 3 70B", 8192, {80, 8192, 1024, 28'672, 128'256}),
  };
}

std::span<const Workload> workloads() {
  static const std::vector<Workload> table = [] {
    std::vector<Workload> all = paper_workloads();
    for (std::vector<Workload> more : {language_workloads(), recommender_workloads()}) {
      all.insert(all.end() - 1, std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    for (Workload& workload : all) {
      if (!workload.tensors.empty()) workload.parameters = total_size(workload.tensors);
    }
    return all;
  }();
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
  if (batch < 1 || accumulation < 1) {
    throw ConfigError("batch and accumulation must be at least 1",
                      "batch " + std::to_string(batch) + ", accumulation " + std::to_string(accumulation));
  }
  ComputeTimes times;
  times.optimizer = update_time(workload, gpu);
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
