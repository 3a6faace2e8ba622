// The bytes of the compressed all-reduce: recorded, planned, occupied and by formula.
#include "tests/catch.hpp"
#include "tests/compress/exchange.hpp"

using namespace onebit;
using namespace onebit::netmodel;
using namespace onebit::tests;

namespace {

/// Bytes that one worker sends in one call for P elements: 2 (n-1) P' / (8n) + 8 (n-1), by DeepSpeed's code.
double formula(Index elements, Index n) {
  if (elements == 0) return 0;
  const Index quantum = n * (n * 8 / std::gcd(n, Index{8}));
  const Index padded = (elements + quantum - 1) / quantum * quantum;
  return static_cast<double>(2 * (n - 1) * (padded / (8 * n)) + 8 * (n - 1));
}

double sent(const TrafficList& traffic) {
  double bytes = 0;
  for (const Traffic& exchange : traffic) bytes += sent_bytes(exchange).value;
  return bytes;
}

Index payload_bytes(const TrafficList& traffic, Direction direction) {
  Index bytes = 0;
  for (const Traffic& t : traffic) bytes += t.direction == direction ? t.payload_bytes : 0;
  return bytes;
}

FloatRows zero_rows(const Exchange& exchange) {
  return FloatRows(static_cast<std::size_t>(exchange.options.workers),
                   std::vector<float>(static_cast<std::size_t>(exchange.layout.parameters())));
}

}  // namespace

TEST_CASE("bytes sent follow the formula to the byte") {
  for (const Index workers : {1, 2, 3, 5, 6, 8, 12, 64, 100}) {
    for (const std::vector<Index>& tensors :
         std::vector<std::vector<Index>>{{1}, {7, 8, 9}, {0, 16, 0}, {4096}, {4097, 1}, {784 * 256, 256, 2560, 10}}) {
      double by_tensor = 0;
      for (const Index size : tensors) by_tensor += formula(size, workers);
      const double fused = formula(std::accumulate(tensors.begin(), tensors.end(), Index{0}), workers);
      for (const auto padding : {Padding::wire_only, Padding::as_data}) {
        CAPTURE(workers, tensors, static_cast<int>(padding));
        const Exchange whole({.tensors = tensors, .workers = workers, .padding = padding});
        CHECK(sent(whole.channel.plan()) == fused);
        const Exchange parts(
            {.tensors = tensors, .workers = workers, .granularity = Granularity::tensor, .padding = padding});
        CHECK(sent(parts.channel.plan()) == by_tensor);
      }
    }
  }
}

TEST_CASE("a large model's bytes are the published ones") {
  const auto megabytes = [](Index workers) { return formula(340'000'000, workers) / 1e6; };
  CHECK(megabytes(8) == Approx(74.4).epsilon(1e-3));
  CHECK(megabytes(64) == Approx(83.7).epsilon(1e-3));
  CHECK(megabytes(256) == Approx(84.7).epsilon(1e-3));
}

TEST_CASE("what is recorded is what was planned and what the payloads occupy, for all codecs") {
  for (const compress::CodecEntry& up : compress::codecs()) {
    for (const compress::CodecEntry& down : compress::codecs()) {
      for (const Index workers : {1, 3, 8}) {
        for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
          Exchange exchange({.tensors = {1000, 0, 5, 77},
                             .workers = workers,
                             .granularity = granularity,
                             .up = std::string(up.name),
                             .down = std::string(down.name)});
          exchange(zero_rows(exchange));
          CAPTURE(up.name, down.name, workers);
          const compress::Payload& worker = exchange.channel.worker_payload();
          const compress::Payload& server = exchange.channel.server_payload();
          // The bytes of one server are the mean over all servers, rounded up for each vector. Payloads that vary in
          // size are planned at their largest size.
          const Index up_bytes = payload_bytes(exchange.channel.plan(), Direction::up);
          const Index down_bytes = payload_bytes(exchange.channel.plan(), Direction::down) * workers;
          const Index vectors = exchange.layout.worker().count();
          const Index agreed = worker.shared_max.size() > 0 ? 4 * vectors : 0;  // to agree on scales first
          CHECK(up_bytes == worker.wire_bytes() + agreed);
          CHECK(down_bytes >= server.wire_bytes());
          CHECK(down_bytes < server.wire_bytes() + vectors * workers);
          if (worker.sizes.size() == 0 && server.sizes.size() == 0) {
            CHECK(exchange.traffic == exchange.channel.plan());
          } else {
            CHECK(exchange.traffic.size() == exchange.channel.plan().size());
            CHECK(payload_bytes(exchange.traffic, Direction::up) <= up_bytes);
            CHECK(payload_bytes(exchange.traffic, Direction::down) * workers <= down_bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("an exchange is an all-to-all and three all-gathers for each vector") {
  const Exchange exchange({.tensors = {100, 0, 5}, .workers = 4, .granularity = Granularity::tensor});
  const TrafficList plan = exchange.channel.plan();
  REQUIRE(plan.size() == 8);
  const std::vector<Collective> collectives = {Collective::all_to_all, Collective::all_gather, Collective::all_gather,
                                               Collective::all_gather};
  const std::vector<Index> payloads = {16, 4, 4, 4, 4, 4, 1, 4};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CHECK(plan[i].collective == collectives[i % 4]);
    CHECK(plan[i].direction == (i % 4 < 2 ? Direction::up : Direction::down));
    CHECK(plan[i].type == (i % 2 == 0 ? WireType::bits : WireType::fp32));
    CHECK(plan[i].payload_bytes == payloads[i]);
    CHECK(plan[i].tensor == (i < 4 ? 0 : 2));
    CHECK(plan[i].group_size == 4);
    CHECK(plan[i].messages == 3);
    CHECK_FALSE(plan[i].overlaps_backward);
  }
}
