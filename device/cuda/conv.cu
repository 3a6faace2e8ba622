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

/// Images, or parts of them, to take at a time, of `all`: every processor of a large GPU gets a tile of their products,
/// and there are no more patches than that asks for, so that most are still in a cache when they are read.
/// numbers: of one of them, in memory.
Index pieces_at_a_time(Index rows, Index columns, Index numbers, Index all) {
  constexpr Index side = 128, tiles = 128, most_numbers = Index{1} << 26;
  const Index wanted = ceil_div(tiles * side, std::min(rows, tiles * side) * ceil_div(columns, side));
  return std::clamp<Index>(std::min(wanted, most_numbers / numbers), 1, all);
}

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
  const Index at_once = pieces_at_a_time(shape.out_pixels(), shape.filters, size, batch.workers * batch.images);
  const Index images = std::min(at_once, batch.images), workers = at_once / images;
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

/// Images of a worker over which one product sums: a divisor of theirs, for 1,024 terms where memory allows it. A
/// worker by itself has too few results to fill a GPU.
Index images_together(const ConvShape& shape, Index images) {
  constexpr Index least_rows = 1024, most_numbers = Index{1} << 22;
  Index together = 1;
  for (Index d = 2; d <= images && d * shape.out_pixels() * shape.patch() <= most_numbers; ++d) {
    if (together * shape.out_pixels() < least_rows && images % d == 0) together = d;
  }
  return together;
}

/// gradient[worker][i] = the sum of those of the worker's parts that are among [first, end), in their order, added to
/// the parts before.
struct SumPartsKernel {
  const float* partial;  ///< [end - first][weights]
  Index first, end;      ///< of [workers][parts]
  Index parts, weights;
  ConvGradient gradient;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index worker = first / parts + row, own = worker * parts;
    float& out = gradient.data[worker * gradient.stride + i];
    float sum = gradient.add || own < first ? out : 0.0f;
    for (Index part = own < first ? first : own; part < own + parts && part < end; ++part) {
      sum += partial[(part - first) * weights + i];
    }
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
  const Index rows = together * shape.out_pixels(), all = batch.workers * parts, weights = shape.weights();
  const Index at_once =
      pieces_at_a_time(round_up(shape.patch(), Index{128}), shape.filters, rows * shape.patch() + weights, all);
  const bool direct = parts == 1;
  float* patches = workspace_of(queue, at_once * (rows * shape.patch() + (direct ? 0 : weights)));
  float* partial = patches + at_once * rows * shape.patch();
  for (Index part = 0; part < all; part += at_once) {
    const Index count = std::min(at_once, all - part), image = part * together;
    gather(queue, plan, count * together, input + image * shape.inputs(), patches);
    const MatrixOut sums = direct ? MatrixOut{gradient.data + part * gradient.stride, shape.filters, gradient.stride}
                                  : MatrixOut{partial, shape.filters, weights};
    gemm_batched(
        queue,
        {.m = shape.patch(), .n = shape.filters, .k = rows, .transpose_a = true, .accumulate = direct && gradient.add},
        {patches, shape.patch(), rows * shape.patch()},
        {delta + image * shape.outputs(), shape.filters, rows * shape.filters}, sums, count);
    if (direct) continue;
    const SumPartsKernel sum{partial, part, part + count, parts, weights, gradient};
    for_each_row(queue, (part + count - 1) / parts - part / parts + 1, weights, sum);
  }
}

}  // namespace onebit::device::cuda
