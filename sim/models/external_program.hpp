#pragma once
// The worker program of one device. docs/external-model.md describes the protocol.

#include <memory>

#include "sim/models/external_layout.hpp"
#include "sim/models/external_memory.hpp"
#include "sim/models/external_process.hpp"

namespace onebit::sim {

class ExternalProgram {
 public:
  /// Starts the command and asks for its layout. Throws ConfigError if it does not start, ends, hangs or gives an
  /// invalid answer; IoError if the system cannot create a process.
  explicit ExternalProgram(ExternalSpec spec);

  const ExternalLayout& layout() const { return layout_; }
  Index parameters() const { return compress::total_size(layout_.tensors); }

  /// Asks for the initial weights. Throws ConfigError if the program fails or has no initial weights.
  std::vector<float> initial_weights(std::uint32_t seed);

  /// Makes room for a request and copies the batch there. The caller writes the weights.
  void load(const Batch& batch, Index weight_rows, bool with_gradients);
  std::span<float> weights() const {
    return view<float>(arrays_.weights);
  }  ///< weights of the request, [rows][parameters]
  std::span<float> gradients() const {
    return view<float>(arrays_.gradients);
  }  ///< gradients of the request, [workers][parameters]
  std::span<double> losses() const { return view<double>(arrays_.losses); }  ///< losses of the request, [workers]

  /// Computes each worker's gradient and loss on the loaded batch; NaN where the program writes none. Throws
  /// WorkerError.
  void compute(const Batch& batch);
  /// Evaluates the loaded batch. Throws WorkerError.
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

/// Returns the layout of a command's program. The program is started only once in this process, because planning a run
/// makes its models many times. The program then waits for the first take_program. Throws what ExternalProgram throws.
ExternalLayout external_layout(const ExternalSpec& spec);

/// Returns a program that has not computed anything yet. Throws what external_layout throws, and ConfigError if its
/// layout has changed.
std::unique_ptr<ExternalProgram> take_program(const ExternalSpec& spec);

/// Ends the programs that have so far only reported their layouts and have not yet been taken (take_program). The
/// layouts stay known.
void end_idle_programs();

}  // namespace onebit::sim
