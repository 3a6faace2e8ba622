// The compressed mean with its errors: properties of every pair of codecs, one up and one down.
#include <deque>

#include "compress/channels/compressed_mean.hpp"
#include "device/comm/device_group.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const std::vector<Tensor> kTensors = {{"w", 120, 12}, {"none", 0}, {"b", 10}, {"embedding", 77, 7}};
constexpr Index kParameters = 207;

struct Setting {
  ExchangeConfig config;
  Index workers = 6;
  std::string devices = "cpu";
  int threads = 1;
  Index group = 0;
};

/// An exchange on one device or several, a step at a time.
class Rounds {
 public:
  explicit Rounds(const Setting& setting)
      : setting_(setting), group_(device::parse_devices(setting.devices, setting.threads), setting.workers) {
    for (Index rank = 0; rank < group_.size(); ++rank) {
      seats_.emplace_back(group_.shard(rank), kTensors, setting.config);
    }
  }

  std::vector<float> step(const std::vector<std::vector<float>>& rows) {
    std::vector<std::vector<float>> results(seats_.size());
    traffic.assign(seats_.size(), {});
    ++step_;
    group_.run([&](Index rank) {
      const auto r = static_cast<std::size_t>(rank);
      seats_[r].begin(step_);
      absorb(seats_[r], group_.shard(rank), rows);
      device::Buffer<float> result(group_.shard(rank).device, kParameters);
      seats_[r].exchange(result.data(), traffic[r]);
      seats_[r].require_finite();
      results[r] = result.to_host();
    });
    for (std::size_t rank = 1; rank < results.size(); ++rank) CHECK(results[rank] == results[0]);
    return results[0];
  }

  /// Returns the mean of the workers' errors, and the servers' errors, in the order of the parameters.
  oracle::Vector mean_worker_error() const {
    oracle::Vector mean(static_cast<std::size_t>(kParameters));
    for (const CompressedMean& seat : seats_) {
      const std::vector<float> errors = seat.worker_errors().to_host();
      const std::size_t stride = static_cast<std::size_t>(seat.error_stride());
      for (const Segment& segment : seat.layout().worker().segments()) {
        for (Index i = 0; i < segment.real; ++i) {
          for (auto e = static_cast<std::size_t>(segment.state + i); e < errors.size(); e += stride) {
            mean[static_cast<std::size_t>(segment.parameter + i)] +=
                static_cast<double>(errors[e]) / static_cast<double>(setting_.workers);
          }
        }
      }
    }
    return mean;
  }
  std::vector<float> server_error() const { return seats_.front().server_error().to_host(); }
  const CompressedMean& first() const { return seats_.front(); }

  std::vector<netmodel::TrafficList> traffic;

 private:
  void absorb(CompressedMean& seat, const device::Shard& shard, const std::vector<std::vector<float>>& rows) const {
    const Index group = setting_.group > 0 ? setting_.group : setting_.workers;
    for (Index first = shard.own().first; first < shard.own().end(); first += group) {
      const Index count = std::min(group, shard.own().end() - first);
      std::vector<float> flat;
      for (Index w = first; w < first + count; ++w) {
        const std::vector<float>& row = rows[static_cast<std::size_t>(w)];
        flat.insert(flat.end(), row.begin(), row.end());
      }
      const auto on_device = on(shard.device, flat);
      const auto ones = on(shard.device, std::vector<float>(static_cast<std::size_t>(count), 1.0f));
      seat.absorb({first, count}, {.rows = on_device.data(), .stride = kParameters, .factors = ones.data()});
    }
  }

  Setting setting_;
  device::DeviceGroup group_;
  std::deque<CompressedMean> seats_;
  Index step_ = 0;
};

std::vector<std::vector<float>> rows_of(Index workers, Index step) {
  std::vector<std::vector<float>> rows;
  for (Index w = 0; w < workers; ++w) rows.push_back(oracle::normals(kParameters, 31, step, w));
  return rows;
}

