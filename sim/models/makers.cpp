#include "sim/models/makers.hpp"

#include <cmath>

#include "device/error.hpp"
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

std::unique_ptr<Model> make_network(const device::Device& device, Parameters parameters,
                                    std::vector<std::unique_ptr<Layer>> layers, Index targets) {
  return std::make_unique<Network>(device, std::move(parameters), std::make_unique<Sequential>(std::move(layers)),
                                   targets);
}

}  // namespace onebit::sim
