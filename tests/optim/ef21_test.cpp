#include "optim/sgd/ef21.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/sgd_family.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions ef21(const std::string& codec, double eta) {
  TrainingOptions options;
  options.config.name = eta == 1 ? "ef21" : "ef21-sgdm";
  options.config.lr = 0.01;
  options.config.ef21_momentum = eta;
  options.config.weight_decay = 0.1;
  options.config.clip = 15;
  options.config.exchange.up.name = codec;
  options.config.exchange.up.k = 0.1;
  options.config.exchange.down = "fp32";
  options.tensors = {300};
  options.workers = 4;
  return options;
}

}  // namespace

TEST_CASE("EF21 as feedback on differences follows an oracle that keeps every estimate") {
  const std::vector<std::pair<std::string, oracle::Compressor>> codecs = {
      {"fp32", [](const oracle::Vector& y) { return y; }},
      {"sign-l1", oracle::sign_l1},
      {"top-k", [](const oracle::Vector& y) { return oracle::top_k(y, 30); }}};
  for (const auto& [codec, compress] : codecs) {
    for (const double eta : {1.0, 0.3}) {
      for (const std::string& backend : backends()) {
        TrainingOptions options = ef21(codec, eta);
        options.backend = backend;
        if (codec == "top-k") options.config.exchange.down = "";  // gathered: nothing is lost on the way down
        const std::vector<float> x0 = oracle::normals(300, 1);
        Training training(options, x0);
        oracle::Ef21 oracle({.weight_decay = 0.1, .clip = 15}, {x0.begin(), x0.end()}, compress, eta);
        CAPTURE(codec, eta, backend);
        CHECK(worst_displacement(training, oracle, {4, 300, 1}, 60) < 1e-4);
      }
    }
  }
}

TEST_CASE("EF21 refuses to run without feedback, and codecs with which errors would grow") {
  TrainingOptions options = ef21("sign-l1", 1);
  options.config.exchange.feedback = compress::Feedback::none;
  CHECK(contains(refusal([&] { Training{options}; }), "ef21 needs error feedback"));
  for (const std::string codec : {"qsgd", "terngrad"}) {
    CHECK(contains(refusal([&] { Training{ef21(codec, 1)}; }),
                   "many times as long as the vector (optimizer ef21, codec " + codec));
  }
  options = ef21("sign-l1", 1);
  options.config.exchange.down = "qsgd";
  CHECK(contains(refusal([&] { Training{options}; }), "codec qsgd"));
}

TEST_CASE("on gradients that stay the same EF21's estimate becomes their mean, also with signs both ways") {
  TrainingOptions options = ef21("sign-l1", 1);
  options.config.exchange.down = "sign-l1";
  options.config.clip = 0;
  options.tensors = {8};
  Training training(options);
  FloatRows rows;
  for (Index w = 0; w < 4; ++w) rows.push_back(oracle::normals(8, 2, 0, w));
  for (int step = 0; step < 400; ++step) training.step(rows);
  CHECK(oracle::distance(training.optimizer->state().momentum->to_host(), oracle::mean(wide(rows))) < 1e-4);
}
