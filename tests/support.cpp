#include "tests/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tests/devices.hpp"

namespace onebit::tests {
namespace {

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::stringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

bool required(const std::string& capability) {
  const char* list = std::getenv("ONEBIT_REQUIRE");
  return std::ranges::count(names_in(list ? list : ""), capability) > 0;
}

}  // namespace

void report_skip(const std::string& capability, const std::string& reason) {
  if (required(capability)) FAIL("ONEBIT_REQUIRE names " << capability << ", but: " << reason);
  std::cout << "ONEBIT-SKIPPED: " << reason << std::endl;
  SUCCEED("skipped");
}

std::vector<std::string> with_backends(const std::vector<std::string>& devices, const std::string& list) {
  const std::vector<std::string> wanted = names_in(list);
  if (wanted.empty()) return devices;
  const auto backend_of = [](const std::string& device) { return device.substr(0, device.find(':')); };
  std::vector<std::string> chosen;
  for (const std::string& device : devices) {
    if (std::ranges::count(wanted, backend_of(device)) > 0) chosen.push_back(device);
  }
  for (const std::string& name : wanted) {
    if (std::ranges::count(chosen, name, backend_of) > 0) continue;
    throw std::runtime_error("ONEBIT_TEST_BACKENDS names " + name + ", but there is no such device");
  }
  return chosen;
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
