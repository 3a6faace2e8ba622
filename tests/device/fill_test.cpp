#include "device/math/fill.hpp"

#include "tests/catch.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

TEST_CASE("fill: element i is drawn for i, on every backend") {
  for (const std::string& backend : backends()) {
    const Device device = device_of(backend);
    for (const Index size : {0, 1, 31, 33, 4097}) {
      CAPTURE(backend, size);
      const std::vector<float> floats = random_floats(device, size, 5, -0.25f).to_host();
      REQUIRE(static_cast<Index>(floats.size()) == size);
      for (std::size_t i = 0; i < floats.size(); ++i) {
        const RandomCounter place{.element = static_cast<Index>(i)};
        const double drawn = (philox({5, Purpose::data}, place)[0] >> 8) * 0x1p-24;
        CHECK(floats[i] == Approx(-0.25 + 1.25 * drawn).margin(1e-6));
      }
    }
  }
}
