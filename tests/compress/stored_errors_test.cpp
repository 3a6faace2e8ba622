// Errors that are stored in fewer bytes: the values read back, on every backend, and their effect on an exchange.
#include "compress/feedback/stored_errors.hpp"

#include <cstring>

#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/stored_errors.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr ErrorType kTypes[] = {ErrorType::fp32, ErrorType::bf16, ErrorType::int8};

/// Leaves the same row in every row of the range.
void set(StoredErrors& errors, const device::Device& device, Range range, const std::vector<float>& row) {
  errors.edit(range, [&](Range part, float* values) {
    for (Index r = 0; r < part.count; ++r) {
      const auto size = static_cast<Index>(row.size());
      device.memory().upload(values + r * size, row.data(), size * Index{sizeof(float)});
    }
  });
}

/// A row that was stored and read back.
std::vector<float> kept(ErrorType type, const std::vector<float>& row, const std::string& backend = "cpu") {
  const device::Device device = device_of(backend);
  StoredErrors errors(device, 1, static_cast<Index>(row.size()), type);
  set(errors, device, {0, 1}, row);
  return errors.to_host();
}

std::vector<NamedRow> rows_of(Index n) {
  std::vector<NamedRow> rows = kinds_of_rows(n);
  const std::vector<float> normal = oracle::normals(n, 23);
  std::vector<float> tiny = normal, huge = normal, mixed = normal;
  for (std::size_t i = 0; i < normal.size(); ++i) {
    tiny[i] *= 1e-30f;
    huge[i] = 3.3e38f * std::tanh(normal[i]);
    mixed[i] = std::ldexp(normal[i], static_cast<int>(i % 60) - 30);
  }
  rows.insert(rows.end(), {{"tiny", tiny}, {"huge", huge}, {"of many sizes", mixed}});
  return rows;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("stored errors come back as the oracle rounds them, on every backend") {
  for (const Index n : {0, 1, 31, 33, 255, 256, 257, 4097}) {
    for (const NamedRow& row : rows_of(n)) {
      const oracle::Vector bytes = oracle::bytes(row.values);
      for (const std::string& backend : backends()) {
        CAPTURE(n, row.name, backend);
        CHECK(same_bits(kept(ErrorType::fp32, row.values, backend), row.values));
        const std::vector<float> halved = kept(ErrorType::bf16, row.values, backend);
        const std::vector<float> quartered = kept(ErrorType::int8, row.values, backend);
        REQUIRE(halved.size() == row.values.size());
        REQUIRE(quartered.size() == row.values.size());
        for (std::size_t i = 0; i < row.values.size(); ++i) {
          REQUIRE(static_cast<double>(halved[i]) == oracle::bfloat(static_cast<double>(row.values[i])));
          REQUIRE(std::fabs(static_cast<double>(quartered[i]) - bytes[i]) <= 1e-7 * std::fabs(bytes[i]));
        }
      }
    }
  }
}

TEST_CASE("stored errors are rounded to the nearest, ties to the even one") {
  CHECK(kept(ErrorType::bf16, {1 + 0x1p-8f, 1 + 0x3p-8f, -1 - 0x1p-8f, 1 + 0x1.01p-8f}) ==
        std::vector<float>{1, 1 + 0x1p-6f, -1, 1 + 0x1p-7f});
  CHECK(kept(ErrorType::int8, {127, 0.5f, 1.5f, -2.5f, 2.75f, -126.75f}) == std::vector<float>{127, 0, 2, -2, 3, -127});
}

TEST_CASE("stored errors: the largest of every block of 256 of a row is exact, and blocks do not see each other") {
  std::vector<float> row(600, 0.25f);
  row[3] = 1e20f;
  row[300] = -0x1.234566p-1f;
  row[599] = 12.7f;
  const std::vector<float> back = kept(ErrorType::int8, row);
  CHECK(back[3] == 1e20f);
  CHECK(back[4] == 0);
  CHECK(back[300] == row[300]);
  CHECK(back[301] == Approx(0.25).epsilon(0.01));
  CHECK(back[599] == 12.7f);
  CHECK(back[512] == Approx(0.3));  // 12.7f is a little less than 12.7, so 0.25 is more than two and a half steps
}

TEST_CASE("stored errors: bfloat16 keeps -0.0, and numbers beyond the largest become it") {
  CHECK(std::signbit(kept(ErrorType::bf16, {-0.0f})[0]));
  CHECK(kept(ErrorType::bf16, {3.4028235e38f, -3.4028235e38f}) == std::vector<float>{0x1.FEp127f, -0x1.FEp127f});
}

TEST_CASE("stored errors: what kernels take for zero is kept as nothing that kernels take for a number") {
  for (const ErrorType type : kTypes) {
    for (const std::string& backend : backends()) {
      for (const float value : kept(type, {1e-40f, -1e-42f, 1e-45f}, backend)) CHECK(std::fabs(value) < 1.2e-38f);
    }
  }
}

TEST_CASE("stored errors: what is not finite stays so, and changes no other element") {
  std::vector<float> row = oracle::normals(700, 3);
  const std::vector<float> finite = row;
  const std::vector<std::pair<std::size_t, float>> bad = {
      {0, std::nanf("")}, {255, kInf}, {256, -kInf}, {699, -std::nanf("")}};
  for (const auto& [at, value] : bad) row[at] = value;
  std::uint32_t quiet_bits = 0x7F800001u;  // a NaN whose payload bfloat16 has no bits for
  std::memcpy(&row[400], &quiet_bits, sizeof quiet_bits);
  for (const ErrorType type : kTypes) {
    for (const std::string& backend : backends()) {
      const std::vector<float> back = kept(type, row, backend);
      std::vector<float> others = finite;
      for (const auto& [at, value] : bad) others[at] = 0;
      others[400] = 0;
      const std::vector<float> expected = kept(type, others, backend);
      for (std::size_t i = 0; i < row.size(); ++i) {
        CAPTURE(static_cast<int>(type), backend, i);
        CHECK(std::isfinite(back[i]) == std::isfinite(row[i]));
        if (std::isfinite(row[i])) CHECK(back[i] == expected[i]);
      }
    }
  }
  CHECK(kept(ErrorType::bf16, {kInf, -kInf}) == std::vector<float>{kInf, -kInf});
}

TEST_CASE("stored errors are the same bits for any threads and any groups of rows") {
  constexpr Index rows = 7, stride = 1000;
  for (const ErrorType type : kTypes) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 5}) {
      for (const Index group : {1, 3, 7}) {
        const device::Device device = device_of("cpu", threads);
        StoredErrors errors(device, rows, stride, type);
        for (Index first = 0; first < rows; first += group) {
          const Range range{first, std::min(group, rows - first)};
          errors.edit(range, [&](Range part, float* values) {
            for (Index r = 0; r < part.count; ++r) {
              const std::vector<float> row = oracle::normals(stride, 1, part.first + r);
              device.memory().upload(values + r * stride, row.data(), stride * Index{sizeof(float)});
            }
          });
        }
        if (expected.empty()) expected = errors.to_host();
        CAPTURE(static_cast<int>(type), threads, group);
        CHECK(same_bits(errors.to_host(), expected));
        CHECK(same_bits(errors.to_host({2, 3}), {expected.begin() + 2000, expected.begin() + 5000}));
      }
    }
  }
}

