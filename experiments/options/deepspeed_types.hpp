#pragma once
// DeepSpeed's optimizers and their parameters: their defaults, and the options here that they map to.

#include <span>
#include <string>
#include <vector>

namespace onebit::experiments::deepspeed {

/// Throws where the text, found at `place`, is not of the required kind.
using Check = void (*)(const std::string& place, const std::string& text);

/// An optimizer's parameter that maps to options here: to one, or to one for each item of its list.
struct Parameter {
  const char* key;
  std::vector<std::string> options;
  std::vector<std::string> fallback;  ///< DeepSpeed's defaults
  Check check;
  const char* prefix = "";  ///< prefix of the option's value
  bool automatic = false;   ///< "auto" is the same as leaving it out
};

/// A key that has no option here, and the reason.
struct Unused {
  const char* key;
  const char* reason;
  const char* only = nullptr;  ///< the only value that can be honoured
};

struct Type {
  const char* name;  ///< name, which DeepSpeed compares in lower case
  const char* optimizer;
  const char* semantics;
  std::vector<Parameter> parameters;
  std::vector<Unused> unused;
};

const std::vector<Type>& types();

/// Returns the keys outside the optimizer section that become options.
const std::vector<Parameter>& parameters_beside();

/// Returns the keys outside the optimizer section that a reader may take for part of it.
std::span<const Unused> unused_beside();

/// Reason why every other key is left out.
inline constexpr const char* kElsewhere = "has no part in the optimizer or the exchange";

}  // namespace onebit::experiments::deepspeed
