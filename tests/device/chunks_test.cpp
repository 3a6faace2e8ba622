#include "device/launch/chunks.hpp"

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::device;

TEST_CASE("chunks never straddle segments and cover every element once") {
  const std::vector<Index> sizes = {0, 1, kChunk, 0, kChunk + 1, 3 * kChunk, 0};
  const Chunks cut(Device::cpu(1), sizes);
  const ChunkView chunks = cut.view();
  REQUIRE(chunks.segments == 7);
  CHECK(chunks.count == 0 + 1 + 1 + 0 + 2 + 3 + 0);
  CHECK(chunks.first(chunks.segments) == chunks.count);
  for (Index segment = 0; segment < chunks.segments; ++segment) {
    Index covered = 0;
    for (Index c = chunks.first(segment); c < chunks.first(segment + 1); ++c) {
      CHECK(chunks[c].segment == segment);
      CHECK(chunks[c].begin == covered);
      CHECK(chunks[c].begin % kChunk == 0);
      CHECK(chunks[c].end > chunks[c].begin);
      CHECK(chunks[c].end - chunks[c].begin <= kChunk);
      covered = chunks[c].end;
    }
    CHECK(covered == sizes[static_cast<std::size_t>(segment)]);
  }
}

TEST_CASE("one segment, an empty one and none") {
  CHECK(Chunks(Index{4097}).count() == 2);
  CHECK(Chunks(Index{4097}).view()[1].end == 4097);
  CHECK(Chunks(Index{0}).count() == 0);
  CHECK(Chunks(Index{0}).segments() == 1);
  CHECK(Chunks().segments() == 0);
  CHECK(Chunks().count() == 0);
}

TEST_CASE("division and rounding upwards") {
  CHECK(ceil_div(0, 8) == 0);
  CHECK(ceil_div(8, 8) == 1);
  CHECK(ceil_div(9, 8) == 2);
  CHECK(round_up(0, 16) == 0);
  CHECK(round_up(17, 16) == 32);
  CHECK(round_up(Index{1} << 40, 3) == 1099511627778);
}
