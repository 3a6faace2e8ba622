#pragma once
// What is known of DeepSpeed's optimizers and their parameters: its defaults, and the options here.

#include <span>
#include <string>
#include <vector>

namespace onebit::experiments::deepspeed {

/// Throws where the text, found at `place`, is not of the kind.
using Check = void (*)(const std::string& place, const std::string& text);

/// A parameter of an optimizer that has options here: one, or as many as its list has items.
struct Parameter {
  const char* key;
  std::vector<std::string> options;
  std::vector<std::string> fallback;  ///< DeepSpeed's defaults
  Check check;
  const char* prefix = "";  ///< of the option's value
  bool automatic = false;   ///< "auto" says the same as nothing
};

/// A key that has no option here, and why.
struct Unused {
  const char* key;
  const char* reason;
  const char* only = nullptr;  ///< the one value that can be honoured
};

struct Type {
  const char* name;  ///< DeepSpeed compares in lower case
  const char* optimizer;
  const char* semantics;
  std::vector<Parameter> parameters;
  std::vector<Unused> unused;
};

const std::vector<Type>& types();

/// Keys outside the optimizer section that become options.
const std::vector<Parameter>& parameters_beside();

/// Keys outside the optimizer section that a reader may take for part of it.
std::span<const Unused> unused_beside();

/// Why every other key is left out.
inline constexpr const char* kElsewhere = "has no part in the optimizer or the exchange";

}  // namespace onebit::experiments::deepspeed
