#pragma once
// What a worker program says of its model, and the words of its answers.

#include <map>
#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace onebit::sim {

/// The command and what its program is told at the start.
struct ExternalSpec {
  std::string command;
  double timeout = 60;  ///< seconds that an answer may take
  std::string facts;    ///< of the data and the run, " features=784 ..."
};

/// Throws ConfigError naming the option that is missing or out of range.
ExternalSpec external_spec(const ModelConfig& config, const DataSource& data);

struct ExternalLayout {
  std::vector<TensorInfo> tensors;
  bool initial = false;  ///< the program gives initial weights
  friend bool operator==(const ExternalLayout&, const ExternalLayout&) = default;
};

/// A line as blanks divide it.
std::vector<std::string> words_of(const std::string& line);

/// The values of "name=value" words from the second word on; others are left out.
std::map<std::string, std::string> values_of(const std::string& line);

/// Adds the tensor of a line "tensor NAME SIZE...". Empty, or what is wrong with the line.
std::string add_tensor(const std::string& line, std::vector<TensorInfo>& tensors);

/// The sums of a line "ok loss=L correct=C examples=N". False: they are not there, or cannot be.
bool read_evaluation(const std::string& line, Evaluation& evaluation);

}  // namespace onebit::sim
