#include "sim/data/worker_split.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

using Parts = std::vector<std::vector<std::uint32_t>>;

[[noreturn]] void refuse_rule(const std::string& rule) {
  throw ConfigError("unknown way to split examples among workers", "--data.split " + rule,
                    "give iid, label, dirichlet:A with A from 1e-6 to 1e6, size, or size:P with P >= 0");
}

/// Returns the number after the colon of a rule.
double number_of(const std::string& rule, std::size_t colon) {
  double value = 0;
  const char* end = rule.data() + rule.size();
  const auto [stop, error] = std::from_chars(rule.data() + colon + 1, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0) refuse_rule(rule);
  return value;
}

/// Returns the training examples sorted by label.
std::vector<std::uint32_t> by_label(std::span<const std::int32_t> labels) {
  std::vector<std::uint32_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });
  return order;
}

/// Cuts `count` items into parts in proportion to `shares`. Returns where each part begins, and the end of the last.
std::vector<Index> cuts(std::span<const double> shares, Index count) {
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<Index> first = {0};
  double sum = 0.0;
  for (const double share : shares) {
    sum += share;
    first.push_back(std::min(count, static_cast<Index>(sum / total * static_cast<double>(count))));
  }
  first.back() = count;
  return first;
}

WorkerSplit split_by_label(Index workers, std::span<const std::int32_t> labels) {
  const auto train = static_cast<Index>(labels.size());
  std::vector<Index> first;
  for (Index w = 0; w <= workers; ++w) first.push_back(w * train / workers);
  return {by_label(labels), std::move(first)};
}

WorkerSplit split_by_size(double power, Index workers, Index train) {
  std::vector<double> shares;
  for (Index w = 1; w <= workers; ++w) shares.push_back(std::pow(static_cast<double>(w), -power));
  std::vector<Index> first = cuts(shares, train - workers);
  for (Index w = 0; w <= workers; ++w) first[static_cast<std::size_t>(w)] += w;  // one example for every worker
  return {{}, std::move(first)};
}

/// Gives every empty part an example from the part that is the largest at that moment.
void fill_empty(Parts& parts) {
  std::priority_queue<std::pair<std::size_t, std::size_t>> largest;
  for (std::size_t w = 0; w < parts.size(); ++w) largest.emplace(parts[w].size(), w);
  for (std::vector<std::uint32_t>& part : parts) {
    if (!part.empty()) continue;
    const std::size_t giver = largest.top().second;
    largest.pop();
    part.push_back(parts[giver].back());
    parts[giver].pop_back();
    largest.emplace(parts[giver].size(), giver);
  }
}

WorkerSplit split_by_dirichlet(double alpha, Index workers, std::span<const std::int32_t> labels) {
  const std::vector<std::uint32_t> sorted = by_label(labels);
  Parts parts(static_cast<std::size_t>(workers));
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const std::int32_t label = labels[*begin];
    const auto end = std::find_if(begin, sorted.end(), [&](std::uint32_t i) { return labels[i] != label; });
    const std::vector<Index> first = cuts(dirichlet(alpha, workers, label), end - begin);
    for (std::size_t w = 0; w < parts.size(); ++w) {
      parts[w].insert(parts[w].end(), begin + first[w], begin + first[w + 1]);
    }
    begin = end;
  }
  fill_empty(parts);
  std::vector<std::uint32_t> order;
  std::vector<Index> first = {0};
  for (const std::vector<std::uint32_t>& part : parts) {
    order.insert(order.end(), part.begin(), part.end());
    first.push_back(static_cast<Index>(order.size()));
  }
  return {std::move(order), std::move(first)};
}

}  // namespace

WorkerSplit::WorkerSplit(std::vector<std::uint32_t> order, std::vector<Index> first)
    : order_(std::move(order)), first_(std::move(first)) {}

Index WorkerSplit::size(Index worker) const {
  const auto w = static_cast<std::size_t>(worker);
  return w + 1 < first_.size() ? first_[w + 1] - first_[w] : 0;
}

Index WorkerSplit::draw_own(device::RandomKey key, device::RandomCounter counter) const {
  const Index count = size(counter.worker);
  if (count == 0) {
    throw Error("no examples for worker " + std::to_string(counter.worker) + ": the split has " +
                    std::to_string(first_.size() - 1) + " workers",
                "DataSource::sample");
  }
  const Index place = first_[static_cast<std::size_t>(counter.worker)] + device::uniform_index(key, counter, count);
  return order_.empty() ? place : order_[static_cast<std::size_t>(place)];
}

std::string WorkerSplit::describe() const {
  if (first_.empty()) return "";
  Index least = first_.back(), most = 0;
  for (Index w = 0; w + 1 < static_cast<Index>(first_.size()); ++w) {
    least = std::min(least, size(w));
    most = std::max(most, size(w));
  }
  return std::to_string(least) + " .. " + std::to_string(most) + " of " + std::to_string(first_.back()) +
         " examples per worker";
}

WorkerSplit split_among(const std::string& rule, Index workers, Index train, std::span<const std::int32_t> labels) {
  if (rule == "iid") return {};
  const std::size_t colon = rule.find(':');
  const std::string name = rule.substr(0, colon);
  const bool number = colon != std::string::npos;
  const bool known = name == "size" || (name == "label" && !number) || (name == "dirichlet" && number);
  if (!known) refuse_rule(rule);
  const double value = number ? number_of(rule, colon) : 1.0;
  if (name == "dirichlet" && !(value >= 1e-6 && value <= 1e6)) refuse_rule(rule);
  if (name != "size" && labels.empty()) {
    throw ConfigError("the data have no labels to split by", "--data.split " + rule, "give iid or size");
  }
  if (workers > train) {
    throw ConfigError(
        std::to_string(train) + " training examples cannot be split among " + std::to_string(workers) + " workers",
        "--data.split " + rule, "use fewer workers, or --data.split iid");
  }
  if (name == "label") return split_by_label(workers, labels);
  return name == "size" ? split_by_size(value, workers, train) : split_by_dirichlet(value, workers, labels);
}

}  // namespace onebit::sim
