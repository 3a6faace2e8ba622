#include "experiments/options/parse_error.hpp"

namespace onebit::experiments {

namespace po = boost::program_options;

std::string reason_of(const po::error& error) {
  const auto* syntax = dynamic_cast<const po::invalid_syntax*>(&error);
  if (syntax == nullptr) return "the options cannot be parsed";
  switch (syntax->kind()) {
    case po::invalid_syntax::unrecognized_line:
      return "line is not understood: " + syntax->tokens();
    case po::invalid_syntax::missing_parameter:
    case po::invalid_syntax::empty_adjacent_parameter:
      return "no value for option " + syntax->tokens();
    case po::invalid_syntax::extra_parameter:
      return "no value is allowed for option " + syntax->tokens();
    default:
      return "not understood: " + syntax->tokens();
  }
}

}  // namespace onebit::experiments
