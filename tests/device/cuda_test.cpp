// Where there is a GPU, every test over backends() runs on it too. This one says whether there was.

#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::tests;

TEST_CASE("a GPU is among the backends under test") {
  const bool found = backends().back() == "cuda:0";
  ONEBIT_SKIP_UNLESS(found, "cuda", device::list_devices().back().second);
  CHECK(device_of("cuda:0").name() == "cuda:0");
}
