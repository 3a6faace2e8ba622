#include "sim/data/features/sparse_rows.hpp"

#include <algorithm>
#include <utility>

namespace onebit::sim {
namespace {

class SparseRows final : public FeatureRows {
 public:
  explicit SparseRows(SparseMatrix matrix) : matrix_(std::move(matrix)) {}

  void read(Index example, std::span<float> row) const override {
    const auto place = static_cast<std::size_t>(example);
    std::fill(row.begin(), row.end(), standard_(0.0F));
    for (auto i = static_cast<std::size_t>(matrix_.starts[place]);
         i < static_cast<std::size_t>(matrix_.starts[place + 1]); ++i) {
      row[matrix_.columns[i]] = standard_(matrix_.values[i]);
    }
  }

  void standardise(std::span<const Standard> channels) override { standard_ = channels[0]; }

 private:
  SparseMatrix matrix_;
  Standard standard_;
};

}  // namespace

std::unique_ptr<FeatureRows> sparse_rows(SparseMatrix matrix) {
  return std::make_unique<SparseRows>(std::move(matrix));
}

}  // namespace onebit::sim
