#include "tests/catch.hpp"

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace onebit::tests {
namespace {

bool required(const std::string& capability) {
  const char* list = std::getenv("ONEBIT_REQUIRE");
  std::stringstream names(list ? list : "");
  for (std::string name; std::getline(names, name, ',');) {
    if (name == capability) return true;
  }
  return false;
}

}  // namespace

void report_skip(const std::string& capability, const std::string& reason) {
  if (required(capability)) FAIL("ONEBIT_REQUIRE names " << capability << ", but: " << reason);
  std::cout << "ONEBIT-SKIPPED: " << reason << std::endl;
  SUCCEED("skipped");
}

std::string shared_path(const std::string& relative) {
  const char* environment = std::getenv("ONEBIT_SHARED");
  return std::string(environment && *environment ? environment : ONEBIT_SHARED_DEFAULT) + "/" + relative;
}

std::string source_path(const std::string& relative) {
  const char* environment = std::getenv("ONEBIT_SOURCE_DIR");
  return std::string(environment && *environment ? environment : ONEBIT_SOURCE_DIR) + "/" + relative;
}

}  // namespace onebit::tests
