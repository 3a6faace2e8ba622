// Planted faults: what goes wrong on a GPU, the emulated GPU must see.
#include <algorithm>
#include <functional>
#include <thread>

#include "device/base/error.hpp"
#include "device/cuda/grid.cuh"
#include "tests/catch.hpp"
#include "tests/device/faults.hpp"
#include "tests/devices.hpp"
#include "tests/emulator/stream.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

/// Writes numbers in the first block.
__global__ void write_number(int* out) {
  if (blockIdx.y == 0) out[threadIdx.x] = 5;
}

/// Block 0 writes its shared memory; the others copy theirs without having written it.
__global__ void forget_to_write(int* out) {
  __shared__ int shared[8];
  if (blockIdx.x == 0) shared[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[threadIdx.x];
}

/// Lets the lanes of a warp meet in two calls of the same kind.
__global__ void part_ways(int* out) {
  int mine = 0;
  if (threadIdx.x < 20) {
    mine = __shfl_xor_sync(0xFFFFFFFFu, 1, 1);
  } else {
    mine = __shfl_xor_sync(0xFFFFFFFFu, 2, 1);
  }
  out[threadIdx.x] = mine;
}

__global__ void wait_in_branches(int* out) {
  if (threadIdx.x == 0) {
    __syncthreads();
  } else {
    out[threadIdx.x] = __syncthreads_or(1);
  }
}

__global__ void forget_oneself(int* out) {
  out[threadIdx.x] = static_cast<int>(__ballot_sync(0xFFFFu, 1));
}

__global__ void read_beyond_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xFFFFu, 1, 16);
}

template <class Use>
void on_queue(const Device& device, const Use& use) {
  device.run([&](const auto& queue) {
    if constexpr (requires { queue.context(); }) use(queue);
  });
}

/// Starts a kernel on the device's stream.
template <class... Arguments>
void start(const Device& device, dim3 grid, dim3 block, void (*kernel)(Arguments...),
           std::type_identity_t<Arguments>... arguments) {
  on_queue(device, [&](const cuda::Queue& queue) {
    cuda::detail::launch(queue, grid, block, typeid(int), kernel, arguments...);
  });
}

cudaStream_t stream_of(const Device& device) {
  cudaStream_t stream = nullptr;
  on_queue(device, [&](const cuda::Queue& queue) { stream = queue.context().stream(); });
  return stream;
}

/// What a call returns while the stream records, and what the end of the recording returns.
struct Recorded {
  cudaError_t call, end;
  friend bool operator==(const Recorded&, const Recorded&) = default;
};

Recorded record(cudaStream_t stream, const std::function<cudaError_t()>& call) {
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  Recorded result{call(), cudaSuccess};
  cudaGraph_t graph = nullptr;
  result.end = cudaStreamEndCapture(stream, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  return result;
}

}  // namespace

TEST_CASE("emulated GPU: host code that touches its memory faults, kernels and copies do not") {
  const Device device = Device::cuda(0);
  auto buffer = on(device, std::vector<int>{1, 2, 3});
  device.synchronize();
  volatile int* data = buffer.data();
  CHECK(faults([&] { (void)data[1]; }));
  CHECK(faults([&] { data[1] = 5; }));
  CHECK_FALSE(faults([&] {
    start(device, 1, 3, write_number, buffer.data());
    device.synchronize();
  }));
  CHECK(buffer.to_host() == std::vector<int>{1, 2, 3});
}

TEST_CASE("emulated GPU: a kernel that touches another GPU's memory faults") {
  const Device device = Device::cuda(0), other = Device::cuda(1);
  auto theirs = on(other, std::vector<int>{1, 2, 3});
  other.synchronize();
  CHECK(faults([&] {
    start(device, 1, 3, write_number, theirs.data());
    device.synchronize();
  }));
}

TEST_CASE("emulated GPU: copies between what is not memory of the right kind are refused") {
  const Device device = Device::cuda(0), other = Device::cuda(1);
  auto buffer = on(device, std::vector<int>{1, 2, 3});
  const auto theirs = on(other, std::vector<int>{1, 2, 3});
  std::vector<int> host(4);
  Memory& memory = device.memory();
  CHECK_THROWS_AS(memory.download(host.data(), host.data() + 2, 8), Error);
  CHECK_THROWS_AS(memory.download(buffer.data(), buffer.data(), 8), Error);
  CHECK_THROWS_AS(memory.download(host.data(), theirs.data(), 12), Error);
  CHECK_THROWS_AS(memory.download(host.data(), buffer.data(), 16), Error);  // beyond the end
  CHECK_THROWS_AS(memory.upload(host.data(), host.data() + 2, 8), Error);
  CHECK_THROWS_AS(memory.fill(host.data(), 0, 8), Error);
  CHECK_NOTHROW(memory.download(host.data(), buffer.data(), 12));
  CHECK(host == std::vector<int>{1, 2, 3, 0});
}

