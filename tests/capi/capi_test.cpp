// The C interface of the codecs: threads stand for the ranks of a caller.

#include "python/capi/onebit_codecs.h"

#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "compress/codecs/codec.hpp"
#include "optim/optimizer.hpp"
#include "python/capi/options.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr Index kRanks = 3;
constexpr onebit_tensor kTensors[] = {{"weight", 12, 3}, {"bias", 5, 1}};
constexpr Index kParameters = 17;

using Options = std::vector<onebit_option>;
using Vector = std::vector<float>;

/// Exchanges of ranks that are threads of this process.
class Meeting {
 public:
  onebit_ranks ranks(Index rank) {
    seats_[static_cast<std::size_t>(rank)] = {this, rank, nullptr, nullptr};
    return {rank, kRanks, exchange, &seats_[static_cast<std::size_t>(rank)]};
  }
  bool broken = false;  ///< whether every exchange fails
  std::atomic<std::int64_t> payload_bytes = 0;

 private:
  struct Seat {
    Meeting* meeting;
    Index rank;
    const std::byte* sent;
    const std::int64_t* bytes;
  };

  static int exchange(void* context, int kind, const void* send, const std::int64_t* send_bytes, void* receive,
                      const std::int64_t* receive_bytes) {
    Seat& own = *static_cast<Seat*>(context);
    Meeting& meeting = *own.meeting;
    if (meeting.broken) return 1;
    own.sent = static_cast<const std::byte*>(send);
    own.bytes = send_bytes;
    if (kind == ONEBIT_PAYLOAD)
      meeting.payload_bytes += std::accumulate(send_bytes, send_bytes + kRanks, std::int64_t{0});
    meeting.all_.arrive_and_wait();
    int status = 0;
    auto* target = static_cast<std::byte*>(receive);
    for (const Seat& other : meeting.seats_) {
      if (other.rank == own.rank) continue;
      const std::int64_t bytes = other.bytes[own.rank],
                         skipped = std::accumulate(other.bytes, other.bytes + own.rank, std::int64_t{0});
      if (bytes != receive_bytes[other.rank]) status = 1;
      if (bytes > 0) std::memcpy(target, other.sent + skipped, static_cast<std::size_t>(bytes));
      target += bytes;
    }
    meeting.all_.arrive_and_wait();
    return status;
  }

  Seat seats_[kRanks]{};
  std::barrier<> all_{kRanks};
};

using Create = onebit_worker* (*)(const onebit_problem*, onebit_error*);

struct Freer {
  void operator()(onebit_worker* worker) const { onebit_worker_free(worker); }
};
using Worker = std::unique_ptr<onebit_worker, Freer>;

Worker create(Create function, const onebit_ranks& ranks, const Options& options, std::string* failure = nullptr) {
  onebit_problem problem{ranks, kTensors, std::ssize(kTensors), options.data(), std::ssize(options), 8, 0, 1};
  onebit_error error{};
  Worker worker(function(&problem, &error));
  if (failure != nullptr) *failure = error.text;
  return worker;
}

/// Calls work(rank) in one thread for each rank.
template <class Work>
void on_ranks(const Work& work) {
  std::vector<std::jthread> threads;
  for (Index rank = 0; rank < kRanks; ++rank) threads.emplace_back([&work, rank] { work(rank); });
}

/// A vector of a rank in a step.
Vector vector_of(Index rank, Index step) {
  Vector values(kParameters);
  for (Index i = 0; i < kParameters; ++i) {
    values[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(1 + 7 * i + 31 * rank + 101 * step));
  }
  return values;
}

/// What a worker has saved: types and bytes, by name.
struct Saved {
  std::map<std::string, std::pair<std::string, std::vector<std::byte>>> items;
};

int take(void* context, const char* name, const char* type, const void* data, std::int64_t count) {
  const std::size_t size = type == std::string("int8") || type == std::string("uint8") ? 1
                           : type == std::string("uint16")                             ? 2
                           : type == std::string("float32")                            ? 4
                                                                                       : 8;
  auto& [kind, bytes] = static_cast<Saved*>(context)->items[name];
  kind = type;
  bytes.resize(static_cast<std::size_t>(count) * size);
  if (count > 0) std::memcpy(bytes.data(), data, bytes.size());
  return 0;
}

int give(void* context, const char* name, const char* type, const void** data, std::int64_t* count) {
  const auto& items = static_cast<Saved*>(context)->items;
  const auto found = items.find(name);
  if (found == items.end() || found->second.first != type) return 1;
  Saved sizes;
  *data = found->second.second.data();
  const std::string kind = type;
  const std::size_t size = kind.ends_with("64") ? 8 : kind.ends_with("32") ? 4 : kind.ends_with("16") ? 2 : 1;
  *count = static_cast<std::int64_t>(found->second.second.size() / size);
  return 0;
}

/// A worker of each rank, in threads that meet.
class Group {
 public:
  Group(Create function, const Options& options) {
    for (Index rank = 0; rank < kRanks; ++rank) workers_.push_back(create(function, meeting_.ranks(rank), options));
  }
  bool complete() const {
    return std::ranges::all_of(workers_, [](const Worker& worker) { return worker != nullptr; });
  }

