#pragma once
// The worker program of one device, in the words of docs/external-model.md.

#include <memory>

#include "sim/models/external_layout.hpp"
#include "sim/models/external_memory.hpp"
#include "sim/models/external_process.hpp"

namespace onebit::sim {

class ExternalProgram {
 public:
  /// Starts the command and asks for its layout. Throws ConfigError where it does not start, ends, hangs or answers
  /// something else.
  explicit ExternalProgram(ExternalSpec spec);

  const ExternalLayout& layout() const { return layout_; }
  Index parameters() const { return layout_.tensors.back().offset + layout_.tensors.back().size; }

  /// Throws ConfigError, also where the program gives none.
  std::vector<float> initial_weights(std::uint32_t seed);

  /// Makes room for a request and copies the batch there. Weights are the caller's to write.
  void load(const Batch& batch, Index weight_rows, bool with_gradients);
  std::span<float> weights() const { return view<float>(arrays_.weights); }      ///< [rows][parameters]
  std::span<float> gradients() const { return view<float>(arrays_.gradients); }  ///< [workers][parameters]
  std::span<double> losses() const { return view<double>(arrays_.losses); }      ///< [workers]

  /// Each worker's gradient and loss of the batch that was loaded; NaN where the program writes none. Throws
  /// WorkerError.
  void compute(const Batch& batch);
  /// Of the batch that was loaded. Throws WorkerError.
  Evaluation evaluate(const Batch& batch);

 private:
  template <class T>
  std::span<T> view(const ExternalArrays::Array& array) const {
    return memory_.at<T>(array.offset, array.count);
  }
  ExternalLayout ask_layout();
  void reserve(const ExternalArrays& arrays);
  std::string ask(const std::string& request);
  void ask_done(const std::string& request);
  [[noreturn]] void malformed(const std::string& answer, const std::string& wanted, const std::string& request) const;

  ExternalSpec spec_;
  ExternalProcess process_;
  SharedMemory memory_;
  ExternalArrays arrays_{0, 0};
  Index weight_rows_ = 1;
  ExternalLayout layout_;
};

/// The layout of a command's program. It is started once in this process: a run's plan makes its models many times. The
/// program then waits for the first take_program. Throws what ExternalProgram throws.
ExternalLayout external_layout(const ExternalSpec& spec);

/// A program that has computed nothing yet. Throws ConfigError, also where its layout is another than before.
std::unique_ptr<ExternalProgram> take_program(const ExternalSpec& spec);

/// Ends programs that only told their layout, which stays known.
void end_idle_programs();

}  // namespace onebit::sim
