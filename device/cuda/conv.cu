// Convolutions as products with a matrix of patches [pixels of the result][taps x channels], a chunk of images at a
// time. cuBLAS picks its method by a product's shape, so that a row's last bits may depend on the size of its chunk.
#include "device/conv.hpp"

#include <algorithm>

#include "device/cuda/launch.cuh"
#include "device/gemm.hpp"

namespace onebit::device::cuda {
namespace {

/// patches[row][column] = what the row's pixel of the result reads there.
struct PatchKernel {
  ConvShape shape;
  const float* input;
  float* patches;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const Index image = row / shape.out_pixels();
    const Index read = shape.met(row % shape.out_pixels(), column / shape.channels);
    const float* pixel = input + image * shape.inputs() + read * shape.channels;
    patches[row * shape.patch() + column] = read < 0 ? 0.0f : pixel[column % shape.channels];
  }
};

/// input_delta[pixel][channel] = sum of the patches' gradients that read it, in the order of the taps.
struct PatchGradientKernel {
  ConvShape shape;
  const float* patches;
  float* input_delta;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index channel) const {
    const Index image = row / shape.in_pixels();
    float sum = 0.0f;
    for (Index tap = 0; tap < shape.taps(); ++tap) {
      const Index pixel = shape.meeting(row % shape.in_pixels(), tap);
      if (pixel < 0) continue;
      sum += patches[(image * shape.out_pixels() + pixel) * shape.patch() + tap * shape.channels + channel];
    }
    input_delta[row * shape.channels + channel] = sum;
  }
};

/// output[row][filter] = relu(output + bias), as far as asked for.
struct FinishKernel {
  Index own_rows;  ///< of a worker
  Index filters;
  const float* bias;  ///< null: none
  Index bias_stride;
  bool relu;
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index filter) const {
    float& out = output[row * filters + filter];
    const float sum = bias == nullptr ? out : out + bias[row / own_rows * bias_stride + filter];
    out = relu && sum <= 0.0f ? 0.0f : sum;
  }
};

/// Whole workers, or some images of one.
struct Chunk {
  Index worker, workers, image, images;
};

/// Calls work(chunk, patches) over a batch; the patches of a chunk fill at most kMostPatches numbers, those of one
/// image at least.
template <class Work>
void for_each_chunk(const Queue& queue, const ConvShape& shape, const ConvBatch& batch, const Work& work) {
  constexpr Index kMostPatches = Index{1} << 26;
  const Index size = shape.out_pixels() * shape.patch();
  const Index images = std::clamp<Index>(kMostPatches / size, 1, batch.images);
  const Index workers = images < batch.images ? 1 : std::clamp<Index>(kMostPatches / (size * images), 1, batch.workers);
  auto* patches =
      static_cast<float*>(queue.context().workspace(workers * images * size * static_cast<Index>(sizeof(float))));
  for (Index worker = 0; worker < batch.workers; worker += workers) {
    for (Index image = 0; image < batch.images; image += images) {
      work(Chunk{worker, std::min(workers, batch.workers - worker), image, std::min(images, batch.images - image)},
           patches);
    }
  }
}

/// A product of a chunk's patches: one for all its workers where they share their filters.
void multiply(const Queue& queue, const ConvBatch& batch, const Chunk& chunk, GemmShape rows, MatrixIn a, MatrixIn b,
              MatrixOut c) {
  const bool shared = batch.stride == 0;
  if (shared) rows.m *= chunk.workers;
  gemm_batched(queue, rows, a, b, c, shared ? 1 : chunk.workers);
}

void gather(const Queue& queue, const ConvShape& shape, const ConvBatch& batch, const Chunk& chunk, const float* input,
            float* patches) {
  const float* first = input + (chunk.worker * batch.images + chunk.image) * shape.inputs();
  for_each_row(queue, chunk.workers * chunk.images * shape.out_pixels(), shape.patch(),
               PatchKernel{shape, first, patches});
}

}  // namespace

/// The patches lie in the queue's workspace.
Index conv_scratch(const Queue&, const ConvShape&, Index) {
  return 0;
}

void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, [&](const Chunk& chunk, float* patches) {
    gather(queue, shape, batch, chunk, input, patches);
    const Index rows = chunk.images * shape.out_pixels();
    multiply(
        queue, batch, chunk, {.m = rows, .n = shape.filters, .k = shape.patch()},
        {patches, shape.patch(), rows * shape.patch()},
        {batch.weights + chunk.worker * batch.stride, shape.filters, batch.stride},
        {output + (chunk.worker * batch.images + chunk.image) * shape.outputs(), shape.filters, rows * shape.filters});
  });
  if (batch.bias == nullptr && !batch.relu) return;
  const Index own_rows = batch.images * shape.out_pixels();
  for_each_row(queue, batch.workers * own_rows, shape.filters,
               FinishKernel{own_rows, shape.filters, batch.bias, batch.stride, batch.relu, output});
}

void conv_input_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                         float* input_delta) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, [&](const Chunk& chunk, float* patches) {
    const Index first = chunk.worker * batch.images + chunk.image, rows = chunk.images * shape.out_pixels();
    multiply(queue, batch, chunk, {.m = rows, .n = shape.patch(), .k = shape.filters, .transpose_b = true},
             {delta + first * shape.outputs(), shape.filters, rows * shape.filters},
             {batch.weights + chunk.worker * batch.stride, shape.filters, batch.stride},
             {patches, shape.patch(), rows * shape.patch()});
    for_each_row(queue, chunk.workers * chunk.images * shape.in_pixels(), shape.channels,
                 PatchGradientKernel{shape, patches, input_delta + first * shape.inputs()});
  });
}

void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, [&](const Chunk& chunk, float* patches) {
    gather(queue, shape, batch, chunk, input, patches);
    const Index first = chunk.worker * batch.images + chunk.image, rows = chunk.images * shape.out_pixels();
    gemm_batched(queue,
                 {.m = shape.patch(),
                  .n = shape.filters,
                  .k = rows,
                  .transpose_a = true,
                  .accumulate = gradient.add || chunk.image > 0},
                 {patches, shape.patch(), rows * shape.patch()},
                 {delta + first * shape.outputs(), shape.filters, rows * shape.filters},
                 {gradient.data + chunk.worker * gradient.stride, shape.filters, gradient.stride}, chunk.workers);
  });
}

}  // namespace onebit::device::cuda
