#include "experiments/sweep/definition.hpp"
#include "experiments/sweep/points.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// The definition of a sweep as its folder keeps it: read, written, read again, and made into points.
ONEBIT_FUZZ(sweep, input) {
  using namespace onebit::experiments;
  static fuzz::ScratchFile file, copy;
  const std::string_view given(reinterpret_cast<const char*>(input.rest().data()), input.rest().size());
  if (given.find("config") != std::string_view::npos || given.find("preset") != std::string_view::npos) return;
  file.assign(input.rest());
  const SweepDefinition definition = definition_of(sweep_options({"--config", file.path()}));
  const std::string text = text_of(definition);
  copy.assign({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  try {
    fuzz::require(text_of(definition_of(sweep_options({"--config", copy.path()}))) == text);
  } catch (const ConfigError&) {
    fuzz::require(false);  // it refused its own text
  }
  const auto unknown = [](const std::string&) { return std::optional<double>(); };
  for (const Point& point : points_of({definition}, {}, unknown)) fuzz::require(point.name.size() == 16);
}
