#pragma once
// Catch2 2.13 (Debian 12) and 3.x (newer systems) behind one include, and skips that are shown as skips.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace onebit::tests {

/// Records that the running test case needs `capability`, which is absent. Where ONEBIT_REQUIRE names the capability,
/// the test fails instead: what CI installs must be there.
void report_skip(const std::string& capability, const std::string& reason);

/// Folder with golden/ and data/: environment variable ONEBIT_SHARED, otherwise the CMake cache variable of that name.
std::string shared_path(const std::string& relative);

/// A file of the source tree.
std::string source_path(const std::string& relative);

}  // namespace onebit::tests

/// Leaves the test case, shown as skipped, when `available` is false.
#define ONEBIT_SKIP_UNLESS(available, capability, reason)   \
  do {                                                      \
    if (!(available)) {                                     \
      ::onebit::tests::report_skip((capability), (reason)); \
      return;                                               \
    }                                                       \
  } while (false)