  /// Returns the mean on each rank; the errors where it fails.
  std::vector<Vector> mean(Index step, const std::vector<Vector>& vectors) {
    std::vector<Vector> means(kRanks, Vector(kParameters, 99));
    on_ranks([&](Index r) {
      const auto rank = static_cast<std::size_t>(r);
      onebit_error error{};
      if (onebit_mean(workers_[rank].get(), step, vectors[rank].data(), means[rank].data(), &error) != 0)
        errors[rank] = error.text;
    });
    return means;
  }

  void step(Index step, double lr, std::vector<Vector>& parameters) {
    on_ranks([&](Index r) {
      const auto rank = static_cast<std::size_t>(r);
      const Vector gradient = vector_of(r, step);
      onebit_error error{};
      if (onebit_step(workers_[rank].get(), step, lr, gradient.data(), parameters[rank].data(), &error) != 0)
        errors[rank] = error.text;
    });
  }

  std::vector<Saved> save() {
    std::vector<Saved> saved(kRanks);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      REQUIRE(onebit_save(workers_[rank].get(), take, &saved[rank], nullptr) == 0);
    }
    return saved;
  }
  void load(std::vector<Saved> saved) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      REQUIRE(onebit_load(workers_[rank].get(), give, &saved[rank], nullptr) == 0);
    }
  }

  onebit_worker* worker(std::size_t rank) { return workers_[rank].get(); }
  void fail_exchanges() { meeting_.broken = true; }
  std::int64_t payload_bytes() const { return meeting_.payload_bytes; }
  std::string errors[kRanks];

 private:
  Meeting meeting_;
  std::vector<Worker> workers_;
};

std::vector<Vector> vectors_of(Index step) {
  return {vector_of(0, step), vector_of(1, step), vector_of(2, step)};
}

/// The exchange of the same workers in one process, as a run has it.
class Simulated {
 public:
  explicit Simulated(const Options& options)
      : shard_(device::whole(device::Device::cpu(1), kRanks)),
        exchange_(shard_, tensors(), capi::exchange_of(options)),
        vectors_(shard_.device, kRanks * kParameters),
        mean_(shard_.device, kParameters),
        ones_(device::Buffer<float>::copy_of(shard_.device, Vector(kRanks, 1))) {}

  static std::vector<compress::Tensor> tensors() { return {{"weight", 12, 3}, {"bias", 5, 1}}; }

  Vector mean(Index step) {
    Vector all;
    for (const Vector& one : vectors_of(step)) all.insert(all.end(), one.begin(), one.end());
    vectors_.upload(all);
    exchange_.begin(step);
    exchange_.absorb(shard_.own(), {.rows = vectors_.data(), .stride = kParameters, .factors = ones_.data()});
    netmodel::TrafficList traffic;
    exchange_.exchange(mean_.data(), traffic);
    bytes = messages = 0;
    for (const netmodel::Traffic& each : traffic) {
      bytes += netmodel::sent_bytes(each, netmodel::Direction::both).value;
      messages += static_cast<double>(each.messages);
    }
    return mean_.to_host();
  }

  double bytes = 0, messages = 0;

 private:
  device::Shard shard_;
  compress::CompressedMean exchange_;
  device::Buffer<float> vectors_, mean_, ones_;
};

}  // namespace

TEST_CASE("a mean has the bits of a simulated one with a worker for each rank, whatever the codec") {
  for (const auto& entry : compress::codecs()) {
    const std::string codec(entry.name);
    CAPTURE(codec);
    const Options options = {{"codec", codec.c_str()}, {"seed", "7"}};
    Group group(onebit_mean_create, options);
    REQUIRE(group.complete());
    Simulated simulated(options);
    for (Index step = 1; step <= 6; ++step) {
      CAPTURE(step);
      const Vector expected = simulated.mean(step);
      for (const Vector& mean : group.mean(step, vectors_of(step))) CHECK(mean == expected);
      const onebit_report report = onebit_last_report(group.worker(0));
      CHECK(report.bytes_up + report.bytes_down == Approx(simulated.bytes));
      CHECK(static_cast<double>(report.messages) == simulated.messages);
    }
  }
}

TEST_CASE("payloads of varying size travel with the bytes in use only") {
  Group group(onebit_mean_create, {{"codec", "threshold"}, {"channel", "gather"}});
  group.mean(1, std::vector<Vector>(kRanks, Vector(kParameters)));  // nothing reaches the threshold
  const std::int64_t empty = group.payload_bytes();
  CHECK(empty > 0);                // the number of entries
  CHECK(empty <= kRanks * 2 * 8);  // to two ranks, for at most two tensors
  group.mean(2, vectors_of(2));
  CHECK(group.payload_bytes() > 2 * empty);
}