oracle::Vector mean_of(const std::vector<std::vector<float>>& rows) {
  oracle::Vector mean(rows[0].size());
  for (const std::vector<float>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      mean[i] += static_cast<double>(row[i]) / static_cast<double>(rows.size());
    }
  }
  return mean;
}

/// r + server error + mean worker error - (mean input + what both were before), relative to the size of all of them.
double imbalance(Rounds& rounds, const std::vector<std::vector<float>>& rows) {
  const oracle::Vector workers = rounds.mean_worker_error(), input = mean_of(rows);
  std::vector<float> server = rounds.server_error();
  const std::vector<float> result = rounds.step(rows);
  const oracle::Vector workers_after = rounds.mean_worker_error();
  std::vector<float> server_after = rounds.server_error();
  server.resize(result.size());
  server_after.resize(result.size());
  double worst = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double before = input[i] + workers[i] + static_cast<double>(server[i]);
    const double after = static_cast<double>(result[i]) + workers_after[i] + static_cast<double>(server_after[i]);
    const double size = 1 + std::fabs(input[i]) + std::fabs(workers[i]) + std::fabs(static_cast<double>(server[i])) +
                        std::fabs(static_cast<double>(result[i]));
    worst = std::max(worst, std::fabs(after - before) / size);
  }
  return worst;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const CodecEntry& entry : codecs()) result.emplace_back(entry.name);
  return result;
}

ExchangeConfig with_feedback(const CodecConfig& up) {
  ExchangeConfig config;
  config.up = up;
  config.feedback = Feedback::ef;
  return config;
}

ExchangeConfig rounded(const CodecConfig& up, ErrorType type) {
  ExchangeConfig config = with_feedback(up);
  config.error_type = type;
  return config;
}

/// Whether an exchange no longer needs a worker's errors once it has taken the worker's vector.
bool can_be_rounded(const CodecConfig& up) {
  const Traits traits = make_codec(up)->traits();
  return !traits.linear && !traits.shared_max;
}

ExchangeConfig merged_in_a_tree(double k) {
  ExchangeConfig config = with_feedback({.name = "top-k", .k = k});
  config.pattern = ExchangePattern::tree;
  return config;
}

}  // namespace

TEST_CASE("nothing is lost: result and errors add up to what went in, for every codec alone") {
  for (const CodecConfig& up : all_codecs()) {
    for (const Granularity granularity : {Granularity::tensor, Granularity::fused}) {
      ExchangeConfig config = with_feedback(up);
      config.granularity = granularity;
      if (granularity == Granularity::fused && make_codec(up)->traits().linear) continue;  // refused
      Rounds rounds({config});
      for (Index step = 1; step <= 3; ++step) {
        CAPTURE(up.name, static_cast<int>(granularity), step);
        CHECK(imbalance(rounds, rows_of(6, step)) < 1e-6);
      }
    }
  }
}

TEST_CASE("nothing is lost with any codec up and any codec down") {
  for (const std::string& up : names()) {
    for (const std::string& down : names()) {
      ExchangeConfig config = with_feedback({.name = up});
      config.down = down;
      Rounds rounds({config, 3});
      for (Index step = 1; step <= 2; ++step) {
        CAPTURE(up, down, step);
        CHECK(imbalance(rounds, rows_of(3, step)) < 1e-6);
      }
    }
  }
}

TEST_CASE("nothing is lost in a merge tree, whatever the number of workers") {
  for (Index workers = 1; workers <= 9; ++workers) {
    for (const double k : {1.0, 0.1, 0.6}) {
      Rounds rounds({merged_in_a_tree(k), workers});
      for (Index step = 1; step <= 4; ++step) {
        CAPTURE(workers, k, step);
        CHECK(imbalance(rounds, rows_of(workers, step)) < 1e-6);
      }
    }
  }
}

