#include "device/cuda/context.cuh"

#include <cmath>
#include <string>

#include "device/base/error.hpp"
#include "device/cuda/cuda.hpp"

namespace onebit::device::cuda {
namespace {

constexpr int kOldestMajor = 8;
constexpr const char* kOldest = "8.0";

std::string name_of(int ordinal) {
  return "cuda:" + std::to_string(ordinal);
}

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string capability(const cudaDeviceProp& gpu) {
  return std::to_string(gpu.major) + "." + std::to_string(gpu.minor);
}

/// The number of GPUs that CUDA shows to this program, or the reason why it shows none.
struct Inventory {
  int count = 0;
  std::string why_none;
};

Inventory take_inventory() {
  Inventory found;
  cudaError_t status = cudaGetDeviceCount(&found.count);
  if (status == cudaSuccess && found.count > 0) return found;
  ignore(status);
  if (status == cudaSuccess) status = cudaErrorNoDevice;
  found = {.count = 0, .why_none = cudaGetErrorString(status)};
  int driver = 0;  // stays 0 if no driver is installed
  if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess) {
    found.why_none = driver == 0 ? "no CUDA driver is installed"
                                 : "the driver supports CUDA " + version(driver) + ", but this build needs CUDA " +
                                       version(CUDART_VERSION);
  }
  return found;
}

std::string describe(int ordinal) {
  cudaDeviceProp gpu{};
  const cudaError_t status = cudaGetDeviceProperties(&gpu, ordinal);
  if (status != cudaSuccess) {
    ignore(status);
    return std::string("unusable: ") + cudaGetErrorString(status);
  }
  const long long gigabytes = std::llround(static_cast<double>(gpu.totalGlobalMem) / 1e9);
  const std::string row =
      std::string(gpu.name) + ", " + std::to_string(gigabytes) + " GB, compute capability " + capability(gpu);
  return gpu.major >= kOldestMajor ? row : row + ": too old, needs " + kOldest;
}

void require_gpu(int ordinal) {
  const Inventory found = take_inventory();
  if (found.count == 0) throw ConfigError("no GPU: " + found.why_none, name_of(ordinal), "see 'onebit list devices'");
  if (ordinal < 0 || ordinal >= found.count) {
    throw ConfigError("no such GPU: this machine has " + std::to_string(found.count), name_of(ordinal),
                      "see 'onebit list devices'");
  }
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, ordinal), "cudaGetDeviceProperties");
  if (gpu.major >= kOldestMajor) return;
  throw ConfigError("GPU is too old: compute capability " + capability(gpu),
                    name_of(ordinal) + ", " + std::string(gpu.name),
                    std::string("onebit needs ") + kOldest + " or later");
}

}  // namespace

TimedEvents::~TimedEvents() {
  for (const cudaEvent_t event : free_) ignore(cudaEventDestroy(event));
}

cudaEvent_t TimedEvents::take() {
  if (!free_.empty()) {
    const cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }
  free_.reserve(++made_);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  return event;
}

Context::Context(int gpu) : ordinal_(gpu) {
  make_current();
  check(cudaStreamCreateWithFlags(stream_.out(), cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cuda::blas().create(blas_.out()), "cublasCreate");
  check(cuda::blas().set_stream(blas_.get(), stream()), "cublasSetStream");
}

Context::~Context() {
  ignore(cudaSetDevice(ordinal_));
  ignore(cudaStreamSynchronize(stream()));  // the stream may still read the staging memory
  release_workspace();
  if (blas_workspace_ != nullptr) ignore(cudaFreeAsync(blas_workspace_, stream()));
}

void Context::make_current() const {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
}

/// The first call gives cuBLAS a workspace from our own memory; otherwise cuBLAS would allocate one for every
/// recording. The size is cuBLAS's default according to its manual.
cublasHandle_t Context::blas() {
  if (blas_workspace_ != nullptr) return blas_.get();
  require_memory();
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, ordinal_), "cudaGetDeviceProperties");
  const Index bytes = Index{gpu.major >= 9 ? 32 : 4} << 20;
  blas_workspace_ = allocate(bytes);
  check(cuda::blas().set_workspace(blas_.get(), blas_workspace_, static_cast<std::size_t>(bytes)),
        "cublasSetWorkspace");
  return blas_.get();
}

/// Called before allocating memory that is kept. Throws Error while launches are recorded.
void Context::require_memory() const {
  if (recording_) throw Error("memory that is kept cannot be allocated while launches are recorded", name_of(ordinal_));
  make_current();
}

/// Waits for the stream and returns unused memory to the system. An allocation may have failed only because memory was
/// yet to be freed in the stream's order, or because the free memory is in pieces that are too small.
void Context::return_unused_memory() const {
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, ordinal_), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
  check(cudaDeviceGraphMemTrim(ordinal_), "cudaDeviceGraphMemTrim");
}

void* Context::allocate(Index bytes) const {
  void* memory = nullptr;
  with_memory("cudaMallocAsync", [&] { return cudaMallocAsync(&memory, static_cast<std::size_t>(bytes), stream()); });
  return memory;
}

void* Context::workspace(Index bytes) {
  if (bytes <= workspace_bytes_) return workspace_;
  require_memory();
  release_workspace();
  workspace_ = allocate(bytes);
  workspace_bytes_ = bytes;
  return workspace_;
}

/// Kernels launched with the workspace may still run, so the stream frees it after them.
void Context::release_workspace() noexcept {
  if (workspace_bytes_ > 0) ignore(cudaFreeAsync(workspace_, stream()));
  workspace_ = nullptr;
  workspace_bytes_ = 0;
  ++workspaces_;
}

Queue open(int ordinal) {
  require_gpu(ordinal);
  return Queue(std::make_shared<Context>(ordinal));
}

void Queue::synchronize() const {
  context_->make_current();
  check(cudaStreamSynchronize(context_->stream()), "cudaStreamSynchronize");
}

namespace {

class CudaEvent final : public Event {
 public:
  /// The context's GPU must be current.
  explicit CudaEvent(std::shared_ptr<Context> context)
      : context_(std::move(context)), event_(context_->events().take()) {}
  ~CudaEvent() override { context_->events().give_back(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record() const { check(cudaEventRecord(event_, context_->stream()), "cudaEventRecord"); }

  void delay(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent"); }

  double since(const Event& earlier) const override {
    context_->make_current();
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    float milliseconds = 0;
    const auto& begin = dynamic_cast<const CudaEvent&>(earlier);
    check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

 private:
  std::shared_ptr<Context> context_;
  cudaEvent_t event_;
};

}  // namespace

std::shared_ptr<const Event> Queue::record_event() const {
  context_->make_current();
  auto event = std::make_shared<CudaEvent>(context_);
  event->record();
  return event;
}

void Queue::start_after(const Event* event) const {
  if (event == nullptr) return;
  context_->make_current();
  dynamic_cast<const CudaEvent&>(*event).delay(context_->stream());
}

std::vector<std::pair<std::string, std::string>> list() {
  const Inventory found = take_inventory();
  if (found.count == 0) return {{"cuda", "no GPU: " + found.why_none}};
  std::vector<std::pair<std::string, std::string>> rows;
  for (int ordinal = 0; ordinal < found.count; ++ordinal) rows.emplace_back(name_of(ordinal), describe(ordinal));
  return rows;
}

}  // namespace onebit::device::cuda
