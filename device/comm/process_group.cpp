#include "device/comm/process_group.hpp"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "device/comm/mpi/process_group.hpp"

namespace onebit::device {
namespace {

/// Reads a number from the environment; returns -1 if there is none.
Index number_in(const char* variable) {
  const char* text = std::getenv(variable);
  Index value = -1;
  if (text == nullptr) return value;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end ? value : -1;
}

class SingleProcess final : public ProcessGroup {
 public:
  Index rank() const override { return 0; }
  Index size() const override { return 1; }
  Index hosts() const override { return 1; }
  Index neighbours() const override { return 1; }
  int threads() const override { return omp_get_max_threads(); }
  std::shared_ptr<Communicator> communicator() override { return solo_communicator(); }
  void run(const std::function<void()>& work) override { work(); }
  bool any(bool own) override { return own; }
  void all_reduce(std::span<float>) override {}
  void all_to_all(std::span<const float> to, std::span<float> from) override { std::ranges::copy(to, from.begin()); }
  void all_gather(std::span<const float> own, std::span<float> all) override { std::ranges::copy(own, all.begin()); }
};

}  // namespace

MpiEnvironment mpi_environment() {
  constexpr std::pair<const char*, const char*> kinds[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
      {"PMI_RANK", "PMI_SIZE"},                          // MPICH and its derivatives
  };
  for (const auto& [rank, size] : kinds) {
    if (number_in(size) > 1 && number_in(rank) >= 0) return {number_in(rank), number_in(size)};
  }
  return {};
}

std::shared_ptr<ProcessGroup> single_process() {
  return std::make_shared<SingleProcess>();
}

const std::shared_ptr<ProcessGroup>& processes() {
  static const std::shared_ptr<ProcessGroup> joined =
      mpi_environment().size > 1 ? mpi::join(mpi_environment()) : single_process();
  return joined;
}

}  // namespace onebit::device
