// Made clicks: the laws of their ids, the teacher's quality, what drift changes, and DLRM's random mode.

#include "sim/data/clicks/clicks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "device/base/error.hpp"
#include "sim/data/clicks/ceiling.hpp"
#include "sim/data/clicks/tables.hpp"
#include "sim/data/clicks/teacher.hpp"
#include "sim/models/auc.hpp"
#include "tests/catch.hpp"

namespace onebit::sim {
namespace {

using Catch::Matchers::Contains;
using Split = DataSource::Split;

DataConfig clicks(Index examples, const std::string& rows = "kaggle") {
  return {.name = "clicks", .holdout = 0, .examples = examples, .rows = rows};
}

DataConfig random_clicks(Index examples, const std::string& rows, Index bag) {
  DataConfig config = clicks(examples, rows);
  config.name = "clicks-random";
  config.tables = 1;
  config.bag = bag;
  return config;
}

Batch all_of(const DataSource& source, Split split = Split::train) {
  Batch batch;
  source.read(split, 0, source.size(split), batch);
  return batch;
}

/// Probabilities of Zipf's law, from its formula.
std::vector<double> zipf(Index rows, double exponent) {
  std::vector<double> p;
  for (Index r = 0; r < rows; ++r) p.push_back(std::pow(static_cast<double>(r + 1), -exponent));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& each : p) each /= sum;
  return p;
}

/// The true logits of examples of a source without drift, whose rows and labels are in `batch`.
std::vector<double> logits_of(const DataSource& source, const Batch& batch, double exponent) {
  const ClickTeacher teacher(ClickDraws(source.feature_count(), source.tables(), exponent, 0));
  const auto width = static_cast<std::size_t>(source.feature_count());
  const auto slots = static_cast<std::size_t>(source.context());
  std::vector<double> logits;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    logits.push_back(teacher.logit(std::span(batch.features).subspan(i * width, width),
                                   std::span(batch.tokens).subspan(i * slots, slots)));
  }
  return logits;
}

TEST_CASE("clicks: shape and defaults") {
  const auto source = make_data(clicks(300));
  CHECK(source->feature_count() == 13);
  CHECK(source->context() == 26);
  CHECK(source->classes() == 2);
  CHECK(source->vocabulary() == 0);
  REQUIRE(source->tables().size() == 26);
  CHECK(source->tables()[0] == BagTable{1460, 1});
  CHECK(source->tables()[2] == BagTable{20000, 1});  // cut
  CHECK(source->tables()[25] == BagTable{20000, 1});
  CHECK_THAT(source->provenance()[0], Contains("300 examples, 13 features, 26 tables of 3 to 20000 rows"));
  CHECK(source->provenance()[1] == source->ceiling());
  for (const std::int32_t label : all_of(*source).labels) CHECK((label == 0 || label == 1));
}

TEST_CASE("clicks: the numbers of rows are Kaggle's, one number, or a list") {
  DataConfig config = clicks(10);
  config.max_rows = (Index{1} << 31) - 1;
  Index sum = 0;
  for (const BagTable& table : bag_tables(config, 1)) sum += table.rows;
  CHECK(sum == 33762577);  // 540 million parameters in vectors of 16
  config.tables = 28;
  CHECK(bag_tables(config, 1)[26].rows == 1460);
  config.rows = "50";
  CHECK(bag_tables(config, 3) == std::vector<BagTable>(28, {50, 3}));
  config.rows = "50,7";
  config.tables = 0;
  config.max_rows = 10;  // applies to Kaggle's only
  CHECK(bag_tables(config, 1) == std::vector<BagTable>{{50, 1}, {7, 1}});
}