TEST_CASE("emulated GPU: shared memory holds NaN when a block begins") {
  const Device device = Device::cuda(0);
  auto out = Buffer<int>::zeros(device, 24);
  for (int launch = 0; launch < 2; ++launch) {
    start(device, 3, 8, forget_to_write, out.data());
    std::vector<int> expected(24, -1);
    std::fill_n(expected.begin(), 8, 1);
    CHECK(out.to_host() == expected);
  }
}

TEST_CASE("emulated GPU: grids and blocks beyond CUDA's limits are refused") {
  const Device device = Device::cuda(0);
  auto out = Buffer<int>::zeros(device, 2);
  const auto refused = [&](dim3 grid, dim3 block) {
    CHECK_THROWS_WITH(start(device, grid, block, write_number, out.data()), Catch::Contains("invalid configuration"));
  };
  refused({1, 65536}, 1);
  refused({1, 1, 65536}, 1);
  refused({0x80000000u}, 1);
  refused({1, 65536, 65536}, 1);  // 2^32 blocks
  refused(0, 1);
  refused(1, 1025);
  refused(1, {1, 1, 65});
  refused(1, {32, 33});
  CHECK_NOTHROW(start(device, {1, 65535}, 2, write_number, out.data()));
  CHECK(out.to_host() == std::vector<int>{5, 5});
}

TEST_CASE("emulated GPU: threads that wait for each other in different calls are reported") {
  const Device device = Device::cuda(0);
  auto out = Buffer<int>::zeros(device, 64);
  const auto message = [&](unsigned threads, void (*kernel)(int*)) {
    return last_words([&] {
      start(device, 1, threads, kernel, out.data());
      device.synchronize();
    });
  };
  const auto two_calls = Catch::Contains("in different calls");
  CHECK_THAT(message(32, part_ways),
             two_calls && Catch::Contains("__shfl_xor_sync (") && Catch::Contains("emulator_faults_test.cpp:"));
  CHECK_THAT(message(64, wait_in_branches),
             two_calls && Catch::Contains("__syncthreads (") && Catch::Contains("__syncthreads_or ("));
  CHECK_THAT(message(32, forget_oneself), Catch::Contains("the mask does not name is in __ballot_sync"));
  CHECK_THAT(message(32, read_beyond_mask), Catch::Contains("reads a lane that the mask does not name"));
  CHECK(message(2, write_number).empty());
}

TEST_CASE("emulated GPU: a call that cannot be recorded makes the recording invalid") {
  const Device device = Device::cuda(0), other = Device::cuda(0);
  auto out = Buffer<int>::zeros(device, 2);
  const cudaStream_t stream = stream_of(device), free = stream_of(other);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDefault);
  cudaEventRecord(event, free);
  void* pinned = nullptr;
  const Recorded invalid{cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated};
  CHECK(record(stream, [&] { return cudaStreamSynchronize(stream); }) == invalid);
  CHECK(record(stream, [&] { return cudaEventRecord(event, stream); }) == invalid);
  CHECK(record(stream, [&] { return cudaEventSynchronize(event); }) == invalid);
  CHECK(record(stream, [&] { return cudaMallocHost(&pinned, 8); }) == invalid);
  CHECK(record(stream, [&] { return cudaMemsetAsync(out.data(), 7, 8, stream); }) == Recorded{});
  CHECK(record(stream, [&] { return cudaStreamSynchronize(free); }) == Recorded{});
  cudaEventDestroy(event);
  CHECK(out.to_host() == std::vector<int>(2));  // nothing that was recorded has run
}

TEST_CASE("emulated GPU: a recording ends in the thread that began it") {
  const Device device = Device::cuda(0);
  const cudaStream_t stream = stream_of(device);
  cudaGraph_t graph = nullptr;
  const auto end_elsewhere = [&] {
    cudaError_t status = cudaSuccess;
    std::thread([&] { status = cudaStreamEndCapture(stream, &graph); }).join();
    return status;
  };
  CHECK(record(stream, end_elsewhere) == Recorded{cudaErrorStreamCaptureWrongThread, cudaSuccess});
  CHECK(graph == nullptr);
}

TEST_CASE("emulated GPU: a stream or event of another GPU than the current one is refused") {
  const Device device = Device::cuda(0);
  const cudaStream_t stream = stream_of(device);
  int* nowhere = nullptr;
  void* arguments[] = {static_cast<void*>(&nowhere)};
  cudaSetDevice(1);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDefault);
  CHECK(cudaLaunchKernel(write_number, 1, 1, arguments, 0, stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle);
  cudaEventDestroy(event);
  cudaGetLastError();
}
