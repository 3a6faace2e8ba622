// The layers of transformers compared with the oracle.
#include <algorithm>
#include <cmath>

#include "sim/layers/linear.hpp"
#include "sim/layers/sequence/attention.hpp"
#include "sim/layers/sequence/layer_norm.hpp"
#include "sim/layers/sequence/tied_output.hpp"
#include "sim/layers/sequential.hpp"
#include "tests/oracle/transformer.hpp"
#include "tests/sim/models/layer_check.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

using oracle::Vector;

constexpr double kRate = 0.25;

oracle::Mask mask_at(double rate, const ExamplePlace& place, Index site) {
  return oracle::dropout(rate, kDrawPlace.seed, kDrawPlace.step, place.worker, place.draw, site);
}

LayerCase layer_norm_case(Index positions, Index width) {
  return {"layer norm " + std::to_string(width),
          [=](Parameters& parameters) { return std::make_unique<LayerNorm>(parameters, "norm", positions, width); },
          [=](const Vector& weights, const Vector& input, const ExamplePlace&) {
            oracle::Reader read(weights);
            return oracle::layer_norm(input, width, read);
          }};
}

LayerCase attention_case(const SelfAttention::Shape& shape, double rate) {
  return {"attention",
          [=](Parameters&) {
            return std::make_unique<SelfAttention>(shape, DropoutSite{rate, 3});
          },
          [=](const Vector&, const Vector& input, const ExamplePlace& place) {
            return oracle::attention(input, shape.positions, shape.width, shape.heads, shape.causal,
                                     mask_at(rate, place, 3));
          }};
}

LayerCase dropout_case(Index size, double rate) {
  return {"dropout",
          [=](Parameters&) {
            return std::make_unique<Dropout>(size, DropoutSite{rate, 4});
          },
          [=](const Vector&, const Vector& input, const ExamplePlace& place) {
            return oracle::masked(input, mask_at(rate, place, 4));
          }};
}

/// A block whose body ends in a layer that overwrites the gradient with its output.
LayerCase branch_case(double rate) {
  constexpr Index positions = 3, width = 5;
  return {"branch",
          [=](Parameters& parameters) {
            auto body = std::make_unique<Linear>(parameters, "body",
                                                 Linear::Shape{.inputs = width,
                                                               .outputs = width,
                                                               .positions = positions,
                                                               .activation = Activation::gelu,
                                                               .deviation = 0.5});
            return std::make_unique<Branch>(std::move(body), DropoutSite{rate, 5});
          },
          [=](const Vector& weights, const Vector& input, const ExamplePlace& place) {
            oracle::Reader read(weights);
            Vector body = oracle::linear(input, width, width, read);
            for (double& value : body) value = oracle::gelu(value);
            body = oracle::masked(body, mask_at(rate, place, 5));
            for (std::size_t i = 0; i < body.size(); ++i) body[i] += input[i];
            return body;
          }};
}

constexpr Index kVocabulary = 7, kContext = 4, kWidth = 5;

oracle::Tokens tokens_of(const oracle::Tokens& all, Index example) {
  const auto begin = all.begin() + example * kContext;
  return {begin, begin + kContext};
}

/// Tokens are repeated within examples, across examples and across workers; 5 never occurs.
const oracle::Tokens& some_tokens() {
  static const oracle::Tokens tokens = {0, 1, 1, 6, 2, 1, 3, 4, 4, 4, 4, 4, 6, 0, 2, 3, 1, 1, 0, 0, 2, 6, 6, 3};
  return tokens;
}

LayerCase embedding_case(bool positions) {
  const Embedding::Shape shape{kVocabulary, kContext, kWidth, 0.5, positions, false};
  return {"embedding", [=](Parameters& parameters) { return std::make_unique<Embedding>(parameters, shape); },
          [=](const Vector& weights, const Vector&, const ExamplePlace& place) {
            const double* table = weights.data();
            return oracle::embed(tokens_of(some_tokens(), place.example), kWidth, table,
                                 positions ? table + kVocabulary * kWidth : nullptr);
          },
          some_tokens()};
}

