#include "device/device.hpp"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "device/base/error.hpp"
#include "device/cpu/memory.hpp"
#include "device/cuda/cuda.hpp"
#include "device/plan/memory.hpp"

namespace onebit::device {
namespace {

constexpr int kMostDevices = 64;

int threads_of(int asked) {
  if (asked < 0)
    throw ConfigError("number of threads is negative", "threads " + std::to_string(asked),
                      "0 means OMP_NUM_THREADS, or else one per core");
  return asked == 0 ? omp_get_max_threads() : asked;
}

[[noreturn]] void refuse(const std::string& text) {
  throw ConfigError("unknown device", text, "examples are cpu, cpu:2, debug and cuda:0,1; see 'onebit list devices'");
}

int parse_number(const std::string& digits, const std::string& text) {
  int value = -1;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) refuse(text);
  return value;
}

std::vector<int> parse_ordinals(const std::string& list, const std::string& text) {
  std::vector<int> ordinals;
  std::stringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) ordinals.push_back(parse_number(part, text));
  if (ordinals.empty() || list.back() == ',') refuse(text);
  return ordinals;
}

/// Makes `count` logical devices that share the threads; each gets at least one thread.
std::vector<Device> split_cpu(const std::string& text, bool debug, int count, int threads) {
  if (count < 1 || count > kMostDevices) refuse(text);
  const int all = threads_of(threads);
  std::vector<Device> devices;
  for (int d = 0; d < count; ++d) {
    const int share = std::max(1, all * (d + 1) / count - all * d / count);
    devices.push_back(debug ? Device::debug(share) : Device::cpu(share));
  }
  return devices;
}

}  // namespace

Device Device::cpu(int threads) {
  const auto memory = std::make_shared<cpu::HostMemory>();
  return Device("cpu", cpu::Queue(threads_of(threads), memory), memory);
}

Device Device::debug(int threads) {
  const auto memory = std::make_shared<debug::GuardedMemory>();
  return Device("debug", cpu::Queue(threads_of(threads), memory), memory);
}

Device Device::cuda(int ordinal) {
#if defined(ONEBIT_CUDA)
  cuda::Queue queue = cuda::open(ordinal);
  const auto memory = cuda::make_memory(queue);
  return Device("cuda:" + std::to_string(ordinal), std::move(queue), memory);
#else
  throw NotCompiled("this build has no CUDA backend", "cuda:" + std::to_string(ordinal),
                    "configure with -DONEBIT_CUDA=ON where nvcc is installed");
#endif
}

Device Device::plan() const {
  const auto memory = std::make_shared<plan::PlanMemory>();
  return Device(name_, cpu::Queue(threads(), memory), memory).with_precision(precision()).with_recordings(records_);
}

bool Device::plans() const {
  return dynamic_cast<const plan::PlanMemory*>(memory_.get()) != nullptr;
}

Device Device::with_precision(Precision precision) const {
  Device other = *this;
  std::visit([precision](auto& queue) { queue.set_precision(precision); }, other.queue_);
  return other;
}

Precision Device::precision() const {
  return run([](const auto& queue) { return queue.precision(); });
}

Device Device::with_recordings(bool allowed) const {
  Device other = *this;
  other.records_ = allowed;
  return other;
}

std::shared_ptr<const Recording> Device::record(const std::function<void()>& work) const {
  if (auto* memory = dynamic_cast<plan::PlanMemory*>(memory_.get())) return memory->record(work);
  return run([&](const auto& queue) { return queue.record(work); });
}

int Device::threads() const {
  const auto* queue = std::get_if<cpu::Queue>(&queue_);
  return queue != nullptr ? queue->threads() : 1;
}

std::vector<Device> parse_devices(const std::string& text, int threads) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (colon != std::string::npos && rest.empty()) refuse(text);
  if (kind == "cpu" || kind == "debug") {
    return split_cpu(text, kind == "debug", rest.empty() ? 1 : parse_number(rest, text), threads);
  }
  if (kind != "cuda") refuse(text);
  std::vector<Device> devices;
  for (const int ordinal : parse_ordinals(rest.empty() ? "0" : rest, text)) devices.push_back(Device::cuda(ordinal));
  return devices;
}

std::vector<std::pair<std::string, std::string>> list_devices() {
  const std::string threads = std::to_string(omp_get_max_threads());
  std::vector<std::pair<std::string, std::string>> rows = {
      {"cpu", "OpenMP, " + threads + " threads; cpu:2 splits it into two logical devices"},
      {"debug", "the CPU with separate, poisoned device memory, which finds missing transfers"},
  };
  for (const auto& row : cuda::list()) rows.push_back(row);
  return rows;
}

}  // namespace onebit::device