TEST_CASE("an exchange has the same bits for any threads, groups and devices") {
  std::vector<ExchangeConfig> configs = {merged_in_a_tree(0.1)};
  for (const CodecConfig& up : all_codecs()) {
    configs.push_back(with_feedback(up));
    if (!can_be_rounded(up)) continue;
    for (const ErrorType type : {ErrorType::bf16, ErrorType::int8}) configs.push_back(rounded(up, type));
  }
  for (const ExchangeConfig& config : configs) {
    std::vector<Setting> settings = {{config, 9, "cpu", 7, 2}, {config, 9, "cpu:2", 2}, {config, 9, "cpu:3", 1, 3}};
    for (const std::string& backend : backends()) settings.push_back({config, 9, backend, 2, 4});
    for (const Setting& setting : settings) {
      // A GPU's matrix products have bits of their own, and so has what is computed with them.
      const bool own_products = config.up.name == "power-sgd" && setting.devices.starts_with("cuda");
      Rounds reference({config, 9, own_products ? setting.devices : "cpu"});
      Rounds rounds(setting);
      CAPTURE(config.up.name, static_cast<int>(config.error_type), setting.devices, setting.threads, setting.group);
      for (Index step = 1; step <= 2; ++step) CHECK(rounds.step(rows_of(9, step)) == reference.step(rows_of(9, step)));
      CHECK(rounds.traffic[0] == reference.traffic[0]);
    }
  }
}

TEST_CASE("without feedback errors are forgotten from step to step") {
  ExchangeConfig config;
  config.up.name = "sign-l1";
  config.feedback = Feedback::none;
  Rounds twice({config}), once({config});
  twice.step(rows_of(6, 1));
  CHECK(twice.step(rows_of(6, 2)) == once.step(rows_of(6, 2)));
}

TEST_CASE("tensors that are kept dense are averaged exactly and recorded as dense") {
  ExchangeConfig config = with_feedback({.name = "sign-l1"});
  config.dense = {"b", "emb*"};
  Rounds rounds({config});
  const auto rows = rows_of(6, 1);
  const std::vector<float> result = rounds.step(rows);
  const oracle::Vector mean = mean_of(rows);
  for (std::size_t i = 120; i < mean.size(); ++i) CHECK(result[i] == Approx(mean[i]).margin(1e-7));
  const netmodel::TrafficList& traffic = rounds.traffic[0];
  REQUIRE(traffic.size() == 6);
  CHECK(traffic[4].collective == netmodel::Collective::all_reduce);
  CHECK(traffic[4].payload_bytes == 40);
  CHECK(traffic[4].tensor == 2);
  CHECK(traffic[5].payload_bytes == 308);
  CHECK(rounds.first().plan() == traffic);
  CHECK(rounds.first().error_stride() == 120);
}

TEST_CASE("a pattern that fits no tensor is refused") {
  ExchangeConfig config = with_feedback({.name = "sign-l1"});
  config.dense = {"bias*"};
  CHECK_THROWS_WITH(Rounds({config}), Contains("codec.dense bias*") && Contains("w, none, b, embedding"));
}

TEST_CASE("a codec that does not fit its channel is refused with the reason") {
  for (const std::string& name : names()) {
    ExchangeConfig config = with_feedback({.name = name});
    config.pattern = ExchangePattern::linear;
    CAPTURE(name);
    if (make_codec({.name = name})->traits().linear) {
      CHECK_NOTHROW(Rounds({config}));
    } else {
      CHECK_THROWS_WITH(Rounds({config}), Contains("does not fit its channel") && Contains("codec " + name));
    }
  }
  ExchangeConfig config = with_feedback({.name = "sign-l1"});
  config.pattern = ExchangePattern::gather;
  config.down = "fp32";
  CHECK_THROWS_WITH(Rounds({config}), Contains("on the way down"));
  ExchangeConfig tree = merged_in_a_tree(3);
  tree.down = "fp32";
  CHECK_THROWS_WITH(Rounds({tree}), Contains("sends the merged elements down"));
  for (const std::string name : {"sign-l1", "fp32", "random-k", "threshold", "dct", "top-k-sampled"}) {
    ExchangeConfig other = merged_in_a_tree(3);
    other.up.name = name;
    CHECK_THROWS_WITH(Rounds({other}),
                      Contains("codec " + name + ", channel tree") && Contains("only payloads of top-k"));
  }
  ExchangeConfig packed = merged_in_a_tree(3);
  packed.up.packing = "delta";
  CHECK_THROWS_WITH(Rounds({packed}), Contains("all have the same size"));
}

