#pragma once
// The tensors of a model under construction: name, shape and initial values.

#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"

namespace onebit::sim {

class Parameters {
 public:
  /// Adds a tensor [rows x columns] with initial elements from N(0, deviation^2); returns its offset.
  Index add_normal(const std::string& name, Index rows, Index columns, double deviation);
  /// Adds a vector whose elements are initially `value`; returns its offset.
  Index add_constant(const std::string& name, Index size, double value);

  const std::vector<compress::Tensor>& tensors() const { return tensors_; }
  Index count() const { return compress::total_size(tensors_); }

  /// Returns the initial weights, which depend on nothing but the seed.
  std::vector<float> initial(std::uint32_t seed) const;

 private:
  struct Start {
    double deviation = 0;
    double value = 0;
  };
  std::vector<compress::Tensor> tensors_;
  std::vector<Start> starts_;  ///< initial distribution of each tensor
};

}  // namespace onebit::sim
