// The environment variable ONEBIT_TEST_BACKENDS, which restricts tests to some backends.

#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit::tests;

TEST_CASE("tests run on the backends that a list names, and fail if one has no device") {
  using Names = std::vector<std::string>;
  const Names all = {"cpu", "debug", "cuda:0"};
  CHECK(with_backends(all, "") == all);
  CHECK(with_backends(all, "cuda") == Names{"cuda:0"});
  CHECK(with_backends(all, "cuda,cpu") == Names{"cpu", "cuda:0"});
  CHECK_THROWS_AS(with_backends({"cpu", "debug"}, "cuda"), std::runtime_error);
  CHECK_THROWS_AS(with_backends(all, "cpu,gpu"), std::runtime_error);
}