TEST_CASE("an optimizer makes the steps of a simulated one, before the freeze and after it") {
  const Options options = {{"optimizer", "onebit-adam"}, {"freeze", "fixed:4"}, {"seed", "7"}};
  Group group(onebit_optimizer_create, options);
  REQUIRE(group.complete());
  const device::Shard shard = device::whole(device::Device::cpu(1), kRanks);
  const auto optimizer = optim::make_optimizer(
      {.shard = shard, .tensors = Simulated::tensors(), .total_steps = 8, .lr_warmup = 0}, capi::optimizer_of(options));
  auto expected = device::Buffer<float>::copy_of(shard.device, vector_of(5, 0));
  std::vector<Vector> parameters(kRanks, vector_of(5, 0));
  for (Index step = 1; step <= 8; ++step) {
    CAPTURE(step);
    Vector gradients;
    for (const Vector& one : vectors_of(step)) gradients.insert(gradients.end(), one.begin(), one.end());
    const auto rows = device::Buffer<float>::copy_of(shard.device, gradients);
    optimizer->begin(step, 0.01);
    optimizer->absorb(shard.own(), rows.data(), kParameters);
    optimizer->finish(expected);
    group.step(step, 0.01, parameters);
    for (const Vector& own : parameters) CHECK(own == expected.to_host());
    CHECK(onebit_last_report(group.worker(1)).phase == std::string(step <= 4 ? "warmup" : "compression"));
  }
}

TEST_CASE("workers that were saved and loaded go on with the same bits") {
  for (const char* codec : {"sign-l2", "top-k", "power-sgd", "qsgd"}) {
    CAPTURE(codec);
    const Options options = {{"codec", codec}, {"seed", "7"}};
    Group first(onebit_mean_create, options), second(onebit_mean_create, options);
    for (Index step = 1; step <= 3; ++step) first.mean(step, vectors_of(step));
    second.load(first.save());
    for (Index step = 4; step <= 6; ++step)
      CHECK(second.mean(step, vectors_of(step)) == first.mean(step, vectors_of(step)));
  }
  Group plain(onebit_mean_create, {{"codec", "sign-l2"}}), other(onebit_mean_create, {{"codec", "power-sgd"}});
  plain.mean(1, vectors_of(1));
  std::vector<Saved> saved = plain.save();
  onebit_error error{};
  CHECK(onebit_load(other.worker(0), give, &saved[0], &error) != 0);
  CHECK(std::string(error.text) != "");
}

TEST_CASE("a vector that is not finite is an error on every rank, and the rank's own names the tensor") {
  Group group(onebit_mean_create, {{"codec", "qsgd"}});
  std::vector<Vector> vectors = vectors_of(1);
  vectors[1][13] = std::nanf("");
  group.mean(1, vectors);
  CHECK_THAT(group.errors[1], Contains("not finite") && Contains("bias"));
  for (const std::string& error : group.errors) CHECK_THAT(error, Contains("not finite"));
}

TEST_CASE("whatever fails is one line, and no exception leaves the library") {
  const auto refused = [](Create function, const onebit_ranks& ranks, const Options& options) {
    std::string failure;
    CHECK(create(function, ranks, options, &failure) == nullptr);
    CHECK(failure.find('\n') == std::string::npos);
    return failure;
  };
  const onebit_ranks alone{0, 1, nullptr, nullptr};
  CHECK_THAT(refused(onebit_mean_create, alone, {{"codec", "sign-l3"}}), Contains("sign-l3") && Contains("sign-l2"));
  CHECK_THAT(refused(onebit_mean_create, alone, {{"codec", "sign-l2"}, {"codec.k", "3"}}),
             StartsWith("option has no effect (codec.k with codec sign-l2)"));
  CHECK_THAT(refused(onebit_mean_create, alone, {{"codec", "top-k"}, {"codec.density", "x"}}),
             Contains("codec.density"));
  CHECK_THAT(refused(onebit_optimizer_create, alone, {{"optimizer", "adm"}}), Contains("adam"));
  CHECK_THAT(refused(onebit_mean_create, {3, 3, nullptr, nullptr}, {{"codec", "sign-l2"}}),
             StartsWith("invalid ranks"));
  const std::string long_name(5000, 'x');
  CHECK(refused(onebit_mean_create, alone, {{"codec", long_name.c_str()}}).size() == 1023);

  const Worker mean = create(onebit_mean_create, alone, {{"codec", "sign-l2"}});
  Vector values = vector_of(0, 1);
  onebit_error error{};
  CHECK(onebit_step(mean.get(), 1, 0.1, values.data(), values.data(), &error) != 0);
  CHECK_THAT(std::string(error.text), StartsWith("this worker computes means (onebit_step)"));
  CHECK(onebit_mean(mean.get(), 1, values.data(), values.data(), nullptr) == 0);
  onebit_worker_free(nullptr);

  Group group(onebit_mean_create, {{"codec", "sign-l2"}});
  group.fail_exchanges();
  group.mean(1, vectors_of(1));
  for (const std::string& text : group.errors) CHECK_THAT(text, StartsWith("the exchange with the other ranks failed"));
}
