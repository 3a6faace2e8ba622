// The debug device catches what a GPU would get wrong: missing transfers in both directions, unwritten memory, and
// accesses past the end.
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <future>
#include <list>
#include <thread>

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "tests/catch.hpp"
#include "tests/device/faults.hpp"
#include "tests/device/test_kernels.hpp"
#include "tests/devices.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

TEST_CASE("debug: memory is NaN until it is written") {
  const Device device = Device::debug(1);
  const Buffer<float> fresh(device, 3);
  for (const float value : fresh.to_host()) CHECK(std::isnan(value));
  auto used = Buffer<double>::zeros(device, 2);
  used.poison();
  for (const double value : used.to_host()) CHECK(std::isnan(value));
  auto plain = Buffer<double>::zeros(Device::cpu(1), 2);
  plain.poison();
  CHECK(plain.to_host() == std::vector<double>(2));
}

TEST_CASE("debug: host code that touches device memory faults, kernels and copies do not") {
  const Device device = Device::debug(2);
  auto buffer = on(device, std::vector<int>{1, 2, 3});
  volatile int* data = buffer.data();
  CHECK(faults([&] { (void)data[1]; }));
  CHECK(faults([&] { data[1] = 5; }));
  for_each(device, 3, VisitKernel{buffer.data()});
  CHECK(buffer.to_host() == std::vector<int>{2, 3, 4});
  CHECK(faults([&] { (void)data[1]; }));
  CHECK_FALSE(faults([&] { for_each(device, 3, VisitKernel{buffer.data()}); }));
}

TEST_CASE("debug: a kernel that runs past the end faults") {
  const Device device = Device::debug(1);
  auto buffer = Buffer<int>::zeros(device, 16);  // a multiple of 64 bytes: the next element is on a closed page
  CHECK(faults([&] { for_each(device, 17, VisitKernel{buffer.data()}); }));
}

TEST_CASE("debug: memory faults after its release, and a copy that runs past the end faults") {
  const std::list<debug::Key> keys(
      GENERATE(std::size_t{0}, std::size_t{16}));  // no processor has more than 15 for programs
  debug::GuardedMemory memory;
  void* const released = memory.allocate(64);
  void* const kept = memory.allocate(64);
  memory.release(released);
  {
    const debug::Access access(&memory);
    CHECK(faults([&] { *static_cast<volatile int*>(released) = 1; }));
    CHECK_FALSE(faults([&] { *static_cast<volatile int*>(kept) = 1; }));
    const debug::Access again(&memory);
    void* const late = memory.allocate(64);
    CHECK_FALSE(faults([&] { *static_cast<volatile int*>(late) = 1; }));
  }
  CHECK(faults([&] { *static_cast<volatile int*>(kept) = 1; }));
  CHECK_FALSE(faults([&] { memory.fill(kept, 0, 64); }));
  CHECK(faults([&] { memory.fill(kept, 0, 65); }));
}

TEST_CASE("debug: a key opens memory only to threads that ask for it") {
  ONEBIT_SKIP_UNLESS(debug::Key().exists(), "pku", "this processor has no protection keys, or none left");
  debug::GuardedMemory memory;
  auto* const data = static_cast<volatile int*>(memory.allocate(64));
  const auto writes = [&](debug::GuardedMemory* asked_for) {
    std::promise<void> opened;
    std::thread earlier([&] {
      opened.get_future().wait();
      const debug::Access access(asked_for);
      *data = 1;
    });
    const debug::Access access(&memory);
    opened.set_value();
    earlier.join();
  };
  CHECK(faults([&] { writes(nullptr); }));
  CHECK_FALSE(faults([&] { writes(&memory); }));
}

TEST_CASE("debug: an arena gives every allocation new addresses until all have been released") {
  const std::size_t page = debug::page_size();
  const std::list<debug::Key> keys(16);
  const debug::Key none_left;
  REQUIRE_FALSE(none_left.exists());
  debug::Arena arena(6 * page, false, none_left);
  const std::uintptr_t one = arena.take(2 * page), none = arena.take(0);
  CHECK(none == one + 3 * page);
  CHECK(arena.left() == 2 * page);
  const auto touch = [](std::uintptr_t address) {
    return faults([=] { *reinterpret_cast<volatile char*>(address) = 1; });
  };
  CHECK(touch(one));
  arena.open(true);
  CHECK_FALSE(touch(one + 2 * page - 1));
  CHECK(touch(one + 2 * page));
  CHECK(touch(none));
  arena.release(one, 2 * page);
  CHECK(touch(one));
  CHECK(arena.left() == 2 * page);
  CHECK_FALSE(arena.is_empty());
  arena.release(none, 0);
  CHECK(arena.is_empty());
  CHECK(arena.take(page) == one);
  CHECK_FALSE(touch(one));
  CHECK(touch(one + page));
}

TEST_CASE("debug: a kernel with a pointer to host memory or to another device's is refused by name") {
  ONEBIT_SKIP_UNLESS(debug::kChecksPointers, "gcc", "this compiler cannot clear padding, so pointers are not checked");
  const Device device = Device::debug(1);
  std::vector<int> host(1 << 20);  // too large for the heap, which lies below 4 GiB in programs at fixed addresses
  CHECK_THROWS_WITH(
      for_each(device, 3, VisitKernel{host.data()}),
      "a kernel was given a pointer to memory outside its device (onebit::tests::VisitKernel); upload the "
      "data, or exchange it between devices");
  const Device other = Device::debug(1);
  auto theirs = Buffer<int>::zeros(other, 3);
  CHECK_THROWS_AS(for_each(device, 3, VisitKernel{theirs.data()}), Error);
  CHECK_NOTHROW(for_each(other, 3, VisitKernel{theirs.data()}));
  CHECK(host == std::vector<int>(1 << 20));
  auto values = Buffer<float>::zeros(device, 3);
  double sum = 0;
  CHECK_THROWS_AS(reduce(device, 1, Chunks(Index{3}), CountTerm{values.data()}, &sum), Error);
}

namespace {

/// Maps a page at an address for its lifetime, unless something is mapped there already.
class Page {
 public:
  explicit Page(std::uintptr_t address)
      : page_(::mmap(reinterpret_cast<void*>(address / kBytes * kBytes), kBytes, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)),
        mapped_(page_ != MAP_FAILED || errno == EEXIST) {}
  ~Page() {
    if (page_ != MAP_FAILED) ::munmap(page_, kBytes);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  bool mapped() const { return mapped_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  void* page_;
  bool mapped_;
};

}  // namespace

TEST_CASE("debug: a number in a kernel is no pointer, even if memory is mapped at that address") {
  const Device device = Device::debug(1);
  auto values = on(device, std::vector<float>{1, 2, 3});

  const float beta = 0.9F;
  const Page heap(std::bit_cast<std::uint32_t>(beta));
  REQUIRE(heap.mapped());
  CHECK_NOTHROW(for_each(device, 3, MultiplyKernel{values.data(), beta}));
  CHECK(values.to_host() == std::vector<float>{beta, 2 * beta, 3 * beta});

  constexpr Index three_and_two = (Index{2} << 32) + 3;
  const Page driver(static_cast<std::uintptr_t>(three_and_two));
  REQUIRE(driver.mapped());
  const auto offsets = on(device, std::vector<Index>{0});
  auto sum = Buffer<double>::zeros(device, 1);
  CHECK_NOTHROW(
      reduce(device, 1, Chunks(Index{3}), ValueTerm{values.data(), three_and_two, offsets.data()}, sum.data()));
}
