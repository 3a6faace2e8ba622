// Convolutions as products with a matrix of patches [pixels of the result][taps x channels], a chunk of images at a
// time. cuBLAS picks its method by a product's shape, so that a row's last bits may depend on the size of its chunk.
#include "device/conv.hpp"

#include <algorithm>

#include "device/cuda/launch.cuh"
#include "device/gemm.hpp"

namespace onebit::device::cuda {
namespace {

/// Four channels side by side, which are copied together.
struct alignas(16) Quad {
  float channel[4];
  ONEBIT_HOST_DEVICE Quad& operator+=(const Quad& other) {
    for (int k = 0; k < 4; ++k) channel[k] += other.channel[k];
    return *this;
  }
};

/// Images and their patches, in elements of one channel or four.
template <class T>
struct Patches {
  static constexpr Index kWidth = sizeof(T) / sizeof(float);

  Patches(const ConvShape& shape, const TapTable& table, Index image)
      : reads(table.reads.data()),
        order(table.pixels.data()),
        pixels(table.pixels.size()),
        channels(shape.channels / kWidth),
        columns(shape.patch() / kWidth),
        image(image / kWidth) {}

  const std::int32_t* reads;  ///< [taps][pixels]
  const std::int32_t* order;  ///< [pixels]
  Index pixels, channels, columns;
  Index image;  ///< from one to the next, of what is read
};

/// patches[row][column] = what the row's pixel of the result reads there.
template <class T>
struct PatchKernel {
  Patches<T> of;
  const T* input;
  T* patches;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const Index row = run_of(i, of.columns), column = i - row * of.columns;
    const Index image = run_of(row, of.pixels), pixel = row - image * of.pixels;
    const Index tap = run_of(column, of.channels), channel = column - tap * of.channels;
    const Index read = of.reads[tap * of.pixels + pixel];
    patches[i] = read < 0 ? T{} : input[image * of.image + read * of.channels + channel];
  }
};

/// input_delta[pixel][channel] = sum of the patches' gradients that read it, in the order of the taps.
template <class T>
struct PatchGradientKernel {
  Patches<T> of;
  Index taps;
  const T* patches;
  T* input_delta;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const Index row = run_of(i, of.channels), channel = i - row * of.channels;
    const Index image = run_of(row, of.pixels), place = row - image * of.pixels;
    T sum{};
    for (Index tap = 0; tap < taps; ++tap) {
      const Index pixel = of.reads[tap * of.pixels + place];
      if (pixel >= 0) sum += patches[image * of.image + pixel * of.columns + tap * of.channels + channel];
    }
    input_delta[(image * of.pixels + of.order[place]) * of.channels + channel] = sum;
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
    const float sum = bias == nullptr ? out : out + bias[run_of(row, own_rows) * bias_stride + filter];
    out = relu && sum <= 0.0f ? 0.0f : sum;
  }
};

/// Whole workers, or some images of one.
struct Chunk {
  Index worker, workers, image, images;
};

/// Numbers of the patches of a chunk: 16 MB, which are still in a GPU's cache when they are read; and for products of
/// each worker by itself, 256 MB, lest these be too few to fill the GPU.
constexpr Index kCachedPatches = Index{1} << 22, kMostPatches = Index{1} << 26;

/// Calls work(chunk, patches) over a batch; the patches of a chunk fill at most so many numbers, those of one image at
/// least.
template <class Work>
void for_each_chunk(const Queue& queue, const ConvShape& shape, const ConvBatch& batch, Index most, const Work& work) {
  const Index size = shape.out_pixels() * shape.patch();
  const Index images = std::clamp<Index>(most / size, 1, batch.images);
  const Index workers = images < batch.images ? 1 : std::clamp<Index>(most / (size * images), 1, batch.workers);
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

/// Calls work(T{}) with the widest elements that the channels of an image come in.
template <class Work>
void with_elements(const ConvShape& shape, const Work& work) {
  if (shape.channels % Patches<Quad>::kWidth == 0) {
    work(Quad{});
  } else {
    work(float{});
  }
}

/// The same memory in other elements. They lie where such elements may: buffers and images begin there.
template <class T>
const T* as(const float* data) {
  return reinterpret_cast<const T*>(data);
}
template <class T>
T* as(float* data) {
  return reinterpret_cast<T*>(data);
}

void gather(const Queue& queue, const ConvPlan& plan, const ConvBatch& batch, const Chunk& chunk, const float* input,
            float* patches) {
  const ConvShape& shape = plan.shape();
  const float* first = input + (chunk.worker * batch.images + chunk.image) * shape.inputs();
  with_elements(shape, [&]<class T>(T) {
    const Patches<T> of(shape, plan.forward(), shape.inputs());
    for_each(queue, chunk.workers * chunk.images * of.pixels * of.columns,
             PatchKernel<T>{of, as<T>(first), as<T>(patches)});
  });
}

/// The other way round: what every pixel of the images gets from the patches.
void scatter(const Queue& queue, const ConvPlan& plan, const ConvBatch& batch, const Chunk& chunk, const float* patches,
             float* input_delta) {
  const ConvShape& shape = plan.shape();
  float* first = input_delta + (chunk.worker * batch.images + chunk.image) * shape.inputs();
  with_elements(shape, [&]<class T>(T) {
    const Patches<T> of(shape, plan.backward(), shape.out_pixels() * shape.patch());
    for_each(queue, chunk.workers * chunk.images * of.pixels * of.channels,
             PatchGradientKernel<T>{of, shape.taps(), as<T>(patches), as<T>(first)});
  });
}

}  // namespace

/// The patches lie in the queue's workspace.
Index conv_scratch(const Queue&, const ConvShape&, Index) {
  return 0;
}

void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, kCachedPatches, [&](const Chunk& chunk, float* patches) {
    gather(queue, plan, batch, chunk, input, patches);
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
  for_each_chunk(queue, shape, batch, kCachedPatches, [&](const Chunk& chunk, float* patches) {
    const Index first = chunk.worker * batch.images + chunk.image, rows = chunk.images * shape.out_pixels();
    multiply(queue, batch, chunk, {.m = rows, .n = shape.patch(), .k = shape.filters, .transpose_b = true},
             {delta + first * shape.outputs(), shape.filters, rows * shape.filters},
             {batch.weights + chunk.worker * batch.stride, shape.filters, batch.stride},
             {patches, shape.patch(), rows * shape.patch()});
    scatter(queue, plan, batch, chunk, patches, input_delta);
  });
}

void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, kMostPatches, [&](const Chunk& chunk, float* patches) {
    gather(queue, plan, batch, chunk, input, patches);
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
