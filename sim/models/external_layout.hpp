#pragma once
// The layout of a worker program's model, and the parsing of the program's answers.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/model.hpp"

namespace onebit::sim {

/// The command, and the facts that are sent to its program at the start.
struct ExternalSpec {
  std::string command;
  double timeout = 60;  ///< seconds that an answer may take, with all its lines
  std::string facts;    ///< facts about the data and the run, " features=784 ..."
};

/// Makes the spec of a model. Throws ConfigError naming the option that is missing or out of range.
ExternalSpec external_spec(const ModelConfig& config, const DataSource& data);

struct ExternalLayout {
  std::vector<compress::Tensor> tensors;
  bool initial = false;  ///< whether the program has initial weights
  friend bool operator==(const ExternalLayout&, const ExternalLayout&) = default;
};

/// Splits a line at blanks.
std::vector<std::string> words_of(const std::string& line);

/// Returns the values of "name=value" words, starting with the second word; ignores other words.
std::map<std::string, std::string> values_of(const std::string& line);

/// The tensors of a layout, while their lines arrive: at most 65,536 tensors and 2^40 parameters.
class TensorList {
 public:
  /// Adds the tensor of a line "tensor NAME SIZE...". Returns what is wrong with the line; empty if nothing is.
  std::string add(const std::string& line);
  std::size_t count() const { return tensors_.size(); }
  std::vector<compress::Tensor> take() { return std::move(tensors_); }

 private:
  std::vector<compress::Tensor> tensors_;
  std::set<std::string> names_;
  Index parameters_ = 0;
};

/// Reads the sums of a line "ok loss=L correct=C examples=N". Returns false if they are missing or impossible.
bool read_evaluation(const std::string& line, Evaluation& evaluation);

}  // namespace onebit::sim
