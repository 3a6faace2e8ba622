#pragma once
// A gradient trace of nine workers, full or compact.

#include <array>
#include <cmath>
#include <random>

#include "sim/log/h5.hpp"
#include "tests/catch.hpp"

namespace onebit::tests {

inline constexpr Index kSteps = 60, kWorkers = 9, kParameters = 1000;
inline constexpr std::array<std::int64_t, 2> kSizes = {700, 300};

inline void write_array(const sim::h5::Object& file, const char* name, hid_t type, std::vector<hsize_t> sizes,
                        const void* values) {
  using sim::h5::Id;
  const Id space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
  const Id dataset(H5Dcreate2(file.id.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  REQUIRE(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

/// Noisy gradients of a trace, [step][worker][parameter].
inline std::vector<float> sample_gradients() {
  std::mt19937 random(1);
  std::vector<float> values(kSteps * kWorkers * kParameters);
  for (float& value : values) value = static_cast<float>(random() % 2000) / 1000.0f - 0.8f;
  return values;
}

inline double loss_of(Index step, Index worker) {
  return 2.0 - 0.01 * static_cast<double>(step) + static_cast<double>(worker);
}

inline void write_trace(const std::string& path, const std::vector<float>& gradients, bool with_losses = false) {
  const sim::h5::Object file = sim::h5::create_file(path);
  const std::vector<float> x0(kParameters, 0.5f);
  write_array(file, "gradients", H5T_NATIVE_FLOAT, {kSteps, kWorkers, kParameters}, gradients.data());
  write_array(file, "x0", H5T_NATIVE_FLOAT, {kParameters}, x0.data());
  write_array(file, "tensor_sizes", H5T_NATIVE_INT64, {2}, kSizes.data());
  if (!with_losses) return;
  std::vector<double> losses;
  for (Index i = 0; i < kSteps * kWorkers; ++i) losses.push_back(loss_of(i / kWorkers, i % kWorkers));
  write_array(file, "losses", H5T_NATIVE_DOUBLE, {kSteps, kWorkers}, losses.data());
}

/// Writes the norms of the gradients that write_trace writes. without: a dataset that is left out.
inline void write_compact_trace(const std::string& path, const std::vector<float>& gradients,
                                const std::string& without = "") {
  std::vector<double> squares, l1, changes;
  std::vector<bool> before(kParameters);
  for (Index step = 0; step < kSteps; ++step) {
    Index i = 0;
    for (const std::int64_t size : kSizes) {
      double square = 0, sum = 0, changed = 0;
      for (const Index end = i + size; i < end; ++i) {
        double mean = 0;
        for (Index worker = 0; worker < kWorkers; ++worker) {
          mean +=
              static_cast<double>(gradients[static_cast<std::size_t>((step * kWorkers + worker) * kParameters + i)]);
        }
        mean /= static_cast<double>(kWorkers);
        square += mean * mean;
        sum += std::fabs(mean);
        changed += before[static_cast<std::size_t>(i)] != std::signbit(mean) ? 1 : 0;
        before[static_cast<std::size_t>(i)] = std::signbit(mean);
      }
      squares.push_back(square);
      l1.push_back(sum);
      changes.push_back(step == 0 ? NAN : changed / static_cast<double>(size));
    }
  }
  const sim::h5::Object file = sim::h5::create_file(path);
  const auto write = [&](const char* name, const std::vector<double>& values) {
    if (without != name) write_array(file, name, H5T_NATIVE_DOUBLE, {kSteps, kSizes.size()}, values.data());
  };
  write_array(file, "tensor_sizes", H5T_NATIVE_INT64, {kSizes.size()}, kSizes.data());
  write("gradient_squares", squares);
  write("gradient_l1", l1);
  write("sign_changes", changes);
}

}  // namespace onebit::tests
