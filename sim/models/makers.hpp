#pragma once
// Functions that make the models in the registry, and helpers that they share.

#include "sim/layers/kernels.hpp"
#include "sim/layers/sequential.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

class EmbeddingBags;

std::unique_ptr<Model> make_softmax(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_mlp(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_logistic(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_quadratic(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_cnn(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_resnet18(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_resnet20(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_ngram(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_transformer(const device::Device& device, const ModelConfig& config,
                                        const DataSource& data);

std::unique_ptr<Model> make_dlrm(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_des_lr(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_des_fm(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_des_deepfm(const device::Device& device, const ModelConfig& config, const DataSource& data);
std::unique_ptr<Model> make_external(const device::Device& device, const ModelConfig& config, const DataSource& data);

/// Returns the activation with this name. Throws ConfigError for an unknown name.
Activation parse_activation(const std::string& name);

/// Throws ConfigError unless value is from 1 to 2^20.
void check_size(const std::string& option, Index value);

/// Returns sqrt(gain / inputs). The gain is 2 before a ReLU or GELU (He et al. 2015) and 1 before anything else.
double deviation_before(Activation activation, Index inputs);

/// Adds a chain of dense layers, named layer1, layer2 and so on, with `activation` between them and none after the
/// last. The chain may be cut after a layer.
void add_dense(const std::vector<Index>& widths, Activation activation, Parameters& parameters,
               std::vector<std::unique_ptr<Layer>>& layers, const ModelConfig& config);

/// If config.cut equals `block`, adds a boundary, which cuts the model after layer or block number `block`. blocks:
/// number of layers or blocks after which the model can be cut. Throws ConfigError if the cut is out of range, or if
/// there are fewer than 2 workers to divide.
void add_cut(const ModelConfig& config, Index block, Index blocks, std::vector<std::unique_ptr<Layer>>& layers);

/// Adapts the first layer of a network, which reads [height][width][channels], to the images of a data source.
std::unique_ptr<Layer> reads_images(const ImageShape& image, std::unique_ptr<Layer> layer);

/// Makes a model that runs the layers in sequence. tables: the layer among them that workers own; null if there is
/// none.
std::unique_ptr<Model> make_network(const device::Device& device, Parameters parameters,
                                    std::vector<std::unique_ptr<Layer>> layers, Index targets = 1,
                                    EmbeddingBags* tables = nullptr);

}  // namespace onebit::sim
