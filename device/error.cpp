#include "device/error.hpp"

namespace onebit {
namespace {

std::string one_line(const std::string& what, const std::string& where, const std::string& hint) {
  std::string text = what;
  if (!where.empty()) text += " (" + where + ")";
  if (!hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

Error::Error(const std::string& what, const std::string& where, const std::string& hint)
    : std::runtime_error(one_line(what, where, hint)) {}

}  // namespace onebit
