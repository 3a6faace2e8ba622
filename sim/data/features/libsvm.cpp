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
constexpr std::size_t longest_word = std::size_t{1} << 20;

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

/// Turns labels into classes, in ascending order of the labels. Returns the number of classes.
Index classify(std::span<const double> labels, std::vector<std::int32_t>& classes, const std::string& where) {
  std::vector<double> different(labels.begin(), labels.end());
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.size() > most_classes) {
    throw ConfigError(std::to_string(different.size()) + " different labels, but at most " +
                          std::to_string(most_classes) + " classes are possible",
                      where, "these look like regression labels; give data whose labels are classes");
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

LibsvmParser::LibsvmParser(std::string name, LibsvmExamples& examples)
    : name_(std::move(name)), examples_(examples), first_(static_cast<Index>(examples.labels.size())) {}

void LibsvmParser::feed(std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      end_line();
    } else if (c == '#') {
      end_word();
      in_comment_ = true;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (!in_comment_) {
      if (word_.size() == longest_word) refuse("a word of more than 1 MiB, which begins with", word_);
      word_ += c;
    }
    ++offset_;
  }
}

Index LibsvmParser::finish() {
  end_line();
  return static_cast<Index>(examples_.labels.size()) - first_;
}

void LibsvmParser::end_line() {
  if (word_.ends_with('\r')) {
    word_.pop_back();
    --offset_;
    end_word();
    ++offset_;
  }
  end_word();
  if (has_label_) examples_.rows.starts.push_back(static_cast<Index>(examples_.rows.columns.size()));
  examples_.features = std::max(examples_.features, before_);
  has_label_ = in_comment_ = false;
  before_ = 0;
  ++line_;
}

void LibsvmParser::end_word() {
  if (word_.empty()) return;
  if (has_label_) {
    add_value();
  } else {
    examples_.labels.push_back(number(word_, "expected a finite label, found"));
    has_label_ = true;
  }
  word_.clear();
}

void LibsvmParser::add_value() {
  const std::string_view word = word_;
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) refuse("expected index:value, found", word);
  const Index index = index_of(word.substr(0, colon));
  if (index <= before_) refuse("indices must increase, found", word);
  examples_.rows.columns.push_back(static_cast<std::uint32_t>(index - 1));
  examples_.rows.values.push_back(static_cast<float>(number(word.substr(colon + 1), "expected a finite value, found")));
  before_ = index;
}

double LibsvmParser::number(std::string_view text, const char* what) const {
  double value = 0;
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && stop == digits.data() + digits.size();
  if (!whole || !(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) refuse(what, text);
  return value;
}

Index LibsvmParser::index_of(std::string_view text) const {
  Index value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) refuse("expected index:value, found", text);
  if (value < 1) refuse("indices start at 1, found", text);
  if (value > libsvm_features) refuse("the largest index is " + std::to_string(libsvm_features) + ", found", text);
  return value;
}

void LibsvmParser::refuse(const std::string& what, std::string_view text) const {
  const Index place = offset_ - static_cast<Index>(word_.size()) + (text.data() - word_.data());
  throw ConfigError("line " + std::to_string(line_) + ": " + what + " \"" + printable(text.substr(0, 32)) + "\"",
                    name_ + ", offset " + std::to_string(place), "a line is: label index:value index:value ...");
}

std::unique_ptr<DataSource> make_libsvm(const DataConfig& config) {
  check_paths(config);
  LibsvmExamples read;
  DenseExamples examples;
  Fnv1a hash;
  const auto add = [&](const std::string& path) {
    LibsvmParser parser(path, read);
    Index size = 0;
    InputFile(path, "give a LIBSVM file with --data.path")
        .read(config.mapping, file_limit, [&](std::span<const std::uint8_t> piece) {
          parser.feed({reinterpret_cast<const char*>(piece.data()), piece.size()});
          hash.add(piece.data(), piece.size());
          size += static_cast<Index>(piece.size());
        });
    const Index count = parser.finish();
    if (count == 0)
      throw ConfigError("the file has no examples", path + ", offset " + std::to_string(size),
                        "a line is: label index:value index:value ...");
    examples.facts.provenance.push_back(path + ": " + std::to_string(size) + " bytes unpacked, " +
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
