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

/// Numbers of the patches that are made at a time, those of one image at least: 16 MB, which are still in a GPU's cache
/// when they are read.
constexpr Index kMostPatches = Index{1} << 22;

/// Whole workers, or some images of one.
struct Chunk {
  Index worker, workers, image, images;

  Index all_images() const { return workers * images; }
};

float* workspace_of(const Queue& queue, Index floats) {
  return static_cast<float*>(queue.context().workspace(floats * static_cast<Index>(sizeof(float))));
}

/// Calls work(chunk, patches) over a batch.
template <class Work>
void for_each_chunk(const Queue& queue, const ConvShape& shape, const ConvBatch& batch, const Work& work) {
  const Index size = shape.out_pixels() * shape.patch();
  const Index images = std::clamp<Index>(kMostPatches / size, 1, batch.images);
  const Index workers = images < batch.images ? 1 : std::clamp<Index>(kMostPatches / (size * images), 1, batch.workers);
  float* patches = workspace_of(queue, workers * images * size);
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

void gather(const Queue& queue, const ConvPlan& plan, Index images, const float* input, float* patches) {
  const ConvShape& shape = plan.shape();
  with_elements(shape, [&]<class T>(T) {
    const Patches<T> of(shape, plan.forward(), shape.inputs());
    for_each(queue, images * of.pixels * of.columns, PatchKernel<T>{of, as<T>(input), as<T>(patches)});
  });
}

/// The other way round: what every pixel of the images gets from the patches.
void scatter(const Queue& queue, const ConvPlan& plan, Index images, const float* patches, float* input_delta) {
  const ConvShape& shape = plan.shape();
  with_elements(shape, [&]<class T>(T) {
    const Patches<T> of(shape, plan.backward(), shape.out_pixels() * shape.patch());
    for_each(queue, images * of.pixels * of.channels,
             PatchGradientKernel<T>{of, shape.taps(), as<T>(patches), as<T>(input_delta)});
  });
}

/// Images of a worker over which one product sums: so many that it has 1,024 terms, and of which the worker has whole
/// parts. A worker by itself has too few results to fill a GPU.
Index images_together(const ConvShape& shape, Index images) {
  constexpr Index least = 1024;
  Index together = 1;
  while (together < images && (images % together != 0 || together * shape.out_pixels() < least)) ++together;
  return together;
}

/// gradient[worker][i] = the sum of the worker's parts, in their order.
struct SumPartsKernel {
  const float* partial;  ///< [workers][parts][weights]
  Index parts, weights;
  ConvGradient gradient;
  ONEBIT_HOST_DEVICE void operator()(Index worker, Index i) const {
    float& out = gradient.data[worker * gradient.stride + i];
    float sum = gradient.add ? out : 0.0f;
    for (Index part = 0; part < parts; ++part) sum += partial[(worker * parts + part) * weights + i];
    out = sum;
  }
};

}  // namespace

/// The patches lie in the queue's workspace.
Index conv_scratch(const Queue&, const ConvShape&, Index) {
  return 0;
}

void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  for_each_chunk(queue, shape, batch, [&](const Chunk& chunk, float* patches) {
    const Index first = chunk.worker * batch.images + chunk.image, rows = chunk.images * shape.out_pixels();
    gather(queue, plan, chunk.all_images(), input + first * shape.inputs(), patches);
    multiply(queue, batch, chunk, {.m = rows, .n = shape.filters, .k = shape.patch()},
             {patches, shape.patch(), rows * shape.patch()},
             {batch.weights + chunk.worker * batch.stride, shape.filters, batch.stride},
             {output + first * shape.outputs(), shape.filters, rows * shape.filters});
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
    scatter(queue, plan, chunk.all_images(), patches, input_delta + first * shape.inputs());
  });
}

void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient) {
  const ConvShape& shape = plan.shape();
  if (batch.workers * batch.images == 0) return;
  const Index together = images_together(shape, batch.images), parts = batch.images / together;  // of a worker
  const Index rows = together * shape.out_pixels(), all = batch.workers * parts;
  const Index at_once = std::clamp<Index>(kMostPatches / (rows * shape.patch()), 1, all);
  const bool direct = parts == 1;
  float* patches = workspace_of(queue, at_once * rows * shape.patch() + (direct ? 0 : all * shape.weights()));
  float* partial = patches + at_once * rows * shape.patch();
  for (Index part = 0; part < all; part += at_once) {
    const Index count = std::min(at_once, all - part), first = part * together;
    gather(queue, plan, count * together, input + first * shape.inputs(), patches);
    const MatrixOut sums = direct ? MatrixOut{gradient.data + part * gradient.stride, shape.filters, gradient.stride}
                                  : MatrixOut{partial + part * shape.weights(), shape.filters, shape.weights()};
    gemm_batched(
        queue,
        {.m = shape.patch(), .n = shape.filters, .k = rows, .transpose_a = true, .accumulate = direct && gradient.add},
        {patches, shape.patch(), rows * shape.patch()},
        {delta + first * shape.outputs(), shape.filters, rows * shape.filters}, sums, count);
  }
  if (direct) return;
  for_each_row(queue, batch.workers, shape.weights(), SumPartsKernel{partial, parts, shape.weights(), gradient});
}

}  // namespace onebit::device::cuda
