#include "sim/layers/sequence/tied_output.hpp"

#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {

TiedOutput::TiedOutput(Parameters& parameters, const Embedding& embedding, bool biased)
    : Layer(embedding.outputs(), embedding.shape().context * embedding.shape().vocabulary),
      shape_(embedding.shape()),
      table_(embedding.table()),
      bias_(biased ? parameters.add_constant("logits.bias", shape_.vocabulary, 0) : -1) {}

void TiedOutput::forward(const Pass& pass, const float* input, float* output) {
  const Index own = pass.batch * shape_.context, width = shape_.width, words = shape_.vocabulary;
  const bool shared = pass.shared_weights();
  device::gemm_batched(pass.device,
                       {.m = shared ? pass.workers * own : own, .n = words, .k = width, .transpose_b = true},
                       {input, width, own * width}, {pass.weights.data + table_, width, pass.weights.stride},
                       {output, words, own * words}, shared ? 1 : pass.workers);
  if (bias_ < 0) return;
  const BiasActivationKernel<Identity> kernel{own,    words,  pass.weights.data + bias_, pass.weights.stride,
                                              output, nullptr};
  for_each_row(pass.device, pass.workers * own, words, kernel);
}

void TiedOutput::backward(const Pass& pass, const float* input, const float*, float* output_delta, float* input_delta) {
  const Index own = pass.batch * shape_.context, width = shape_.width, words = shape_.vocabulary;
  const GradientRows& rows = pass.gradients;
  device::gemm_batched(pass.device, {.m = words, .n = width, .k = own, .transpose_a = true, .accumulate = rows.add},
                       {output_delta, words, own * words}, {input, width, own * width},
                       {rows.data + table_, width, rows.stride}, pass.workers);
  if (bias_ >= 0) {
    const BiasGradientKernel kernel{own, words, rows.add, output_delta, rows.data + bias_, rows.stride};
    sum_columns(pass.device, pass.workers, own, words, kernel);
  }
  if (input_delta == nullptr) return;
  const bool shared = pass.shared_weights();
  device::gemm_batched(pass.device, {.m = shared ? pass.workers * own : own, .n = width, .k = words},
                       {output_delta, words, own * words}, {pass.weights.data + table_, width, pass.weights.stride},
                       {input_delta, width, own * width}, shared ? 1 : pass.workers);
}

double TiedOutput::flops(bool reads_data) const {
  return (reads_data ? 2 : 3) * 2.0 * static_cast<double>(inputs() * shape_.vocabulary);
}

}  // namespace onebit::sim
