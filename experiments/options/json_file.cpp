#include "experiments/options/json_file.hpp"

#define BOOST_BIND_GLOBAL_PLACEHOLDERS  // otherwise Boost prints a note about its old global placeholders
#include <boost/property_tree/json_parser.hpp>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"

namespace onebit::experiments {
namespace {

constexpr int kDeepest = 100;  // deepest allowed nesting of objects and lists

/// Limits the nesting of JSON: the parser is recursive, so the file determines how deep the stack grows.
void check_depth(const std::string& text, const std::string& path) {
  int depth = 0, line = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) {
      throw ConfigError("JSON nested more than " + std::to_string(kDeepest) + " levels deep",
                        path + " line " + std::to_string(line));
    }
  }
}

}  // namespace

JsonTree read_json_file(const std::string& path, const std::string& what, const std::string& hint) {
  const std::string text = files::read_text(path, what, hint);
  check_depth(text, path);
  std::istringstream stream(text);
  try {
    JsonTree root;
    boost::property_tree::read_json(stream, root);
    return root;
  } catch (const boost::property_tree::json_parser_error& error) {
    throw ConfigError("malformed JSON", path + " line " + std::to_string(error.line()), error.message());
  }
}

}  // namespace onebit::experiments