TEST_CASE("a vector that is not finite is named by worker and tensor, whatever errors are kept as") {
  const auto named = [](const ExchangeConfig& config, std::size_t element, float value,
                        const std::string& devices = "cpu") -> std::string {
    Rounds rounds({.config = config, .devices = devices});
    auto rows = rows_of(6, 1);
    rows[4][element] = value;
    try {
      rounds.step(rows);
      return rounds.first().first_bad();
    } catch (const NumericError& error) {
      return error.what();
    }
  };
  for (const std::string& name : names()) {
    for (const float value : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      CAPTURE(name, value);
      const std::string alone = named(with_feedback({.name = name}), 7, value);
      CHECK_THAT(alone, Contains("worker 4") && Contains("tensor w"));
      if (make_codec({.name = name})->refuses()) {
        CHECK(named(with_feedback({.name = name}), 7, value, "cpu:2") == alone);
        for (const std::string& backend : backends()) {
          CHECK(named(with_feedback({.name = name}), 7, value, backend) == alone);
        }
      }
      if (!can_be_rounded({.name = name})) continue;
      for (const std::size_t element : {std::size_t{7}, std::size_t{125}}) {
        const std::string exact = named(with_feedback({.name = name}), element, value);
        for (const ErrorType type : {ErrorType::bf16, ErrorType::int8}) {
          CHECK(named(rounded({.name = name}, type), element, value) == exact);
        }
      }
    }
  }
}

TEST_CASE("errors that are kept rounded feed back what was rounded, and no more is lost") {
  for (const auto& [type, most] : {std::pair{ErrorType::bf16, 0.004}, std::pair{ErrorType::int8, 0.03}}) {
    for (const CodecConfig& up : all_codecs()) {
      if (!can_be_rounded(up) || make_codec(up)->traits().expanding) continue;  // such errors grow
      Rounds rounds({rounded(up, type)});
      CAPTURE(up.name, static_cast<int>(type));
      for (Index step = 1; step <= 3; ++step) {
        const double lost = imbalance(rounds, rows_of(6, step));
        CHECK(lost < most);
        if (up.name.starts_with("sign")) CHECK(lost > most / 100);  // or nothing was rounded
      }
    }
  }
}

TEST_CASE("errors cannot be kept rounded where an exchange comes back to them, or does not carry them") {
  const auto refused = [](const ExchangeConfig& config) -> std::string {
    try {
      Rounds rounds({config});
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  for (const std::string name : {"power-sgd", "count-sketch", "terngrad"}) {
    CHECK(refused(rounded({.name = name}, ErrorType::bf16)) ==
          "this exchange needs the errors of all workers at once, as float32 (codec " + name +
              ", feedback.dtype bf16); leave out feedback.dtype, or use another codec or channel");
  }
  ExchangeConfig tree = merged_in_a_tree(3);
  tree.error_type = ErrorType::int8;
  CHECK_THAT(refused(tree), Contains("codec top-k, feedback.dtype int8"));
  tree.pattern = ExchangePattern::gather;
  CHECK(refused(tree).empty());
  ExchangeConfig none = rounded({.name = "sign-l2"}, ErrorType::bf16);
  none.feedback = Feedback::none;
  CHECK_THAT(refused(none), Contains("keep no errors") && Contains("codec sign-l2, feedback.dtype bf16"));
  none.up.name = "qsgd";
  none.feedback = Feedback::automatic;
  CHECK_THAT(refused(none), Contains("keep no errors") && Contains("--feedback ef"));
}
