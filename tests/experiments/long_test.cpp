// Convergence on real data, too long for CI: scripts/test.sh --long.
#include "analysis/compare/paired.hpp"
#include "tests/experiments/program.hpp"

namespace onebit::tests {
namespace {

double held_out_loss(const Folder& folder, const Arguments& task, const std::string& optimizer, int seed) {
  const Outcome run = run_onebit(folder, joined({"run", "--optimizer", optimizer, "--seed", std::to_string(seed),
                                                 "--workers", "16", "--batch", "16", "--steps", "2000", "--schedule",
                                                 "cosine", "--freeze", "fraction:0.15", "-o", "run.h5", "--overwrite"},
                                                task));
  CAPTURE(optimizer, seed, run.err);
  REQUIRE(run.status == 0);
  return sim::LogReader(folder / "run.h5").evaluations().back().loss;
}

/// Mean signed difference of the held-out loss over five paired seeds.
double mean_difference(const Arguments& task) {
  const Folder folder;
  std::vector<double> adam, onebit;
  for (int seed = 1; seed <= 5; ++seed) {
    adam.push_back(held_out_loss(folder, task, "adam", seed));
    onebit.push_back(held_out_loss(folder, task, "onebit-adam", seed));
  }
  return analysis::paired_difference(adam, onebit).mean;
}

}  // namespace

TEST_CASE("long: at Adam's best rate 1-bit Adam ends within 1% of it on text", "[.long]") {
  const std::string text = shared_path("data/text/tinyshakespeare.txt");
  ONEBIT_SKIP_UNLESS(std::filesystem::exists(text), "shared", "no tinyshakespeare");
  const double difference =
      mean_difference({"--model", "ngram", "--data", "text", "--data.path", text, "--optimizer.lr", "1e-2"});
  CHECK(std::abs(difference) <= 0.01);
}

TEST_CASE("long: at Adam's best rate 1-bit Adam ends within 1% of it on MNIST", "[.long]") {
  const std::string images = shared_path("data/mnist");
  ONEBIT_SKIP_UNLESS(std::filesystem::exists(images), "shared", "no MNIST");
  const double difference =
      mean_difference({"--model", "mlp", "--data", "idx", "--data.path", images, "--optimizer.lr", "1e-3"});
  CHECK(std::abs(difference) <= 0.01);
}

}  // namespace onebit::tests