/// Both layers that share a table, one after the other.
LayerCase tied_case(bool biased) {
  const Embedding::Shape shape{kVocabulary, kContext, kWidth, 0.5, true, true};
  return {"tied output",
          [=](Parameters& parameters) {
            std::vector<std::unique_ptr<Layer>> layers;
            auto embedding = std::make_unique<Embedding>(parameters, shape);
            auto output = std::make_unique<TiedOutput>(parameters, *embedding, biased);
            layers.push_back(std::move(embedding));
            layers.push_back(std::move(output));
            return std::make_unique<Sequential>(std::move(layers));
          },
          [=](const Vector& weights, const Vector&, const ExamplePlace& place) {
            oracle::Reader read(weights);
            const double* table = read.take(kVocabulary * kWidth);
            const double* positions = read.take(kContext * kWidth);
            const Vector x = oracle::embed(tokens_of(some_tokens(), place.example), kWidth, table, positions);
            Vector logits = oracle::products_with_rows(x, kWidth, kVocabulary, table);
            const double* bias = biased ? read.take(kVocabulary) : nullptr;
            for (std::size_t i = 0; biased && i < logits.size(); ++i) logits[i] += bias[i % kVocabulary];
            return logits;
          },
          some_tokens()};
}

/// The second layer alone, on an input of its own.
LayerCase output_case() {
  const Embedding::Shape shape{kVocabulary, kContext, kWidth, 0.5, false, true};
  return {"output",
          [=](Parameters& parameters) {
            const Embedding embedding(parameters, shape);
            return std::make_unique<TiedOutput>(parameters, embedding, false);
          },
          [=](const Vector& weights, const Vector& input, const ExamplePlace&) {
            return oracle::products_with_rows(input, kWidth, kVocabulary, weights.data());
          }};
}

/// Returns, element by element, a mask's effect on ones.
std::vector<float> mask_of(const Pass& pass, double rate, Index site, Index size) {
  const std::vector<float> ones(static_cast<std::size_t>(pass.examples() * size), 1.0f);
  device::Buffer<float> values = on(pass.device, ones);
  Dropout layer(size, {rate, site});
  layer.forward(pass, values.data(), values.data());
  return values.to_host();
}

/// A pass with the step in device memory.
struct PlacedPass : Pass {
  device::Buffer<Index> step_buffer;
};

PlacedPass pass_at(const device::Device& device, Index workers, Index batch, const DrawPlace& place) {
  PlacedPass at{{.device = device, .weights = {}, .workers = workers, .batch = batch, .training = true, .place = place},
                on(device, std::vector<Index>{place.step})};
  at.step = at.step_buffer.data();
  return at;
}

}  // namespace

TEST_CASE("layer norm is that of the oracle, forward and backward") {
  check_layer(layer_norm_case(3, 6));
  check_layer(layer_norm_case(2, 33));
}

TEST_CASE("attention is that of the oracle, forward and backward") {
  for (const bool causal : {false, true}) {
    check_layer(attention_case({.positions = 5, .width = 6, .heads = 2, .causal = causal}, 0));
    check_layer(attention_case({.positions = 19, .width = 4, .heads = 1, .causal = causal}, 0));
    check_layer(attention_case({.positions = 5, .width = 6, .heads = 3, .causal = causal}, kRate));
  }
}

namespace {

/// The output of attention, and the gradient with respect to its input.
struct AttentionResult {
  std::vector<float> output, input_delta;
  friend bool operator==(const AttentionResult&, const AttentionResult&) = default;
};

AttentionResult attend(const SelfAttention::Shape& shape, double rate, const Pass& pass,
                       const std::vector<float>& input, std::vector<float> delta) {
  SelfAttention layer(shape, {rate, 3});
  AttentionResult result{std::vector<float>(delta.size()), std::vector<float>(input.size())};
  layer.reserve(pass);
  layer.forward(pass, input.data(), result.output.data());
  layer.backward(pass, input.data(), result.output.data(), delta.data(), result.input_delta.data());
  return result;
}

}  // namespace

TEST_CASE("attention's heads have the bits that each has by itself") {
  constexpr Index positions = 9, own = 5, heads = 3, width = heads * own, examples = 4;
  const device::Device device = device::Device::cpu(2);
  const PlacedPass pass = pass_at(device, 2, 2, {});
  const auto head_of = [&](const std::vector<float>& rows, Index head) {
    std::vector<float> values;
    for (auto row = rows.begin(); row != rows.end(); row += width) {  // queries, keys and values are rows each
      values.insert(values.end(), row + head * own, row + (head + 1) * own);
    }
    return values;
  };
  const std::vector<float> input = oracle::normals(examples * positions * 3 * width, 21);
  const std::vector<float> delta = oracle::normals(examples * positions * width, 22);
  const AttentionResult all = attend({positions, width, heads, true}, 0, pass, input, delta);
  for (Index head = 0; head < heads; ++head) {
    const AttentionResult one = attend({positions, own, 1, true}, 0, pass, head_of(input, head), head_of(delta, head));
    CHECK(head_of(all.output, head) == one.output);
    CHECK(head_of(all.input_delta, head) == one.input_delta);
  }
}