TEST_CASE("clicks: a rank is the first whose summed weight is above the point that is drawn") {
  for (const double exponent : {0.0, 1.05, 3.0}) {
    for (const Index rows : {1, 2, 7, 3000}) {
      const ZipfRanks ranks(rows, exponent);
      std::vector<double> sums;
      for (Index rank = 0; rank < rows; ++rank) {
        sums.push_back((rank > 0 ? sums.back() : 0.0) + std::pow(static_cast<double>(rank + 1), -exponent));
      }
      bool same = true;
      for (Index draw = 0; draw < 2000; ++draw) {
        const auto words = device::philox(device::RandomKey{}, {5, 0, draw});
        const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) << 21) ^ (words[1] >> 11);
        const double point = static_cast<double>(bits) * 0x1p-53 * sums.back();
        const auto found = std::upper_bound(sums.begin(), sums.end() - 1, point);
        same = same && ranks.draw({}, {5, 0, draw}) == found - sums.begin();
      }
      CAPTURE(exponent, rows);
      CHECK(same);
    }
  }
}

TEST_CASE("clicks: frequencies of ids follow Zipf's law") {
  constexpr Index count = 40000;
  for (const double exponent : {0.0, 0.6, 1.05, 2.0}) {
    DataConfig config = clicks(count, "500,3");
    config.zipf = exponent;
    const auto source = make_data(config);
    const Batch batch = all_of(*source);
    const ClickDraws draws(13, source->tables(), exponent, 0);
    const std::vector<double> p = zipf(500, exponent);
    std::vector<Index> seen(500);
    for (std::size_t i = 0; i < batch.tokens.size(); i += 2) ++seen[static_cast<std::size_t>(batch.tokens[i])];
    // Pearson's statistic over the ranks that are expected at least 5 times; all others form one more cell.
    double statistic = 0, cells = 0, rest = 0, rest_seen = 0;
    const auto add = [&](double expected, double found) {
      statistic += (found - expected) * (found - expected) / expected;
      cells += 1;
    };
    for (std::size_t r = 0; r < p.size(); ++r) {
      CHECK(draws.ranks(0).probability(static_cast<Index>(r)) == Approx(p[r]).epsilon(1e-9));
      const double expected = p[r] * count;
      const auto found = static_cast<double>(seen[draws.ids(0)[r]]);
      if (expected >= 5) {
        add(expected, found);
      } else {
        rest += expected;
        rest_seen += found;
      }
    }
    if (rest > 0) add(rest, rest_seen);
    CAPTURE(exponent, statistic, cells);
    CHECK(std::abs(statistic - (cells - 1)) < 5 * std::sqrt(2 * (cells - 1)));
  }
}

TEST_CASE("clicks: a batch touches as many rows as the formula says") {
  constexpr Index batch = 128, batches = 150;
  DataConfig config = clicks(batch * batches);
  config.tables = 8;
  const auto source = make_data(config);
  Batch out;
  std::vector<double> distinct(8);
  for (Index b = 0; b < batches; ++b) {
    source->read(Split::train, b * batch, batch, out);
    for (std::size_t t = 0; t < 8; ++t) {
      std::set<std::int32_t> ids;
      for (std::size_t i = t; i < out.tokens.size(); i += 8) ids.insert(out.tokens[i]);
      distinct[t] += static_cast<double>(ids.size()) / batches;
    }
  }
  for (std::size_t t = 0; t < 8; ++t) {
    double expected = 0;
    for (const double p : zipf(source->tables()[t].rows, 1.05)) expected += 1 - std::pow(1 - p, batch);
    CAPTURE(t, expected);
    CHECK(std::abs(distinct[t] - expected) < 4 * std::sqrt(expected / batches));  // the variance is below the mean
  }
}

