#include "sim/models/external_layout.hpp"

#include <charconv>
#include <cmath>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

constexpr Index kLargestModel = Index{1} << 40;
constexpr std::size_t kLongestName = 1024, kMostTensors = 65'536;

template <class Number>
bool read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ExternalSpec external_spec(const ModelConfig& config, const DataSource& data) {
  if (config.command.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw ConfigError("no worker program", "model external", "give --model.command 'python3 worker.py'");
  }
  if (!(config.timeout > 0 && config.timeout <= 1e6)) {
    throw ConfigError("option out of range", "model.timeout " + shortest(config.timeout),
                      "seconds, above 0 and at most 1000000");
  }
  const ImageShape& image = data.image();
  std::ostringstream facts;
  facts << " workers=" << config.workers << " data=" << data.name() << " features=" << data.feature_count()
        << " channels=" << image.channels << " height=" << image.height << " width=" << image.width
        << " context=" << data.context() << " vocabulary=" << data.vocabulary() << " targets=" << data.targets()
        << " classes=" << data.classes();
  return {config.command, config.timeout, facts.str()};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::map<std::string, std::string> values_of(const std::string& line) {
  std::map<std::string, std::string> values;
  const std::vector<std::string> words = words_of(line);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals != std::string::npos) values[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return values;
}

std::string TensorList::add(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 2 || words[0] != "tensor") return "it is not a tensor line";
  compress::Tensor tensor{.name = words[1], .size = 1};
  if (tensor.name.size() > kLongestName) return "the name is too long";
  if (names_.contains(tensor.name)) return "two tensors have the same name";
  if (tensors_.size() == kMostTensors) return "there are more than 65,536 tensors";
  for (std::size_t i = 2; i < words.size(); ++i) {
    Index size = 0;
    if (!read_number(words[i], size) || size < 1) return "a size is not a number above 0";
    if (size > kLargestModel / tensor.size) return "the model is implausibly large";
    tensor.size *= size;
    if (i == 2 && words.size() > 3) tensor.rows = size;
  }
  if (tensor.size > kLargestModel - parameters_) return "the model is implausibly large";
  parameters_ += tensor.size;
  names_.insert(tensor.name);
  tensors_.push_back(tensor);
  return "";
}

bool read_evaluation(const std::string& line, Evaluation& evaluation) {
  std::map<std::string, std::string> values = values_of(line);
  return read_number(values["loss"], evaluation.loss) && read_number(values["correct"], evaluation.correct) &&
         read_number(values["examples"], evaluation.examples) && evaluation.examples >= 1 && evaluation.correct >= 0 &&
         evaluation.correct <= evaluation.examples;
}

}  // namespace onebit::sim
