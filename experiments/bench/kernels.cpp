#include <algorithm>
#include <cmath>
#include <memory>

#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "device/comm/dense_sum.hpp"
#include "device/math/fill.hpp"
#include "device/memory/copy.hpp"
#include "experiments/bench/bench.hpp"
#include "optim/adam/adam_kernels.hpp"

namespace onebit::experiments {
namespace {

using device::Buffer;
using device::Device;

/// A kernel with its operands, and the bytes per element that it must move.
struct Subject {
  Candidate candidate;
  Index elements = 0;
  double floor_bytes = 0;
};

/// The operands of all subjects. Large ones are shared, because subjects run one at a time.
struct Operands {
  Operands(const Device& operand_device, const sim::RunConfig& config, Index size)
      : device(operand_device),
        workers(config.workers),
        elements(round_up(size, compress::padding_quantum(workers))),
        codec(compress::make_codec(config.optimizer.exchange.up)),
        rows(device, std::vector<Index>{elements / workers}, workers, compress::Granularity::tensor,
             compress::Padding::wire_only),
        vector(device, std::vector<Index>{elements}, workers, compress::Granularity::tensor,
               compress::Padding::wire_only),
        worker_payload(codec->make_payload(device, rows.worker(), workers)),
        arrived(codec->make_payload(device, sent_table(), workers)),
        server_payload(codec->make_payload(device, vector.server(), 1)),
        a(device::random_floats(device, elements, 1)),
        b(device::random_floats(device, elements, 2)),
        c(device::random_floats(device, elements, 3)),
        d(device::random_floats(device, elements, 4)),
        variance(device::random_floats(device, elements, 7, 0)),
        factors(device::Buffer<float>::copy_of(device, std::vector<float>(static_cast<std::size_t>(workers), 0.1f))),
        rule(device::Buffer<optim::TensorRule>::copy_of(device, std::vector<optim::TensorRule>(1))),
        place(Buffer<device::SignPlace>::copy_of(device, sign_places(vector, std::vector<Index>{elements}))),
        sum(device, 1),
        dense(device::whole(device, workers), elements / workers) {
    for (compress::Payload* payload : {&worker_payload, &arrived}) {
      payload->shared_max.upload(std::vector<float>(static_cast<std::size_t>(payload->shared_max.size()), 4.0f));
    }
    for (Index row = 0; row < workers; ++row) {
      auto values = device::random_floats(device, elements, 10 + static_cast<std::uint32_t>(row));
      codec->encode(device, sent_table(), {row, 1}, {}, {.first_row = row}, {values.data(), elements}, arrived);
    }
  }

  /// Returns the segment table by which a worker divides the vector among the servers.
  const compress::SegmentTable& sent_table() const {
    return codec->traits().sliceable ? vector.worker() : vector.server();
  }
  /// Returns the bytes (or an upper bound) that an element of a long vector takes on the wire.
  double sent_bytes() const {
    constexpr Index many = Index{1} << 20;
    const Index bytes = codec->body_bytes({.real = many, .active = many, .padded = many});
    return static_cast<double>(bytes) / static_cast<double>(many);
  }