TEST_CASE("clicks: ranks and ids are permutations of each other, on every day") {
  ClickDraws draws(1, {{1000, 1}, {1, 1}, {64, 1}}, 1, 0.3);
  const auto sorted = [&](Index table) {
    std::vector<std::uint32_t> ids(draws.ids(table).begin(), draws.ids(table).end());
    std::ranges::sort(ids);
    return ids;
  };
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  CHECK_FALSE(std::ranges::equal(draws.ids(0), all));
  for (int day = 0; day < 4; ++day) {
    CHECK(sorted(0) == all);
    CHECK(sorted(1) == std::vector<std::uint32_t>{0});
    CHECK(sorted(2) == std::vector<std::uint32_t>(all.begin(), all.begin() + 64));
    const std::vector<std::uint32_t> before(draws.ids(0).begin(), draws.ids(0).end());
    draws.next_day();
    Index moved = 0;
    for (std::size_t r = 0; r < 1000; ++r) moved += draws.ids(0)[r] != before[r] ? 1 : 0;
    CHECK(std::abs(static_cast<double>(moved) - 300) < 5 * std::sqrt(1000 * 0.3 * 0.7));
  }
}

TEST_CASE("clicks: the teacher's quality and the click rate are as planned, whatever the tables", "[once]") {
  const struct {
    std::string rows;
    Index tables, bag, features;
    double zipf;
  } cases[] = {{"kaggle", 26, 1, 13, 1.05}, {"kaggle", 8, 1, 13, 1.05}, {"2000", 40, 1, 1, 0.6},
               {"300", 1, 1, 4, 0},         {"500", 4, 5, 13, 1.4},     {"1", 2, 1, 13, 1}};
  for (const auto& each : cases) {
    DataConfig config = clicks(30000, each.rows);
    config.tables = each.tables;
    config.bag = each.bag;
    config.features = each.features;
    config.zipf = each.zipf;
    const auto source = make_data(config);
    const Batch batch = all_of(*source);
    const ClickCeiling ceiling = click_ceiling(logits_of(*source, batch, each.zipf), batch.labels);
    CAPTURE(each.rows, each.tables, each.bag, source->ceiling());
    CHECK_THAT(source->ceiling(), Contains("on the 30000 training examples, the teacher has " + describe(ceiling)));
    CHECK(ceiling.rate == Approx(0.256).margin(0.012));
    CHECK(ceiling.auc == Approx(0.80).margin(0.02));
    CHECK(ceiling.loss == Approx(ceiling.expected).margin(0.012));
    CHECK(ceiling.expected < 0.49);  // without any knowledge: 0.569
  }
}

TEST_CASE("clicks: most of the teacher's knowledge is about ids", "[once]") {
  const auto source = make_data(clicks(20000));
  const Batch batch = all_of(*source);
  Batch mixed = batch;
  const auto auc = [&] {
    const std::vector<double> logits = logits_of(*source, mixed, 1.05);
    return area_under_curve(std::vector<float>(logits.begin(), logits.end()), batch.labels);
  };
  std::rotate(mixed.features.begin(), mixed.features.begin() + 13, mixed.features.end());
  CHECK(auc() > 0.74);  // the features are those of another example
  mixed = batch;
  std::rotate(mixed.tokens.begin(), mixed.tokens.begin() + 26, mixed.tokens.end());
  CHECK(auc() < 0.64);
}

TEST_CASE("clicks: examples are the same for every seed, number of examples and share held out") {
  DataConfig config = clicks(500);
  const Batch all = all_of(*make_data(config));
  CHECK(std::vector<std::int32_t>(all.tokens.begin(), all.tokens.begin() + 4) ==
        std::vector<std::int32_t>{1349, 184, 14130, 19959});
  config.seed = 99;
  config.examples = 800;
  config.holdout = 0.375;
  const auto source = make_data(config);
  CHECK(source->holdout_size() == 300);
  const Batch train = all_of(*source), held = all_of(*source, Split::holdout);
  CHECK((train.features == all.features && train.tokens == all.tokens && train.labels == all.labels));
  CHECK_THAT(source->ceiling(), Contains("300 held-out"));
  CHECK(held.labels.size() == 300);
  config.standardise = Switch::yes;
  const Batch standard = all_of(*make_data(config));
  CHECK(standard.tokens == all.tokens);
  CHECK(std::accumulate(standard.features.begin(), standard.features.end(), 0.0) == Approx(0).margin(1e-2));
}