TEST_CASE("attention with dropout has the same bits for few examples at a time and for all") {
  constexpr Index positions = 63, width = 8, heads = 4, examples = 10;  // a thread takes 4 examples at a time
  const std::vector<float> input = oracle::normals(examples * positions * 3 * width, 23);
  const std::vector<float> delta = oracle::normals(examples * positions * width, 24);
  const auto on_threads = [&](int threads) {
    const device::Device device = device::Device::cpu(threads);
    return attend({positions, width, heads, false}, kRate, pass_at(device, 2, 5, kDrawPlace), input, delta);
  };
  const AttentionResult few = on_threads(1);
  for (const int threads : {2, 3, 7}) CHECK(on_threads(threads) == few);
}

TEST_CASE("attention of equal scores takes the mean of what a query may read") {
  const device::Device device = device_of(GENERATE(from_range(backends())));
  SelfAttention layer({.positions = 3, .width = 1, .heads = 1, .causal = true}, {});
  const std::vector<float> qkv = {1, 0, 3, 1, 0, 6, 1, 0, 12};
  device::Buffer<float> input = on(device, qkv), output(device, 3);
  const PlacedPass pass = pass_at(device, 1, 1, {});
  layer.reserve(pass);
  layer.forward(pass, input.data(), output.data());
  CHECK(output.to_host() == std::vector<float>{3, 4.5, 7});
}

TEST_CASE("dropout, and of a branch that is added, is that of the oracle, forward and backward") {
  check_layer(dropout_case(13, kRate));
  check_layer(branch_case(0));
  check_layer(branch_case(kRate));
}

TEST_CASE("embeddings and logits by the same table are those of the oracle, forward and backward") {
  check_layer(embedding_case(false));
  check_layer(embedding_case(true));
  check_layer(output_case());
  check_layer(tied_case(false));
  check_layer(tied_case(true));
}

TEST_CASE("dropout drops its share and keeps the mean") {
  const device::Device device = device_of(GENERATE(from_range(backends())));
  for (const double rate : {0.1, 0.5, 0.9}) {
    const std::vector<float> values = mask_of(pass_at(device, 2, 2, {.seed = 1, .step = 4}), rate, 0, 10000);
    const auto dropped = static_cast<double>(std::count(values.begin(), values.end(), 0.0f));
    const double deviation = std::sqrt(40000 * rate * (1 - rate));
    CHECK(dropped == Approx(40000 * rate).margin(4 * deviation));
    for (const float value : values) {
      if (value != 0.0f) REQUIRE(value == static_cast<float>(1 / (1 - rate)));
    }
  }
}

TEST_CASE("dropout changes with seed, step, worker, draw and site, and not with who is beside a worker") {
  const device::Device device = device::Device::cpu(2);
  const DrawPlace place{.seed = 1, .step = 4, .first_worker = 2, .first_draw = 8};
  const auto mask = [&](Index workers, Index batch, const DrawPlace& at, Index site) {
    return mask_of(pass_at(device, workers, batch, at), kRate, site, 50);
  };
  const std::vector<float> one = mask(1, 1, place, 6);
  CHECK(mask(1, 1, place, 6) == one);
  CHECK(mask(1, 1, {.seed = 2, .step = 4, .first_worker = 2, .first_draw = 8}, 6) != one);
  CHECK(mask(1, 1, {.seed = 1, .step = 5, .first_worker = 2, .first_draw = 8}, 6) != one);
  CHECK(mask(1, 1, {.seed = 1, .step = 4, .first_worker = 3, .first_draw = 8}, 6) != one);
  CHECK(mask(1, 1, {.seed = 1, .step = 4, .first_worker = 2, .first_draw = 9}, 6) != one);
  CHECK(mask(1, 1, place, 7) != one);
  const std::vector<float> group = mask(3, 2, {.seed = 1, .step = 4, .first_worker = 0, .first_draw = 8}, 6);
  CHECK(std::equal(one.begin(), one.end(), group.begin() + 4 * 50));
}

TEST_CASE("outside training nothing is dropped") {
  const device::Device device = device::Device::cpu(1);
  PlacedPass pass = pass_at(device, 1, 2, {.seed = 1});
  pass.training = false;
  CHECK(mask_of(pass, 0.9, 0, 11) == std::vector<float>(22, 1.0f));
}
