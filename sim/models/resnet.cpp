// Residual networks of basic blocks (He et al. 2015): two 3x3 convolutions, each followed by a normalisation, and a
// shortcut around them. If a stage begins with a stride, the shortcut of its first block is a 1x1 convolution with a
// normalisation (option B). Every network begins with a 3x3 convolution of stride 1, and ends with global average
// pooling and a dense layer.
//
// `resnet20` has three stages of three blocks with 16, 32 and 64 channels. It is the paper's network for CIFAR-10,
// except that the paper's shortcuts have no weights (option A). `resnet18` has four stages of two blocks with 64 to 512
// channels. It is the paper's network for ImageNet with a 3x3 stem instead of the 7x7 one, without its stride and
// pooling, which small images do not allow.

#include "device/base/error.hpp"
#include "sim/layers/image/conv.hpp"
#include "sim/layers/image/pool.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/residual.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

class Builder {
 public:
  Builder(ImageShape image, bool batch, Index groups) : image_(image), batch_(batch), groups_(groups) {}

  void stem(Index channels) {
    const ImageShape data = image_;
    layers.push_back(reads_images(data, conv("stem.conv", channels, 3, 1)));
    layers.push_back(norm("stem.norm", true));
  }

  void block(const std::string& name, Index channels, Index stride) {
    const ImageShape before = image_;
    std::unique_ptr<Layer> body = body_of(name, channels, stride);
    std::unique_ptr<Norm> last = norm(name + ".norm2", true);
    std::unique_ptr<Layer> shortcut;
    if (stride != 1 || before.channels != channels) {
      image_ = before;
      shortcut = shortcut_of(name + ".shortcut", channels, stride);
    }
    layers.push_back(std::make_unique<Residual>(std::move(body), std::move(last), std::move(shortcut)));
  }

  void head(Index classes) {
    layers.push_back(std::make_unique<GlobalAveragePool>(image_.height * image_.width, image_.channels));
    const Linear::Shape shape{.inputs = image_.channels,
                              .outputs = classes,
                              .deviation = deviation_before(Activation::none, image_.channels)};
    layers.push_back(std::make_unique<Linear>(parameters, "head", shape));
  }

  Parameters parameters;
  std::vector<std::unique_ptr<Layer>> layers;

 private:
  /// Adds a convolution and sets image_ to the shape of its result.
  std::unique_ptr<Layer> conv(const std::string& name, Index channels, Index kernel, Index stride) {
    const device::ConvShape shape{image_.height, image_.width, image_.channels, channels, kernel, stride, kernel / 2};
    image_ = {channels, shape.out_height(), shape.out_width()};
    return std::make_unique<Conv>(parameters, name, shape,
                                  Conv::Options{.deviation = deviation_before(Activation::relu, shape.patch())});
  }
  std::unique_ptr<Norm> norm(const std::string& name, bool relu) {
    return std::make_unique<Norm>(parameters, name,
                                  NormShape{image_.height * image_.width, image_.channels, groups_, batch_, relu});
  }
  std::unique_ptr<Layer> body_of(const std::string& name, Index channels, Index stride) {
    std::vector<std::unique_ptr<Layer>> body;
    body.push_back(conv(name + ".conv1", channels, 3, stride));
    body.push_back(norm(name + ".norm1", true));
    body.push_back(conv(name + ".conv2", channels, 3, 1));
    return std::make_unique<Sequential>(std::move(body));
  }
  std::unique_ptr<Layer> shortcut_of(const std::string& name, Index channels, Index stride) {
    std::vector<std::unique_ptr<Layer>> shortcut;
    shortcut.push_back(conv(name + ".conv", channels, 1, stride));
    shortcut.push_back(norm(name + ".norm", false));
    return std::make_unique<Sequential>(std::move(shortcut));
  }

  ImageShape image_;
  bool batch_;
  Index groups_;
};

/// Makes a network of stages of blocks. A stage has half the height and width and twice the channels of the previous
/// one.
std::unique_ptr<Model> make_resnet(const device::Device& device, const ModelConfig& config, const DataSource& data,
                                   Index channels, Index stages, Index blocks) {
  if (config.norm != "group" && config.norm != "batch") {
    throw ConfigError("unknown normalisation", "model.norm " + config.norm, "group or batch");
  }
  if (config.norm == "group" && (config.groups < 1 || config.groups > channels || channels % config.groups != 0)) {
    throw ConfigError("option out of range", "model.groups " + std::to_string(config.groups),
                      "a divisor of " + std::to_string(channels));
  }
  Builder builder(data.image(), config.norm == "batch", config.groups);
  builder.stem(channels);
  for (Index stage = 1; stage <= stages; ++stage) {
    for (Index block = 1; block <= blocks; ++block) {
      builder.block("stage" + std::to_string(stage) + ".block" + std::to_string(block), channels << (stage - 1),
                    stage > 1 && block == 1 ? 2 : 1);
    }
  }
  builder.head(data.classes());
  return make_network(device, std::move(builder.parameters), std::move(builder.layers));
}

}  // namespace

std::unique_ptr<Model> make_resnet20(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  return make_resnet(device, config, data, 16, 3, 3);
}

std::unique_ptr<Model> make_resnet18(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  return make_resnet(device, config, data, 64, 4, 2);
}

}  // namespace onebit::sim