TEST_CASE("clicks: an id appears once in a bag") {
  DataConfig config = clicks(2000, "6,1000");
  config.bag = 4;
  const auto source = make_data(config);
  CHECK(source->context() == 8);
  const Batch batch = all_of(*source);
  Index unused = 0;
  for (std::size_t i = 0; i < batch.tokens.size(); i += 4) {
    std::vector<std::int32_t> bag(batch.tokens.begin() + static_cast<std::ptrdiff_t>(i),
                                  batch.tokens.begin() + static_cast<std::ptrdiff_t>(i) + 4);
    CHECK(bag[0] >= 0);
    unused += std::erase(bag, kNoRow) > 0 ? 1 : 0;
    CHECK(std::set<std::int32_t>(bag.begin(), bag.end()).size() == bag.size());
  }
  CHECK(unused > 1000);
}

TEST_CASE("clicks: drift changes the popular ids from day to day") {
  DataConfig config = clicks(7000, "1000");
  config.tables = 1;
  config.zipf = 1.5;
  const auto most_frequent = [](const Batch& batch) {
    std::vector<Index> seen(1000);
    for (const std::int32_t id : batch.tokens) ++seen[static_cast<std::size_t>(id)];
    return std::ranges::max_element(seen) - seen.begin();
  };
  const auto different = [&] {
    const auto source = make_data(config);
    std::set<std::ptrdiff_t> ids;
    Batch day;
    for (Index d = 0; d < click_days; ++d) {
      source->read(Split::train, d * 1000, 1000, day);
      ids.insert(most_frequent(day));
    }
    return ids.size();
  };
  CHECK(different() == 1);
  const auto before = make_data(config);
  config.drift = 1;
  CHECK(different() == 7);
  // On the first day nothing has changed yet. A worker of size:0 sees only its own days.
  config.split = "size:0";
  config.workers = 7;
  const auto source = make_data(config);
  Batch a, b;
  before->read(Split::train, 0, 1000, a);
  source->read(Split::train, 0, 1000, b);
  CHECK((a.tokens == b.tokens && a.labels == b.labels));
  std::set<std::ptrdiff_t> ids;
  for (Index w = 0; w < 7; ++w) {
    source->sample(0, {w, 1}, 400, a);
    ids.insert(most_frequent(a));
  }
  CHECK(ids.size() == 7);
  config.drift = 0.7;
  CHECK((different() > 1 && different() < 7));
}

