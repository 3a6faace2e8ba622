// The compressed exchange over several devices: the same bits as on one device, no unnecessary transfer, and every
// missing copy is noticed.
#include "tests/catch.hpp"
#include "tests/compress/exchange.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

FloatRows normal_rows(const ExchangeOptions& options, Index call) {
  const Index parameters = std::accumulate(options.tensors.begin(), options.tensors.end(), Index{0});
  FloatRows rows;
  for (Index w = 0; w < options.workers; ++w) rows.push_back(oracle::normals(parameters, 21, call, w));
  return rows;
}

struct Outcome {
  FloatRows results;
  std::vector<double> measures;
};

/// Runs some calls on the devices; what was measured must be the same on every device.
Outcome run(ExchangeOptions options, const std::string& devices) {
  options.devices = devices;
  Exchange exchange(options);
  Outcome outcome;
  for (Index call = 0; call < 3; ++call) {
    outcome.results.push_back(exchange(normal_rows(options, call)));
    std::vector<std::vector<double>> measures(exchange.seats.size());
    exchange.group.run([&](Index rank) {
      const Seat& seat = exchange.seats[static_cast<std::size_t>(rank)];
      measures[static_cast<std::size_t>(rank)] = {seat.worker_codec_error(), seat.server_codec_error(),
                                                  std::sqrt(seat.channel.server_error_square(seat.server_error))};
    });
    for (const std::vector<double>& other : measures) CHECK(other == measures[0]);
    outcome.measures.insert(outcome.measures.end(), measures[0].begin(), measures[0].end());
  }
  return outcome;
}

/// Passes on every copy except one: block `block` from rank `peer` in the `call`-th all_to_all is dropped.
class Forgetful final : public device::Communicator {
 public:
  struct Copy {
    Index rank, call;
    std::size_t peer, block;
  };
  Forgetful(std::shared_ptr<device::Communicator> real, Copy left_out) : real_(std::move(real)), left_out_(left_out) {}

  Index rank() const override { return real_->rank(); }
  Index size() const override { return real_->size(); }
  std::vector<double> all_gather(std::span<const double> own) override { return real_->all_gather(own); }
  Index bytes_received() const override { return real_->bytes_received(); }
  void all_to_all(const device::Device& device, std::span<const device::Blocks> to,
                  std::span<const device::Blocks> from) override {
    std::vector<device::Blocks> targets(from.begin(), from.end());
    device::Buffer<std::uint8_t> nowhere;
    if (rank() == left_out_.rank && calls_ == left_out_.call) {
      device::Block& block = targets[left_out_.peer][left_out_.block];
      nowhere = device::Buffer<std::uint8_t>(device, block.bytes());
      block = {nowhere.data(), block.rows, block.width, block.width};
    }
    ++calls_;
    real_->all_to_all(device, to, targets);
  }

 private:
  std::shared_ptr<device::Communicator> real_;
  Copy left_out_;
  Index calls_ = 0;
};

}  // namespace

TEST_CASE("an exchange over several devices has the bits of one device") {
  for (const Index workers : {5, 8, 19}) {
    for (const auto granularity : {Granularity::fused, Granularity::tensor}) {
      for (const auto padding : {Padding::wire_only, Padding::as_data}) {
        const ExchangeOptions options{
            .tensors = {9000, 0, 33}, .workers = workers, .granularity = granularity, .padding = padding, .group = 3};
        const Outcome expected = run(options, "cpu");
        for (const char* devices : {"cpu:2", "cpu:3", "cpu:5", "debug:2"}) {
          if (workers < 9 && std::string(devices) > "cpu:2" && devices[0] == 'c') continue;
          CAPTURE(workers, devices, static_cast<int>(granularity), static_cast<int>(padding));
          const Outcome outcome = run(options, devices);
          CHECK(outcome.results == expected.results);
          CHECK(outcome.measures == expected.measures);
        }
      }
    }
  }
}

TEST_CASE("payloads of varying size have the same bits over several devices") {
  for (const char* up : {"sign-l2", "threshold"}) {
    ExchangeOptions options{
        .tensors = {9000, 0, 33}, .workers = 8, .granularity = Granularity::tensor, .up = up, .down = "threshold"};
    const Outcome expected = run(options, "cpu");
    for (const char* devices : {"cpu:2", "debug:2"}) {
      CAPTURE(up, devices);
      const Outcome outcome = run(options, devices);
      CHECK(outcome.results == expected.results);
      CHECK(outcome.measures == expected.measures);
    }
  }
}

TEST_CASE("devices hold their workers' rows and their servers' chunks, and exchange packed bits and scales only") {
  ExchangeOptions options{.tensors = {9000, 33}, .workers = 12, .granularity = Granularity::tensor, .devices = "cpu:2"};
  Exchange exchange(options);
  exchange(normal_rows(options, 0));
  // Vectors are padded to 12 * 24 = 288 elements: 9216 and 288, so a server's chunks are 96 and 3 bytes.
  constexpr Index chunk = 96 + 3, vectors = 2, real = 9033;
  const std::vector<Index> held = {4, 8};
  Index server_elements = 0;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Seat& seat = exchange.seats[rank];
    const Index own = held[rank], theirs = held[1 - rank];
    CHECK(seat.shard.own().count == own);
    CHECK(seat.worker_errors.size() == own * real);
    CHECK(seat.channel.worker_payload().rows == own);
    server_elements += seat.channel.server_state_size();
    const Index from_workers = theirs * (own * chunk + vectors * 4);  // their rows of our chunks, and their scales
    const Index from_servers = theirs * (chunk + vectors * 4);        // their servers' chunks and scales
    CHECK(seat.shard.communicator->bytes_received() == from_workers + from_servers);
  }
  CHECK(server_elements == real);
}

TEST_CASE("a copy left out on purpose is noticed, whichever it is") {
  const ExchangeOptions options{
      .tensors = {400, 90}, .workers = 8, .granularity = Granularity::tensor, .devices = "debug:2"};
  const FloatRows rows = normal_rows(options, 0);
  Exchange whole(options);
  const FloatRows expected = whole.on_each_device(rows);
  constexpr std::size_t blocks_of_call[] = {3, 4};  // bodies of two vectors and scales; body and scales of each vector
  int noticed = 0;
  for (const Index rank : {0, 1}) {
    for (const std::size_t call : {0u, 1u}) {
      for (const std::size_t peer : {0u, 1u}) {
        for (std::size_t block = 0; block < blocks_of_call[call]; ++block) {
          CAPTURE(rank, call, peer, block);
          ExchangeOptions forgetful = options;
          forgetful.wrap = [&](std::shared_ptr<device::Communicator> real) {
            return std::make_shared<Forgetful>(real, Forgetful::Copy{rank, static_cast<Index>(call), peer, block});
          };
          const FloatRows results = Exchange(forgetful).on_each_device(rows);
          CHECK(results != expected);
          noticed += results != expected ? 1 : 0;
        }
      }
    }
  }
  CHECK(noticed == 28);
}
