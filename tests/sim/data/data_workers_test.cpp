// Division of training examples among workers.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/data.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using tests::Folder;

constexpr device::RandomKey key{1, device::Purpose::sampling};

/// Returns all examples of a worker, by drawing until each must have occurred.
std::set<Index> examples_of(const WorkerSplit& split, Index worker, Index train) {
  std::set<Index> seen;
  for (Index i = 0; i < 25 * std::max<Index>(8, split.size(worker)); ++i) {
    seen.insert(split.draw(key, {0, worker, i}, train));
  }
  return seen;
}

/// Labels 0 .. classes - 1 in turn.
std::vector<std::int32_t> labels_in_turn(Index count, Index classes) {
  std::vector<std::int32_t> labels;
  for (Index i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % classes));
  return labels;
}

void check_partition(const WorkerSplit& split, Index workers, Index train) {
  std::set<Index> all;
  Index count = 0;
  for (Index w = 0; w < workers; ++w) {
    const std::set<Index> own = examples_of(split, w, train);
    CHECK(static_cast<Index>(own.size()) == split.size(w));
    CHECK_FALSE(own.empty());
    count += split.size(w);
    all.insert(own.begin(), own.end());
  }
  CHECK(count == train);
  CHECK(static_cast<Index>(all.size()) == train);
  CHECK(*all.rbegin() == train - 1);
}

TEST_CASE("splits: every example is of exactly one worker") {
  for (const auto& [workers, train] :
       std::vector<std::pair<Index, Index>>{{1, 1}, {1, 30}, {3, 200}, {7, 7}, {16, 75}}) {
    const std::vector<std::int32_t> labels = labels_in_turn(train, 4);
    for (const std::string rule : {"label", "dirichlet:0.001", "dirichlet:0.3", "dirichlet:1e-6", "dirichlet:1e6",
                                   "size", "size:0", "size:2.5", "size:300"}) {
      INFO(rule << " " << workers << " " << train);
      check_partition(split_among(rule, workers, train, labels), workers, train);
    }
    check_partition(split_among("size", workers, train, {}), workers, train);
  }
}

TEST_CASE("splits: iid draws from all") {
  const WorkerSplit split = split_among("iid", 4, 20, {});
  for (Index w = 0; w < 4; ++w) {
    CHECK(split.size(w) == 0);
    CHECK(examples_of(split, w, 20).size() == 20);
    for (Index i = 0; i < 50; ++i) CHECK(split.draw(key, {3, w, i}, 20) == device::uniform_index(key, {3, w, i}, 20));
  }
}

TEST_CASE("splits: label gives contiguous labels and equal sizes") {
  const std::vector<std::int32_t> labels = labels_in_turn(100, 5);
  const WorkerSplit split = split_among("label", 10, 100, labels);
  for (Index w = 0; w < 10; ++w) {
    CHECK(split.size(w) == 10);
    for (const Index example : examples_of(split, w, 100)) CHECK(labels[static_cast<std::size_t>(example)] == w / 2);
  }
  const WorkerSplit uneven = split_among("label", 3, 100, labels);
  CHECK((uneven.size(0) == 33 && uneven.size(1) == 33 && uneven.size(2) == 34));
}

TEST_CASE("splits: sizes follow the power law") {
  const WorkerSplit equal = split_among("size:0", 4, 1000, {});
  for (Index w = 0; w < 4; ++w) CHECK(equal.size(w) == 250);
  const WorkerSplit split = split_among("size", 4, 25004, {});  // 1 each, and 12 : 6 : 4 : 3 of 25,000
  CHECK((split.size(0) == 12001 && split.size(1) == 6001 && split.size(2) == 4001 && split.size(3) == 3001));
  // Token data: a contiguous stretch.
  const std::set<Index> own = examples_of(split, 3, 25004);
  CHECK((*own.begin() == 22003 && *own.rbegin() == 25003));
}

/// Returns the mean over workers of the total variation distance between a worker's labels and all labels.
double skew(const std::string& rule, Index workers, const std::vector<std::int32_t>& labels, Index classes) {
  const auto train = static_cast<Index>(labels.size());
  const WorkerSplit split = split_among(rule, workers, train, labels);
  double sum = 0;
  for (Index w = 0; w < workers; ++w) {
    std::vector<double> share(static_cast<std::size_t>(classes));
    const std::set<Index> own = examples_of(split, w, train);
    for (const Index i : own) {
      share[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])] += 1.0 / static_cast<double>(own.size());
    }
    for (const double s : share) sum += 0.5 * std::abs(s - 1.0 / static_cast<double>(classes));
  }
  return sum / static_cast<double>(workers);
}

