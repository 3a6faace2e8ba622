#include "sim/layers/parameters.hpp"

#include "device/math/philox.hpp"

namespace onebit::sim {

Index Parameters::add_normal(const std::string& name, Index rows, Index columns, double deviation) {
  const Index offset = count();
  tensors_.push_back({name, rows * columns, rows});
  starts_.push_back({deviation, 0});
  return offset;
}

Index Parameters::add_constant(const std::string& name, Index size, double value) {
  const Index offset = count();
  tensors_.push_back({name, size});
  starts_.push_back({0, value});
  return offset;
}

std::vector<float> Parameters::initial(std::uint32_t seed) const {
  std::vector<float> weights(static_cast<std::size_t>(count()));
  const device::RandomKey key{seed, device::Purpose::initialization};
  const std::vector<Range> ranges = compress::ranges_of(tensors_);
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    const auto [deviation, value] = starts_[t];
    for (Index i = ranges[t].first; i < ranges[t].end(); ++i) {
      const double draw = deviation == 0 ? 0.0 : static_cast<double>(device::normal(key, {.element = i}));
      weights[static_cast<std::size_t>(i)] = static_cast<float>(value + deviation * draw);
    }
  }
  return weights;
}

}  // namespace onebit::sim
