#pragma once
// The compressed all-reduce of 1-bit Adam (Tang et al. 2021, Algorithm 1; DeepSpeed's compressed_allreduce) on one
// vector: sequential, in double, with every intermediate result public.

#include <cstdint>
#include <numeric>

#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

enum class Norm { l1, l2 };

class CompressedMean {
 public:
  /// padding_counts: padded elements have errors and count in the scales, as in DeepSpeed.
  CompressedMean(std::size_t n, std::size_t elements, Norm scale_norm, bool padding_counts)
      : workers(n), size(elements), norm(scale_norm) {
    const std::size_t quantum = n * (n * 8 / std::gcd(n, std::size_t{8}));
    padded = (elements + quantum - 1) / quantum * quantum;
    counted = padding_counts ? padded : elements;
    worker_errors.assign(n, Vector(padded, 0.0));
    server_errors.assign(padded, 0.0);
  }

  /// The result of one call with a row of `size` numbers per worker.
  Vector operator()(const Rows& rows) {
    Vector mean(padded, 0.0);
    worker_scales.clear();
    worker_bytes.clear();
    for (std::size_t w = 0; w < workers; ++w) {
      Vector& y = worker_errors[w];
      for (std::size_t i = 0; i < size; ++i) y[i] += rows[w][i];
      worker_bytes.push_back(packed(y));
      worker_scales.push_back(scale(y, 0, padded));
      const Vector sent = compress(y, 0, padded, worker_scales[w]);
      for (std::size_t i = 0; i < padded; ++i) mean[i] += sent[i] / static_cast<double>(workers);
    }
    for (std::size_t i = 0; i < padded; ++i) server_errors[i] += mean[i];
    server_bytes = packed(server_errors);
    server_scales.clear();
    Vector result;
    const std::size_t chunk = padded / workers;
    for (std::size_t server = 0; server < workers; ++server) {
      server_scales.push_back(scale(server_errors, server * chunk, chunk));
      const Vector sent = compress(server_errors, server * chunk, chunk, server_scales[server]);
      result.insert(result.end(), sent.begin(), sent.end());
    }
    result.resize(size);
    return result;
  }

  std::size_t workers, size, padded = 0, counted = 0;
  Norm norm;
  Rows worker_errors;                                   ///< [workers][padded]; elements from `counted` on are zero
  Vector server_errors;                                 ///< [padded], all servers' chunks
  Vector worker_scales;                                 ///< workers' scales in the last call
  Vector server_scales;                                 ///< servers' scales in the last call
  std::vector<std::vector<std::uint8_t>> worker_bytes;  ///< bytes that workers sent in the last call, MSB first
  std::vector<std::uint8_t> server_bytes;               ///< bytes that servers sent in the last call, all chunks

 private:
  double scale(const Vector& y, std::size_t begin, std::size_t count) const {
    double sum = 0;
    double elements = 0;
    for (std::size_t i = begin; i < begin + count && i < counted; ++i) {
      sum += norm == Norm::l2 ? y[i] * y[i] : std::fabs(y[i]);
      elements += 1;
    }
    if (elements == 0) return 0;
    return norm == Norm::l2 ? std::sqrt(sum) / std::sqrt(elements) : sum / elements;
  }

  /// Returns what is sent for elements [begin, begin + count) and leaves the error in y.
  Vector compress(Vector& y, std::size_t begin, std::size_t count, double scale) const {
    Vector sent(count, 0.0);
    for (std::size_t i = 0; i < count && begin + i < counted; ++i) {
      sent[i] = y[begin + i] >= 0 ? scale : -scale;
      y[begin + i] -= sent[i];
    }
    return sent;
  }

  static std::vector<std::uint8_t> packed(const Vector& y) {
    std::vector<std::uint8_t> bytes(y.size() / 8, 0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] >= 0) bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | (128u >> (i % 8)));
    }
    return bytes;
  }
};

}  // namespace onebit::oracle
