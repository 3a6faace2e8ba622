#pragma once
// gTop-k (Shi et al. 2019) on one vector, sequential, with sparse vectors as maps; what is dropped of an element that
// is in the result stays with the worker that dropped it.

#include <map>

#include "tests/oracle/sparse.hpp"
#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

class GlobalTopK {
 public:
  using Sparse = std::map<std::size_t, double>;

  GlobalTopK(std::size_t workers, std::size_t elements, std::size_t k)
      : k_(k), errors(workers, Vector(elements, 0.0)) {}

  Vector operator()(const Rows& rows) {
    const std::size_t n = rows.size();
    std::vector<Sparse> sent(n), held(n);
    dropped_.assign(n, {});
    for (std::size_t w = 0; w < n; ++w) {
      for (std::size_t i = 0; i < rows[w].size(); ++i) errors[w][i] += rows[w][i];
      Sparse all;
      for (std::size_t i = 0; i < rows[w].size(); ++i) all[i] = errors[w][i];
      held[w] = sent[w] = top(all).first;
    }
    for (std::size_t distance = 1; distance < n; distance *= 2) {
      for (std::size_t w = 0; w + distance < n; w += 2 * distance) {
        for (const auto& [i, value] : held[w + distance]) held[w][i] += value;
        const auto [kept, rest] = top(held[w]);
        held[w] = kept;
        dropped_[w].push_back(rest);
      }
    }
    return finish(sent, held[0]);
  }

 private:
  Vector finish(const std::vector<Sparse>& sent, const Sparse& result) {
    const auto used = [&](std::size_t i) { return result.count(i) > 0 && result.at(i) != 0; };
    for (std::size_t w = 0; w < sent.size(); ++w) {
      for (const auto& [i, value] : sent[w]) errors[w][i] -= used(i) ? value : 0;
      for (const Sparse& rest : dropped_[w]) {
        for (const auto& [i, value] : rest) errors[w][i] += used(i) ? value : 0;
      }
    }
    Vector mean(errors[0].size());
    for (const auto& [i, value] : result) mean[i] = value / static_cast<double>(sent.size());
    return mean;
  }
  /// Splits off the k largest elements; of equal ones, the first are taken.
  std::pair<Sparse, Sparse> top(const Sparse& values) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (const auto& [i, value] : values) order.emplace_back(-std::fabs(value), i);
    std::sort(order.begin(), order.end());
    Sparse kept, rest;
    for (std::size_t j = 0; j < order.size(); ++j) (j < k_ ? kept : rest)[order[j].second] = values.at(order[j].second);
    return {kept, rest};
  }

  std::size_t k_;
  std::vector<std::vector<Sparse>> dropped_;

 public:
  Rows errors;  ///< one per worker
};

}  // namespace onebit::oracle
