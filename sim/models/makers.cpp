#include "sim/models/makers.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "sim/layers/boundary.hpp"
#include "sim/layers/image/pool.hpp"
#include "sim/layers/linear.hpp"
#include "sim/models/network.hpp"

namespace onebit::sim {

Activation parse_activation(const std::string& name) {
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  throw ConfigError("unknown activation", "model.activation " + name, "relu or gelu");
}

void check_size(const std::string& option, Index value) {
  if (value < 1 || value > 1 << 20) {
    throw ConfigError("model size out of range", option + " " + std::to_string(value), "from 1 to 1048576");
  }
}

double deviation_before(Activation activation, Index inputs) {
  return std::sqrt((activation == Activation::none ? 1.0 : 2.0) / static_cast<double>(inputs));
}

void add_cut(const ModelConfig& config, Index block, Index blocks, std::vector<std::unique_ptr<Layer>>& layers) {
  if (config.cut < 0 || config.cut > blocks) {
    throw ConfigError(
        "the model cannot be cut there", "model.cut " + std::to_string(config.cut),
        blocks == 0 ? "this model has nothing to cut" : "from 1 to " + std::to_string(blocks) + "; 0: no cut");
  }
  if (block != config.cut) return;
  if (config.workers < 2) {
    throw ConfigError("a cut needs two groups of workers", "model.cut " + std::to_string(config.cut) + ", workers 1",
                      "use at least 2 workers");
  }
  layers.push_back(
      std::make_unique<Boundary>(SendingColumns::one(layers.back()->outputs()), config.workers, config.boundary));
}

void add_dense(const std::vector<Index>& widths, Activation activation, Parameters& parameters,
               std::vector<std::unique_ptr<Layer>>& layers, const ModelConfig& config) {
  for (std::size_t l = 1; l < widths.size(); ++l) {
    const Activation own = l + 1 < widths.size() ? activation : Activation::none;
    const Linear::Shape shape{.inputs = widths[l - 1],
                              .outputs = widths[l],
                              .activation = own,
                              .deviation = deviation_before(own, widths[l - 1])};
    layers.push_back(std::make_unique<Linear>(parameters, "layer" + std::to_string(l), shape));
    add_cut(config, static_cast<Index>(l), std::ssize(widths) - 2, layers);
  }
}

std::unique_ptr<Layer> reads_images(const ImageShape& image, std::unique_ptr<Layer> layer) {
  if (image.channels == 1) return layer;
  return std::make_unique<ChannelsLast>(image.channels, std::move(layer));
}

std::unique_ptr<Model> make_network(const device::Device& device, Parameters parameters,
                                    std::vector<std::unique_ptr<Layer>> layers, Index targets, EmbeddingBags* tables) {
  return std::make_unique<Network>(device, std::move(parameters), std::make_unique<Sequential>(std::move(layers)),
                                   targets, tables);
}

}  // namespace onebit::sim