TEST_CASE("stored errors: rows that are large are taken a few at a time, each once") {
  constexpr Index rows = 5, stride = Index{1} << 23;
  const device::Device device = device_of("cpu");
  StoredErrors errors(device, rows, stride, ErrorType::int8);
  std::vector<Range> parts;
  errors.edit({1, 4}, [&](Range part, float* values) {
    parts.push_back(part);
    const std::vector<float> row = {static_cast<float>(part.first)};
    for (Index r = 0; r < part.count; ++r) device.memory().upload(values + r * stride, row.data(), sizeof(float));
  });
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].first == 1);
  CHECK(parts[0].count == 2);
  CHECK(parts[1].first == 3);
  CHECK(parts[1].count == 2);
  Index seen = 0;
  errors.read([&](Range part, const float* values) {
    for (Index r = 0; r < part.count; ++r, ++seen) {
      float first = 0;
      device.memory().download(&first, values + r * stride, sizeof first);
      CHECK(first == (std::vector<float>{0, 1, 1, 3, 3})[static_cast<std::size_t>(seen)]);
    }
  });
  CHECK(seen == rows);
}

TEST_CASE("stored errors are scaled and forgotten") {
  const std::vector<float> row = oracle::normals(513, 8);
  for (const ErrorType type : kTypes) {
    for (const std::string& backend : backends()) {
      const device::Device device = device_of(backend);
      StoredErrors errors(device, 2, 513, type);
      set(errors, device, {0, 2}, row);
      const std::vector<float> before = errors.to_host();
      errors.scale(0.3f);
      const std::vector<float> after = errors.to_host();
      const double lost = type == ErrorType::bf16 ? 0x1p-8 : 1e-6;
      for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == Approx(0.3 * before[i]).epsilon(lost));
      errors.zero();
      CHECK(oracle::norm(errors.to_host()) == 0);
    }
  }
}

TEST_CASE("stored errors take the bytes that they are there to save") {
  const device::Device device = device_of("cpu");
  CHECK(StoredErrors(device, 3, 1000, ErrorType::fp32).bytes() == 12000);
  CHECK(StoredErrors(device, 3, 1000, ErrorType::bf16).bytes() == 6000);
  CHECK(StoredErrors(device, 3, 1000, ErrorType::int8).bytes() == 3000 + 3 * 4 * 4);
  CHECK(StoredErrors(device, 3, 0, ErrorType::int8).bytes() == 0);
}
