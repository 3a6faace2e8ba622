#pragma once
// Recommendation models (DLRM, Naumov et al. 2019) as workloads: dense layers, and embedding tables.

#include <span>
#include <vector>

#include "netmodel/step/workload.hpp"

namespace onebit::netmodel {

/// Shape of a DLRM with the dot interaction. It has F = tables + 1 features. The top layers get the first feature
/// unchanged, and the dot products of all pairs.
struct DlrmShape {
  std::vector<Index> bottom;  ///< inputs, then outputs of the bottom layers; the last is also the width of a table row
  std::vector<Index> top;     ///< outputs of the top layers
  std::vector<Index> rows;    ///< rows of each table

  Index width() const { return bottom.back(); }
  Index top_inputs() const;
  Index bottom_parameters() const;
  std::vector<TensorShape> tensors() const;  ///< of the dense layers
  Index parameters() const;                  ///< of the dense layers
};

/// The three shapes of the reference code: Criteo Kaggle, Criteo Terabyte, and MLPerf.
DlrmShape dlrm_kaggle();
DlrmShape dlrm_terabyte();
DlrmShape dlrm_mlperf();

/// The workloads of these shapes.
std::vector<Workload> recommender_workloads();

}  // namespace onebit::netmodel