TEST_CASE("splits: the smaller A, the more unequal are workers' labels") {
  const std::vector<std::int32_t> labels = labels_in_turn(2000, 10);
  double before = 0;
  for (const std::string a : {"1e5", "100", "10", "1", "0.1", "0.01"}) {
    const double now = skew("dirichlet:" + a, 8, labels, 10);
    INFO(a << " " << now);
    CHECK(now > before);
    before = now;
  }
  CHECK(skew("dirichlet:1e5", 8, labels, 10) < 0.02);
  CHECK(before > 0.5);
  CHECK(skew("label", 5, labels, 10) == Approx(0.8));
}

TEST_CASE("splits: Dirichlet shares have the distribution's mean and variance") {
  constexpr Index workers = 5, draws = 4000;
  for (const double a : {0.05, 0.5, 1.0, 7.0}) {
    double sum = 0, squares = 0;
    for (Index stream = 0; stream < draws; ++stream) {
      const std::vector<double> p = dirichlet(a, workers, stream);
      CHECK(std::accumulate(p.begin(), p.end(), 0.0) == Approx(1.0));
      sum += p[2];
      squares += p[2] * p[2];
    }
    const double mean = sum / draws, variance = squares / draws - mean * mean;
    const double wanted = 0.2 * 0.8 / (workers * a + 1);
    INFO(a);
    CHECK(mean == Approx(0.2).margin(5 * std::sqrt(wanted / draws)));
    CHECK(variance == Approx(wanted).epsilon(0.15));
  }
}

TEST_CASE("splits: rules that cannot be are refused in one line") {
  const std::vector<std::int32_t> labels = labels_in_turn(10, 2);
  const auto refuses = [](const std::string& rule, Index workers, std::span<const std::int32_t> given,
                          const std::string& reason) {
    INFO(rule);
    CHECK_THROWS_AS(split_among(rule, workers, 10, given), ConfigError);
    CHECK_THROWS_WITH(split_among(rule, workers, 10, given), Contains("--data.split " + rule) && Contains(reason));
  };
  for (const std::string rule :
       {"", "idd", "dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:1e-320", "dirichlet:1e7", "dirichlet:-1",
        "dirichlet:nan", "dirichlet:inf", "dirichlet:1x", "label:2", "iid:1", "size:-1", "size:", "size:1e999"}) {
    refuses(rule, 2, labels, "unknown way to split");
  }
  refuses("label", 2, {}, "no labels to split by");
  refuses("dirichlet:1", 2, {}, "no labels to split by");
  for (const std::string rule : {"label", "dirichlet:1", "size"}) refuses(rule, 11, labels, "among 11 workers");
}

TEST_CASE("splits: sources draw a worker's own examples, whoever is beside it") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(32 + i);
  const std::string path = folder.write("a", text);
  for (const std::string rule : {"label", "dirichlet:0.2", "size"}) {
    for (const std::string name : {"synthetic", "text"}) {
      if (name == "text" && rule != "size") continue;
      INFO(name << " " << rule);
      DataConfig config{.name = name, .split = rule, .workers = 6, .seed = 3, .context = 2};
      if (name == "text") config.paths = {path};
      config.examples = 300;
      const auto source = make_data(config);
      CHECK_THAT(source->provenance().back(), Contains("split " + rule));
      Batch all, one;
      source->sample(5, {0, 6}, 4, all);
      for (Index w = 0; w < 6; ++w) {
        source->sample(5, {w, 1}, 4, one);
        CHECK(std::equal(one.labels.begin(), one.labels.end(), all.labels.begin() + 4 * w));
        CHECK(std::equal(one.features.begin(), one.features.end(),
                         all.features.begin() + 4 * w * source->feature_count()));
      }
      CHECK_THROWS_AS(source->sample(5, {6, 1}, 4, one), Error);
      config.seed = 4;  // other draws of the same parts
      const auto other = make_data(config);
      Batch many, of_other;
      source->sample(0, {5, 1}, 3000, many);
      other->sample(0, {5, 1}, 3000, of_other);
      CHECK(many.labels != of_other.labels);
      CHECK(std::set<int>(many.labels.begin(), many.labels.end()) ==
            std::set<int>(of_other.labels.begin(), of_other.labels.end()));
    }
  }
  DataConfig config{.name = "text", .paths = {path}, .split = "label", .workers = 2};
  CHECK_THROWS_WITH(make_data(config), Contains("no labels to split by"));
}

TEST_CASE("splits: a text worker has a stretch of its own") {
  const Folder folder;
  std::string text;
  for (int i = 1; i < 204; ++i) text += static_cast<char>(i);
  DataConfig config{.name = "text", .paths = {folder.write("a", text)}, .holdout = 0, .split = "size:0", .workers = 4};
  config.context = 3;  // 200 places
  const auto source = make_data(config);
  for (Index w = 0; w < 4; ++w) {
    Batch out;
    source->sample(0, {w, 1}, 2000, out);
    const auto [least, most] = std::minmax_element(out.labels.begin(), out.labels.end());
    CHECK((*least == 4 + 50 * w && *most == 53 + 50 * w));
  }
}

}  // namespace
}  // namespace onebit::sim
