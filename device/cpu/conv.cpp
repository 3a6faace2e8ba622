// Convolutions without a matrix of patches: the products read the pixels directly from the images. A tile of pixels by
// filters stays in registers over all taps and channels, so that the arithmetic is the same as in a large matrix
// product. Every sum adds its terms in one fixed order, so that its bits depend on the terms alone.
#include "device/math/conv.hpp"

#include "device/cpu/conv_tiles.hpp"
#include "device/cpu/queue.hpp"
#include "device/cpu/rounding.hpp"

namespace onebit::device::cpu {
namespace {

constexpr Index kPanel = 2 * kLanes;  ///< columns of a panel; the last may be half as wide

/// Columns of a product, in consecutive panels [1 + depth][width]: the initial values of the sums, then the factors.
struct Panels {
  Index columns = 0;
  Index depth = 0;

  Index count() const { return ceil_div(columns, kPanel); }
  Index packets(Index panel) const { return columns - panel * kPanel > kLanes ? 2 : 1; }
  Index offset(Index panel) const { return panel * kPanel * (1 + depth); }
  Index size() const { return round_up(columns, kLanes) * (1 + depth); }
};

Index zeros_of(const ConvShape& shape) {
  return round_up(std::max<Index>({shape.channels, shape.filters, kTilePackets}), kPanel);
}

/// Panels of a set of filters. Columns are filters, or channels if `transposed`.
struct Packing {
  ConvShape shape;
  bool transposed = false;

  Index columns() const { return transposed ? shape.channels : shape.filters; }
  Index inner() const { return transposed ? shape.filters : shape.channels; }
  Panels panels() const { return {columns(), shape.taps() * inner()}; }

  void pack(const float* weights, const float* bias, Index panel, float* out) const {
    const Index first = panel * kPanel, width = panels().packets(panel) * kLanes;
    const Index real = std::min(width, columns() - first);
    std::fill_n(out, (1 + panels().depth) * width, 0.0f);
    if (bias != nullptr) std::copy_n(bias + first, real, out);
    for (Index tap = 0; tap < shape.taps(); ++tap) {
      const float* own = weights + tap * shape.channels * shape.filters;
      for (Index i = 0; i < inner(); ++i) {
        out += width;
        for (Index j = 0; j < real; ++j) {
          out[j] = transposed ? own[(first + j) * shape.filters + i] : own[i * shape.filters + first + j];
        }
      }
    }
  }
};

/// Packs every set of filters of a batch into the plan's scratch memory, after the zeros.
const float* pack(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, bool transposed) {
  const Packing packing{plan.shape(), transposed};
  const Panels panels = packing.panels();
  float* packed = plan.scratch() + zeros_of(plan.shape());
  parallel(queue, batch.filter_sets() * panels.count(), [&](Index unit) {
    const Index set = unit / panels.count(), panel = unit % panels.count();
    const float* bias = transposed || batch.bias == nullptr ? nullptr : batch.bias + set * batch.stride;
    float* const own = packed + set * panels.size() + panels.offset(panel);
    packing.pack(batch.weights + set * batch.stride, bias, panel, own);
    if (queue.precision() == Precision::fp32) return;
    const Index width = panels.packets(panel) * kLanes;
    round_numbers(queue.precision(), own + width, panels.depth * width, own + width);
  });
  return packed;
}

/// Rounds images, or gradients with respect to results, of `size` numbers each, to the queue's precision.
const float* rounded(const Queue& queue, const ConvBatch& batch, const float* images, Index size) {
  MatrixIn matrix{images, size, 0};
  round_operands(queue, {{matrix, batch.workers * batch.images, size, 1}});
  return matrix.data;
}

/// Images times packed filters.
struct Product {
  const TapTable& table;
  Taps taps;
  Panels panels;
  const float* packed;
  bool relu;

  /// Computes pixels [first, first + rows) of an image for the columns of a panel.
  template <std::size_t Packets>
  void tile(const float* image, const float* panel, Index first, Index rows, Index columns, float* output) const {
    Taps own = taps;
    own.reads += first;
    with_rows<kTilePackets / Packets>(rows, [&](auto size) {
      constexpr Index width = static_cast<Index>(Packets) * kLanes;
      alignas(64) float sums[size() * static_cast<std::size_t>(width)];
      sum_taps<size(), Packets>(own, image, panel, sums);
      for (Index r = 0; r < rows; ++r) {
        float* to = output + table.pixels.data()[first + r] * panels.columns;
        const float* from = sums + r * width;
        const Index count = std::min(width, columns);
        for (Index j = 0; j < count; ++j) to[j] = relu && from[j] <= 0.0f ? 0.0f : from[j];
      }
    });
  }

  void image(const float* image, Index set, Index panel, float* output) const {
    const float* own = packed + set * panels.size() + panels.offset(panel);
    const Index first = panel * kPanel, packets = panels.packets(panel), rows = kTilePackets / packets;
    for (Index p = 0; p < taps.pixels; p += rows) {
      const Index count = std::min(rows, taps.pixels - p);
      if (packets == 2) {
        tile<2>(image, own, p, count, panels.columns - first, output + first);
      } else {
        tile<1>(image, own, p, count, panels.columns - first, output + first);
      }
    }
  }
};

/// Computes all images of a batch, in units that are large enough for a thread and whose panel of filters stays in a
/// cache.
void run(const Queue& queue, const Product& product, const ConvBatch& batch, const float* input, Index inputs,
         float* output, Index outputs) {
  constexpr Index unit_pixels = 512;
  const Index unit_images = std::max<Index>(1, unit_pixels / product.taps.pixels);
  const Index blocks = ceil_div(batch.images, unit_images), panels = product.panels.count();
  parallel(queue, batch.workers * blocks * panels, [&](Index unit) {
    const Index worker = unit / panels / blocks, first = unit / panels % blocks * unit_images;
    for (Index i = first; i < std::min(first + unit_images, batch.images); ++i) {
      const Index image = worker * batch.images + i;
      product.image(input + image * inputs, batch.stride == 0 ? 0 : worker, unit % panels, output + image * outputs);
    }
  });
}

Taps taps_of(const TapTable& table, const ConvShape& shape, Index channels, const float* zeros) {
  return {table.reads.data(), table.pixels.size(), shape.taps(), channels, zeros};
}

/// The gradient with respect to one worker's filters.
struct FilterGradient {
  ConvShape shape;
  Taps taps;
  PixelPart part;
  float* gradient;
  bool add;