  Device device;
  Index workers;
  Index elements;
  std::unique_ptr<compress::Codec> codec;
  compress::ExchangeLayout rows;    ///< `workers` rows that together have `elements` elements
  compress::ExchangeLayout vector;  ///< one vector of `elements` elements
  compress::Payload worker_payload, arrived, server_payload;
  Buffer<float> a, b, c, d, variance, factors;
  Buffer<optim::TensorRule> rule;   ///< rule of the only tensor
  Buffer<device::SignPlace> place;  ///< place of its signs
  Buffer<double> sum;
  device::DenseSum dense;
};

/// The fused worker encode: makes the codec's passes and writes what is sent.
Subject worker_encode(Operands& o) {
  const auto run = [&o] {
    o.codec->encode(o.device, o.rows.worker(), {0, o.workers},
                    {.shared = o.c.data(),
                     .shared_factor = 0.9f,
                     .rows = o.a.data(),
                     .stride = o.elements / o.workers,
                     .factors = o.factors.data()},
                    {}, {o.b.data(), o.elements / o.workers}, o.worker_payload);
  };
  return {{"worker encode", run}, o.elements, o.codec->passes().encode + o.sent_bytes()};
}

/// The servers' work on a vector: reads what the workers sent, makes the codec's passes, and writes what is sent.
Subject server_side(Operands& o) {
  const auto run = [&o] {
    o.codec->serve(o.device, o.vector.server(), *o.codec, o.arrived, {}, {o.b.data(), o.elements}, o.server_payload);
  };
  return {{"server side", run},
          o.elements,
          (static_cast<double>(o.workers) + 1) * o.sent_bytes() + o.codec->passes().serve};
}

/// Every worker's work on the servers' answer: reads the answer and makes the codec's passes over the values.
Subject decode(Operands& o) {
  const auto run = [&o] { o.codec->decode(o.device, o.vector.server(), o.server_payload, 0, o.d.data()); };
  return {{"decode", run}, o.elements, o.sent_bytes() + o.codec->passes().decode};
}

Subject dense_mean(Operands& o) {
  const Index columns = o.elements / o.workers;
  const auto run = [&o, columns] {
    o.dense.absorb({0, o.workers}, o.a.data(), columns);
    o.dense.take_mean(o.c.data());
  };
  return {{"dense mean", run}, o.elements, 4 + 4 / static_cast<double>(o.workers)};
}

template <class Kernel>
Subject reduction(Operands& o, const std::string& name, Kernel kernel, double floor_bytes) {
  const auto run = [&o, kernel] { reduce(o.device, 1, device::Chunks(o.elements), kernel, o.sum.data()); };
  return {{name, run}, o.elements, floor_bytes};
}

/// 1-bit Adam's update, which unpacks the servers' answer on the fly.
Subject packed_update(Operands& o, const optim::MoveKernel& kernel) {
  const device::SignVector signs{o.server_payload.body.data(), o.server_payload.scales.data(), o.place.data()};
  const auto run = [&o, signs, kernel] {
    reduce_signs(o.device, device::Chunks(o.elements), signs, kernel, o.sum.data());
  };
  return {{"packed update", run}, o.elements, o.sent_bytes() + 16};
}

/// Throws if a result is not finite, because timings of kernels on NaN or infinities would be useless.
void require_finite(Operands& o) {
  double total = 0;
  for (const Buffer<float>* values : {&o.a, &o.b, &o.c, &o.d, &o.variance}) {
    reduce(o.device, 1, device::Chunks(o.elements), optim::SquareTerm{values->data(), 0}, o.sum.data());
    total += o.sum.to_host()[0];
  }
  if (!std::isfinite(total)) throw NumericError("the operands did not stay finite", "bench kernels");
}

std::vector<Subject> subjects(Operands& o) {
  const optim::AdamStep step{
      .lr = 1e-4f, .beta1 = 0.9f, .one_minus_beta1 = 0.1f, .beta2 = 0.999f, .one_minus_beta2 = 0.001f, .eps = 1e-3f};
  const optim::TensorRule* rule = o.rule.data();
  using optim::AdamKernel, optim::MoveKernel, optim::SquareTerm;
  const MoveKernel move{step, rule, true, o.a.data(), o.b.data(), o.variance.data()};
  std::vector<Subject> list = {
      worker_encode(o),
      server_side(o),
      decode(o),
      dense_mean(o),
      reduction(o, "adam update", AdamKernel{step, rule, o.a.data(), o.b.data(), o.variance.data(), o.d.data()}, 28),
      reduction(o, "frozen update", move, 20),
      reduction(o, "squared norm", SquareTerm{o.a.data(), 0}, 4),
  };
  if (o.codec->traits().signs) list.push_back(packed_update(o, move));
  return list;
}

/// Returns random numbers with a period of about a million. Copying them takes as long as copying any others, and they
/// are quick to generate.
Buffer<float> copy_source(const Device& device, Index size) {
  constexpr Index period = Index{1} << 20;
  Buffer<float> part = device::random_floats(device, std::min(size, period), 6), values(device, size);
  for (Index first = 0; first < size; first += period) {
    const Index bytes = std::min(period, size - first) * static_cast<Index>(sizeof(float));
    device.memory().copy({values.data() + first, 1, bytes, bytes}, device.memory(), {part.data(), 1, bytes, bytes});
  }
  return values;
}

/// Returns how many times a round runs a candidate that takes the given seconds: several times if it is short, because
/// a GPU begins the first run some 20 us after the round begins.
Index turns(double seconds) {
  constexpr double round = 2e-3;
  return static_cast<Index>(std::ceil(round / std::clamp(seconds, 1e-6, round)));
}

/// Returns the median seconds of one run of each candidate. Each of the rounds runs every candidate.
std::vector<double> medians(const Device& device, std::vector<Candidate> candidates, Index rounds) {
  std::vector<Index> runs;
  for (const std::vector<double>& once : interleaved(device, candidates, 1)) runs.push_back(turns(once.front()));
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    candidates[c].run = [run = candidates[c].run, count = runs[c]] {
      for (Index turn = 0; turn < count; ++turn) run();
    };
  }
  std::vector<double> result;
  for (const std::vector<double>& seconds : interleaved(device, candidates, rounds)) {
    result.push_back(median(seconds) / static_cast<double>(runs[result.size()]));
  }
  return result;
}

}  // namespace

KernelReport bench_kernels(const Device& device, const sim::RunConfig& config, Index elements, Index rounds,
                           Index copy_bytes) {
  KernelReport report{.copy_bytes = 0, .cache_bytes = device::last_level_cache(device), .rounds = rounds, .rows = {}};
  if (elements == 0) elements = std::max(4 * report.cache_bytes, kCopyBytes) / static_cast<Index>(sizeof(float));
  Operands operands(device, config, elements);
  const Buffer<float> source = copy_source(device, std::max(elements, copy_bytes / 4));
  Buffer<float> target(device, source.size());
  const std::vector<Subject> list = subjects(operands);
  std::vector<Candidate> candidates = {{"copy", [&] { copy_large(device, target, source); }}};
  for (const Subject& subject : list) candidates.push_back(subject.candidate);
  const std::vector<double> seconds = medians(device, candidates, rounds);
  require_finite(operands);
  report.copy_bytes = source.size() * static_cast<Index>(sizeof(float));
  report.copy_bytes_per_second = 2 * static_cast<double>(report.copy_bytes) / seconds[0];
  for (std::size_t s = 0; s < list.size(); ++s) {
    report.rows.push_back({list[s].candidate.name, list[s].elements, list[s].floor_bytes, seconds[s + 1]});
  }
  return report;
}

}  // namespace onebit::experiments
