#include "sim/data/features/libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/data/files/input_file.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

constexpr Index file_limit = Index{1} << 33;
constexpr std::size_t most_classes = 65536;
constexpr std::string_view blanks = " \t";

/// One line of a file, taken word by word.
class Line {
 public:
  Line(const Bytes& file, std::string_view text, Index number) : file_(file), rest_(text), number_(number) {}

  /// Returns the next word; empty at the end.
  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(blanks));
    rest_.remove_prefix(word.size());
    return word;
  }

  /// Reads all of `text`, which is part of the line, as a finite float.
  double number(std::string_view text, const char* what) const {
    double value = 0;
    std::string_view digits = text;
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc() && stop == digits.data() + digits.size();
    if (!whole || !(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) refuse(what, text);
    return value;
  }

  /// Reads a feature's index, from 1 to libsvm_features.
  Index index(std::string_view text) const {
    Index value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) refuse("expected index:value, found", text);
    if (value < 1) refuse("indices start at 1, found", text);
    if (value > libsvm_features) refuse("the largest index is " + std::to_string(libsvm_features) + ", found", text);
    return value;
  }

  [[noreturn]] void refuse(const std::string& what, std::string_view text) const {
    const auto offset = static_cast<Index>(text.data() - file_.text().data());
    const std::string word = printable(text.substr(0, 32));
    file_.refuse("line " + std::to_string(number_) + ": " + what + " \"" + word + "\"", offset,
                 "a line is: label index:value index:value ...");
  }

 private:
  static std::string printable(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
      if (c < ' ' || c > '~') c = '?';
    }
    return result;
  }

  const Bytes& file_;
  std::string_view rest_;
  Index number_;
};

void parse_line(Line line, LibsvmExamples& examples) {
  const std::string_view label = line.next();
  if (label.empty()) return;
  examples.labels.push_back(line.number(label, "expected a finite label, found"));
  Index before = 0;
  for (std::string_view word = line.next(); !word.empty(); word = line.next()) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) line.refuse("expected index:value, found", word);
    const Index index = line.index(word.substr(0, colon));
    if (index <= before) line.refuse("indices must increase, found", word);
    examples.rows.columns.push_back(static_cast<std::uint32_t>(index - 1));
    examples.rows.values.push_back(
        static_cast<float>(line.number(word.substr(colon + 1), "expected a finite value, found")));
    before = index;
  }
  examples.rows.starts.push_back(static_cast<Index>(examples.rows.columns.size()));
  examples.features = std::max(examples.features, before);
}

/// Turns labels into classes, in ascending order of the labels. Returns the number of classes.
Index classify(std::span<const double> labels, std::vector<std::int32_t>& classes, const std::string& where) {
  std::vector<double> different(labels.begin(), labels.end());
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.size() > most_classes) {
    throw ConfigError(std::to_string(different.size()) + " different labels, but at most " +
                          std::to_string(most_classes) + " classes are possible",
                      where, "these look like labels of a regression; give data whose labels are classes");
  }
  for (const double label : labels) {
    const auto found = std::lower_bound(different.begin(), different.end(), label);
    classes.push_back(static_cast<std::int32_t>(found - different.begin()));
  }
  return static_cast<Index>(different.size());
}

void check_paths(const DataConfig& config) {
  if (config.paths.size() != 1) throw ConfigError("one LIBSVM file is needed", "--data.path", "give one file");
  if (config.test.size() > 1)
    throw ConfigError("only one LIBSVM test file can be given", "--data.test", "give one file");
  if (config.features < 0 || config.features > libsvm_features) {
    throw ConfigError("option out of range", "--data.features " + std::to_string(config.features),
                      "from 0 to " + std::to_string(libsvm_features));
  }
}

}  // namespace

Index parse_libsvm(const Bytes& bytes, LibsvmExamples& examples) {
  const std::string_view text = bytes.text();
  const std::size_t before = examples.labels.size();
  Index number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    parse_line(Line(bytes, line.substr(0, line.find('#')), ++number), examples);
  }
  return static_cast<Index>(examples.labels.size() - before);
}

std::unique_ptr<DataSource> make_libsvm(const DataConfig& config) {
  check_paths(config);
  LibsvmExamples read;
  DenseExamples examples;
  Fnv1a hash;
  const auto add = [&](const std::string& path) {
    const Bytes bytes = InputFile(path, "give a LIBSVM file with --data.path").load(config.mapping, file_limit);
    const Index count = parse_libsvm(bytes, read);
    if (count == 0) bytes.refuse("no examples", bytes.size());
    hash.add(bytes.data(), bytes.view().size());
    examples.facts.provenance.push_back(path + ": " + std::to_string(bytes.size()) + " bytes unpacked, " +
                                        std::to_string(count) + " examples");
    return count;
  };
  add(config.paths[0]);
  if (!config.test.empty()) examples.test = add(config.test[0]);
  examples.facts.name = "libsvm";
  examples.facts.features = std::max({Index{1}, read.features, config.features});
  examples.facts.classes = classify(read.labels, examples.labels, join(config.paths, ", "));
  examples.facts.hash = hash.hex();
  examples.features = sparse_rows(std::move(read.rows));
  examples.standardise = false;
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
