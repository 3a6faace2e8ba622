#include "compress/layout/layout.hpp"

#include "compress/layout/tensor.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::compress;

namespace {

const std::vector<Index> kTensors = {40, 0, 3, 129};

ExchangeLayout layout_of(Index workers, Granularity granularity, Padding padding) {
  return {device::Device::cpu(1), kTensors, workers, granularity, padding};
}

}  // namespace

TEST_CASE("tensors follow one another in the parameter vector") {
  CHECK(ranges_of(unnamed(kTensors)) == std::vector<Range>{{0, 40}, {40, 0}, {40, 3}, {43, 129}});
  CHECK(ranges_of({}).empty());
}

TEST_CASE("padding quanta are DeepSpeed's") {
  const std::vector<std::pair<Index, Index>> known = {
      {1, 8},     {2, 16},    {3, 72},      {4, 32},      {6, 144},     {8, 64},        {16, 256},
      {32, 1024}, {64, 4096}, {100, 20000}, {128, 16384}, {256, 65536}, {1024, 1048576}};
  for (const auto& [workers, quantum] : known) CHECK(padding_quantum(workers) == quantum);
}

TEST_CASE("a fused exchange is one vector of all tensors") {
  const ExchangeLayout layout = layout_of(3, Granularity::fused, Padding::wire_only);
  REQUIRE(layout.worker().count() == 1);
  const Segment& segment = layout.worker().segments()[0];
  CHECK(segment.real == 172);
  CHECK(segment.active == 172);
  CHECK(segment.padded == 216);
  CHECK(layout.state_size() == 172);
  CHECK(layout.tensor(0) == -1);
}

TEST_CASE("an exchange by tensors leaves empty tensors out and keeps their numbers") {
  const ExchangeLayout layout = layout_of(2, Granularity::tensor, Padding::as_data);
  REQUIRE(layout.worker().count() == 3);
  CHECK(layout.tensor(0) == 0);
  CHECK(layout.tensor(1) == 2);
  CHECK(layout.tensor(2) == 3);
  CHECK(layout.parameters() == 172);
  const auto segments = layout.worker().segments();
  CHECK(segments[1].parameter == 40);
  CHECK(segments[1].padded == 16);
  CHECK(segments[1].active == 16);
  CHECK(segments[1].state == 48);
  CHECK(segments[1].bytes == 6);
  CHECK(segments[2].parameter == 43);
  CHECK(layout.state_size() == 48 + 16 + 144);
}

TEST_CASE("server chunks tile every vector in whole bytes") {
  for (const Index workers : {1, 2, 3, 5, 8, 12, 64}) {
    for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
      for (const auto padding : {Padding::wire_only, Padding::as_data}) {
        CAPTURE(workers, static_cast<int>(granularity), static_cast<int>(padding));
        const ExchangeLayout layout = layout_of(workers, granularity, padding);
        REQUIRE(layout.server().count() == workers * layout.worker().count());
        std::size_t chunk = 0;
        for (const Segment& vector : layout.worker().segments()) {
          CHECK(vector.padded % padding_quantum(workers) == 0);
          Index real = 0, active = 0, padded = 0;
          for (Index server = 0; server < workers; ++server, ++chunk) {
            const Segment& piece = layout.server().segments()[chunk];
            CHECK(piece.padded % 8 == 0);
            CHECK(piece.bytes == vector.bytes + padded / 8);
            CHECK(piece.parameter == vector.parameter + padded);
            CHECK(piece.state == vector.state + padded);
            CHECK(piece.real <= piece.active);
            CHECK(piece.active <= piece.padded);
            real += piece.real;
            active += piece.active;
            padded += piece.padded;
          }
          CHECK(real == vector.real);
          CHECK(active == vector.active);
          CHECK(padded == vector.padded);
        }
        CHECK(layout.server().state_end() == layout.worker().state_end());
      }
    }
  }
}

TEST_CASE("padding counts as data or not at all") {
  const ExchangeLayout wire = layout_of(8, Granularity::tensor, Padding::wire_only);
  CHECK(wire.worker().padding().count() == 0);
  CHECK(wire.state_size() == wire.parameters());
  const ExchangeLayout data = layout_of(8, Granularity::tensor, Padding::as_data);
  CHECK(data.worker().padding().count() == 3);
  CHECK(data.state_size() == 64 + 64 + 192);
}
