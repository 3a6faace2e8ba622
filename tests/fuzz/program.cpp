// The program: libFuzzer with all readers. Its argument --reader=NAME, which libFuzzer ignores but passes on to the
// processes that it starts, chooses one of them.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/fuzz.hpp"

namespace onebit::fuzz {
namespace {

struct Reader {
  std::string_view name;
  Harness harness;
};

std::vector<Reader>& readers() {
  static std::vector<Reader> all;
  return all;
}

Harness chosen = nullptr;

void choose(std::span<char*> arguments) {
  constexpr std::string_view option = "--reader=";
  for (const std::string_view argument : arguments) {
    if (!argument.starts_with(option)) continue;
    const auto reader = std::ranges::find(readers(), argument.substr(option.size()), &Reader::name);
    if (reader != readers().end()) chosen = reader->harness;
  }
  if (chosen != nullptr) return;
  std::fprintf(stderr, "error: --reader=NAME is needed; NAME is one of");
  for (const Reader& reader : readers()) std::fprintf(stderr, " %s", reader.name.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

void read(std::span<const std::uint8_t> bytes) {
  try {
    chosen(Input(bytes.data(), bytes.size()));
  } catch (const ConfigError& error) {
    require(std::string(error.what()).find('\n') == std::string::npos);
  }
}

}  // namespace

bool add_reader(const char* name, Harness harness) {
  readers().push_back({name, harness});
  return true;
}

}  // namespace onebit::fuzz

/// Reads an empty input, so that what a harness makes once, such as a log, is made before any input is timed.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  onebit::fuzz::choose({*argv, static_cast<std::size_t>(*argc)});
  onebit::fuzz::read({});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onebit::fuzz::read({data, size});
  return 0;
}