  template <std::size_t Packets>
  void tile(Index tap, Index channel, Index filter) const {
    constexpr Index most = kTilePackets / static_cast<Index>(Packets);
    const Index rows = std::min(most, shape.channels - channel);
    PixelPart own = part;
    own.input += channel;
    own.delta += filter;
    own.columns -= filter;
    with_rows<most>(rows, [&](auto size) {
      constexpr Index width = static_cast<Index>(Packets) * kLanes;
      alignas(64) float sums[size() * static_cast<std::size_t>(width)];
      sum_pixels<size(), Packets>(taps, tap, own, sums);
      for (Index r = 0; r < rows; ++r) {
        float* to = gradient + (tap * shape.channels + channel + r) * shape.filters + filter;
        const float* from = sums + r * width;
        const Index count = std::min(width, own.columns);
        for (Index j = 0; j < count; ++j) to[j] = add ? to[j] + from[j] : from[j];
      }
    });
  }

  void of_tap(Index tap) const {
    for (Index filter = 0; filter < shape.filters; filter += kPanel) {
      const bool wide = shape.filters - filter > kLanes;
      const Index step = wide ? kTilePackets / 2 : kTilePackets;
      for (Index channel = 0; channel < shape.channels; channel += step) {
        if (wide) {
          tile<2>(tap, channel, filter);
        } else {
          tile<1>(tap, channel, filter);
        }
      }
    }
  }
};

}  // namespace

/// Size of the scratch memory: zeros for the pixels around an image, then packed filters.
Index conv_scratch(const Queue&, const ConvShape& shape, Index filter_sets) {
  const Index larger = std::max(Packing{shape, false}.panels().size(), Packing{shape, true}.panels().size());
  return zeros_of(shape) + filter_sets * larger;
}

void conv_forward(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input, float* output) {
  const ConvShape& shape = plan.shape();
  queue.check(batch);
  queue.check(input);
  queue.check(output);
  const Product product{plan.forward(), taps_of(plan.forward(), shape, shape.channels, plan.scratch()),
                        Packing{shape, false}.panels(), pack(queue, plan, batch, false), batch.relu};
  run(queue, product, batch, rounded(queue, batch, input, shape.inputs()), shape.inputs(), output, shape.outputs());
}

void conv_input_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* delta,
                         float* input_delta) {
  const ConvShape& shape = plan.shape();
  queue.check(batch);
  queue.check(delta);
  queue.check(input_delta);
  const Product product{plan.backward(), taps_of(plan.backward(), shape, shape.filters, plan.scratch()),
                        Packing{shape, true}.panels(), pack(queue, plan, batch, true), false};
  run(queue, product, batch, rounded(queue, batch, delta, shape.outputs()), shape.outputs(), input_delta,
      shape.inputs());
}

/// A worker's images are taken in parts of about kPartPixels pixels, which stay in the first-level cache over all taps;
/// a part's sums are added to those of the earlier parts.
void conv_weight_gradient(const Queue& queue, ConvPlan& plan, const ConvBatch& batch, const float* input,
                          const float* delta, const ConvGradient& gradient) {
  constexpr Index kPartPixels = 256;
  const ConvShape& shape = plan.shape();
  queue.check(input);
  queue.check(delta);
  queue.check(gradient);
  const Index all_images = batch.workers * batch.images;
  MatrixIn inputs{input, shape.inputs(), 0}, deltas{delta, shape.outputs(), 0};
  round_operands(queue, {{inputs, all_images, shape.inputs(), 1}, {deltas, all_images, shape.outputs(), 1}});
  const Taps taps = taps_of(plan.forward(), shape, shape.channels, plan.scratch());
  const Index splits = batch.workers % queue.threads() == 0 ? 1 : shape.taps();  // changes no bits
  const Index part_images = std::max<Index>(1, kPartPixels / taps.pixels);
  parallel(queue, batch.workers * splits, [&](Index unit) {
    const Index worker = unit / splits, first_tap = unit % splits;
    const PixelPart all{{0, batch.images},
                        {0, taps.pixels},
                        inputs.data + worker * batch.images * shape.inputs(),
                        deltas.data + worker * batch.images * shape.outputs(),
                        shape.inputs(),
                        shape.outputs(),
                        shape.filters,
                        shape.filters};
    for (Index image = 0; image < batch.images; image += part_images) {
      for (Index pixel = 0; pixel < taps.pixels; pixel += kPartPixels) {
        PixelPart part = all;
        part.images = {image, std::min(part_images, batch.images - image)};
        part.pixels = {pixel, std::min(kPartPixels, taps.pixels - pixel)};
        const FilterGradient own{shape, taps, part, gradient.data + worker * gradient.stride,
                                 gradient.add || image > 0 || pixel > 0};
        for (Index tap = first_tap; tap < shape.taps(); tap += splits) own.of_tap(tap);
      }
    }
  });
}

}  // namespace onebit::device::cpu
