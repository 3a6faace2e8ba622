#pragma once
// Gradient traces: recorded gradients, which any framework can write, and the parameters that a replay computes.
//
// A trace contains gradients float32 [steps, workers, parameters], x0 float32 [parameters] and tensor_sizes int64
// [tensors]. Optional are
//   - tensor_shapes int64 [tensors, 2]: rows and columns of each tensor (0 columns: a vector)
//   - losses float64 [steps, workers]: the workers' training losses
//   - a group for each reference case, with hyper-parameters as attributes, params [steps, parameters] (worker 0) and,
//     if workers differ, params_all_workers [workers, steps, parameters]. A case may also have its own gradients (with
//     losses), its own x0, and the random numbers that were drawn in it.
//
// A compact trace contains norms instead of gradients: gradient_squares float64 [steps, tensors], the squared l2 norm
// of each tensor's mean gradient over the workers, and tensor_sizes. Optional are losses and, also [steps, tensors],
// gradient_l1 (l1 norms of the same gradients) and sign_changes (share of their elements whose sign is not that of the
// step before; NaN in the first step). The l1 norm of a variance follows from these squares alone.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compress/codecs/recorded_draws.hpp"
#include "compress/layout/tensor.hpp"
#include "device/base/types.hpp"

namespace onebit::sim {

class GradientTrace {
 public:
  /// Opens a trace. name: the case whose own gradients and x0 are used, if it has them. Throws ConfigError if the
  /// file is missing or not HDF5, or if a dataset is missing, has a shape that does not match the others, or is larger
  /// than the file can hold.
  explicit GradientTrace(const std::string& path, const std::string& name = "");
  ~GradientTrace();
  GradientTrace(const GradientTrace&) = delete;
  GradientTrace& operator=(const GradientTrace&) = delete;

  const std::string& path() const;
  /// Whether the trace is compact. A compact trace has one worker, and one parameter for each tensor that has elements;
  /// the gradient of that parameter is the l2 norm of the tensor's mean gradient, and x0 is 0.
  bool compact() const { return compact_; }
  Index steps() const { return steps_; }
  Index workers() const { return workers_; }
  Index parameters() const { return parameters_; }
  /// Sizes of the tensors that were recorded.
  const std::vector<Index>& tensor_sizes() const { return tensor_sizes_; }
  /// Tensors of the parameter vector, with their shapes if the trace has them. In a compact trace, each has at most one
  /// element.
  const std::vector<compress::Tensor>& tensors() const { return tensors_; }
  const std::vector<float>& x0() const { return x0_; }

  /// Reads the gradients of one step, 0-based: [workers][parameters]. Holds only this step in memory. Throws
  /// ConfigError if the trace has gradients only for its cases and no case was named.
  void read_step(Index step, std::vector<float>& gradients) const;

  /// Reads one step, 0-based, of a dataset of a compact trace: [tensors]. Empty if the trace lacks the dataset. Throws
  /// ConfigError if the dataset is not [steps, tensors].
  std::vector<double> numbers_of_tensors(const std::string& dataset, Index step) const;
  /// Reads the workers' losses of one step, 0-based: [workers]. Empty if the trace contains none.
  std::vector<double> losses(Index step) const;
  /// Returns a hash of the sizes, x0, and the gradients of the first and the last step, for telling traces apart.
  std::string hash() const;

  /// Names of the reference cases.
  std::vector<std::string> cases() const;
  /// Attribute of a case: one or more numbers, or one text.
  struct Attribute {
    std::vector<double> numbers;
    std::string text;
  };
  /// Returns the attributes of a case, by name. Texts may have fixed or variable length. Throws ConfigError for an
  /// unknown case and for attributes of another kind.
  std::map<std::string, Attribute> attributes(const std::string& name) const;
  /// Reads the dataset `params` of a case, after step `step` (counted from 0).
  std::vector<double> reference(const std::string& name, Index step) const;
  /// Whether a case has params_all_workers float32 [workers, steps, parameters]. Throws ConfigError for another shape.
  bool has_worker_reference(const std::string& name) const;
  /// Reads the dataset `params_all_workers` of a case, after step `step` (counted from 0): [workers][parameters].
  std::vector<double> worker_reference(const std::string& name, Index step) const;
  /// Returns the random numbers drawn in a case: all of its remaining datasets. The result may outlive the
  /// trace.
  std::shared_ptr<const compress::RecordedDraws> recorded(const std::string& name) const;

 private:
  struct File;
  void read_compact();
  void read_losses(const std::string& place, Index columns);
  void read_tensors();
  std::string gradients_of(const std::string& name) const;

  std::unique_ptr<File> file_;
  Index steps_ = 0, workers_ = 0, parameters_ = 0;
  bool compact_ = false;
  std::vector<Index> tensor_sizes_;
  std::vector<compress::Tensor> tensors_;
  std::vector<float> x0_;
};

/// Writes the parameters of a replay: params float32 [steps, parameters] of worker 0 and, if workers have their own
/// parameters, params_all_workers float32 [workers, steps, parameters].
class TraceWriter {
 public:
  /// Creates the file. worker_rows: number of workers with their own parameters, which are then recorded for `steps`
  /// steps; 0 if workers share parameters. Throws ConfigError if the file exists (and overwrite is false) or cannot be
  /// created.
  TraceWriter(const std::string& path, Index parameters, bool overwrite, Index worker_rows = 0, Index steps = 0);
  /// Removes what was written, unless close() was called.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Writes one step. parameters: one row, or one row for each worker if workers have their own.
  void write_step(Index step, const std::vector<float>& parameters);
  /// Closes the file, reads it back and moves it to its place; until then it is PATH.part, and an existing file is
  /// unchanged. Throws IoError if writing fails.
  void close();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace onebit::sim
