#pragma once
// DeepSpeed's optimizers and their parameters: the defaults, and the options of this program that they map to.

#include <span>
#include <string>
#include <vector>

namespace onebit::experiments::deepspeed {

/// Throws ConfigError if the text, found at `place`, is not of the required kind.
using Check = void (*)(const std::string& place, const std::string& text);

/// A parameter that maps to one option of this program, or to one option for each item of its list.
struct Parameter {
  const char* key;
  std::vector<std::string> options;
  std::vector<std::string> fallback;  ///< DeepSpeed's default for each option
  Check check;
  const char* prefix = "";  ///< prefix of the option's value
  bool automatic = false;   ///< whether "auto" means the same as leaving the key out
};

/// A key that has no option in this program, with the reason.
struct Unused {
  const char* key;
  const char* reason;
  const char* only = nullptr;  ///< the only supported value; null: any
};

struct Type {
  const char* name;  ///< DeepSpeed's name, compared in lower case
  const char* optimizer;
  const char* semantics;
  std::vector<Parameter> parameters;
  std::vector<Unused> unused;
};

const std::vector<Type>& types();

/// Returns the keys outside the optimizer section that become options.
const std::vector<Parameter>& parameters_beside();

/// Returns the ignored keys outside the optimizer section for which there is a specific reason.
std::span<const Unused> unused_beside();

/// Reason for ignoring every other key.
inline constexpr const char* kElsewhere = "does not concern the optimizer or the exchange";

}  // namespace onebit::experiments::deepspeed