TEST_CASE("clicks: options that cannot be") {
  const auto refuses = [](DataConfig config, const std::string& reason) {
    CHECK_THROWS_AS(make_data(config), ConfigError);
    CHECK_THROWS_WITH(make_data(config), Contains(reason));
    if (config.name == "clicks" && config.zipf == 1.05 && config.drift == 0) {
      config.name = "clicks-random";
      CHECK_THROWS_WITH(make_data(config), Contains(reason) || Contains("clicks-random"));
    }
  };
  const auto with = [](auto change) {
    DataConfig config = clicks(10);
    change(config);
    return config;
  };
  refuses(clicks(0), "out of range: 0 (--data.examples)");
  refuses(clicks(10, ""), "malformed option value (--data.rows '')");
  refuses(clicks(10, "5,"), "malformed option value (--data.rows '5,')");
  refuses(clicks(10, "5,x"), "malformed option value (--data.rows '5,x'); expected: kaggle, a number");
  refuses(clicks(10, "0"), "out of range: 0 (--data.rows); from 1 to 2147483647");
  refuses(clicks(10, "99999999999999999999"), "malformed");
  refuses(clicks(10, "2147483648"), "out of range");
  refuses(with([](auto& c) {
            c.rows = "5,6,7";
            c.tables = 2;
          }),
          "3 numbers of rows for 2 tables (--data.rows, --data.tables)");
  refuses(with([](auto& c) { c.tables = 1025; }), "--data.tables");
  refuses(with([](auto& c) { c.tables = -1; }), "--data.tables");
  refuses(with([](auto& c) { c.max_rows = 0; }), "--data.max-rows");
  refuses(with([](auto& c) { c.bag = -1; }), "--data.bag");
  refuses(with([](auto& c) { c.bag = 4097; }), "--data.bag");
  refuses(with([](auto& c) { c.features = -1; }), "--data.features");
  refuses(with([](auto& c) { c.zipf = -0.1; }), "out of range: -0.1 (--data.zipf); from 0 to 3");
  refuses(with([](auto& c) { c.zipf = std::nan(""); }), "--data.zipf");
  refuses(with([](auto& c) { c.drift = 1.5; }), "--data.drift");
  refuses(with([](auto& c) { c.holdout = 1; }), "--data.holdout");
  refuses(with([](auto& c) { c.paths = {"x"}; }), "clicks data read no files (--data.path)");
  refuses(with([](auto& c) { c.test = {"x"}; }), "--data.test");
  refuses(with([](auto& c) { c.examples = Index{1} << 31; }), "exceed the limit");
  refuses(with([](auto& c) { c.examples = Index{1} << 40; }), "--data.examples");
  DataConfig large = clicks(10, "2147483647");
  large.tables = 1024;
  CHECK_THROWS_WITH(make_data(large), Contains("more memory than is available (--data clicks)"));
}

TEST_CASE("clicks-random: bags of distinct ids in order, end points half as likely") {
  DataConfig config = random_clicks(20000, "3", 1);
  const Batch batch = all_of(*make_data(config));
  std::vector<double> seen(3);
  for (const std::int32_t id : batch.tokens) seen[static_cast<std::size_t>(id)] += 1 / 20000.0;
  CHECK(seen[0] == Approx(0.25).margin(0.015));
  CHECK(seen[1] == Approx(0.5).margin(0.015));
  for (const float value : batch.features) CHECK((value >= 0 && value < 1));
  CHECK(std::count(batch.labels.begin(), batch.labels.end(), 1) == Approx(10000).margin(350));
  const auto source = make_data(random_clicks(10, "3", 0));
  CHECK(source->tables() == std::vector<BagTable>{{3, 10}});
  CHECK_THAT(source->ceiling(), Contains("log loss 0.6931"));
}

TEST_CASE("clicks-random: bags of fixed and of random length") {
  const auto lengths = [](const DataConfig& config) {
    const auto source = make_data(config);
    const Batch batch = all_of(*source);
    std::vector<double> share(static_cast<std::size_t>(config.bag) + 1);
    for (auto bag = batch.tokens.begin(); bag != batch.tokens.end(); bag += config.bag) {
      const auto end = std::find(bag, bag + config.bag, kNoRow);
      CHECK(std::all_of(end, bag + config.bag, [](std::int32_t id) { return id == kNoRow; }));
      CHECK(std::adjacent_find(bag, end, std::greater_equal<>()) == end);
      share[static_cast<std::size_t>(end - bag)] += 1 / static_cast<double>(config.examples);
    }
    return share;
  };
  DataConfig config = random_clicks(20000, "1000000000", 4);
  const std::vector<double> wanted = {0, 0.375, 0.25, 0.25, 0.125};  // the distribution of round(max(1, 4 u))
  const std::vector<double> found = lengths(config);
  for (std::size_t i = 0; i < 5; ++i) CHECK(found[i] == Approx(wanted[i]).margin(0.015));
  config.fixed_bag = true;
  CHECK(lengths(config)[4] > 0.999);
  config = random_clicks(2000, "2", 4);
  CHECK(lengths(config)[3] == 0);
}

}  // namespace
}  // namespace onebit::sim
