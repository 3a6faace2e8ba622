// `cnn`: a small convolutional network modelled on LeNet-5 (LeCun et al. 1998), with modern filters, ReLUs and pooling:
// convolution 3x3 x 16, ReLU, max-pooling 2x2, convolution 3x3 x 32, ReLU, max-pooling 2x2, dense 128, ReLU, logits.

#include "device/base/error.hpp"
#include "sim/layers/image/conv.hpp"
#include "sim/layers/image/pool.hpp"
#include "sim/layers/linear.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {

std::unique_ptr<Model> make_cnn(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  constexpr Index hidden = 128;
  ImageShape image = data.image();
  if (image.height < 4 || image.width < 4) {
    throw ConfigError("images are too small", "model cnn, data " + data.name(),
                      "the model needs at least 4 x 4 pixels");
  }
  Parameters parameters;
  std::vector<std::unique_ptr<Layer>> layers;
  for (const Index filters : {16, 32}) {
    const device::ConvShape shape{image.height, image.width, image.channels, filters};
    auto conv = std::make_unique<Conv>(
        parameters, "conv" + std::to_string(filters / 16), shape,
        Conv::Options{.bias = true, .relu = true, .deviation = deviation_before(Activation::relu, shape.patch())});
    layers.push_back(layers.empty() ? reads_images(image, std::move(conv)) : std::move(conv));
    layers.push_back(std::make_unique<MaxPool>(PoolShape{image.height, image.width, filters, 2}));
    image = {filters, image.height / 2, image.width / 2};
  }
  add_dense({layers.back()->outputs(), hidden, data.classes()}, Activation::relu, parameters, layers, config);
  return make_network(device, std::move(parameters), std::move(layers));
}

}  // namespace onebit::sim
