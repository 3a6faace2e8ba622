#include "python/capi/onebit_codecs.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "python/capi/worker.hpp"

struct onebit_worker {
  std::unique_ptr<onebit::capi::Worker> worker;
};

namespace {

void write(std::string_view text, onebit_error* error) noexcept {
  if (error == nullptr) return;
  const std::size_t length = std::min(text.size(), sizeof error->text - 1);
  std::memcpy(error->text, text.data(), length);
  error->text[length] = '\0';
}

/// Calls work(). Returns 0, or 1 after writing the reason if work() threw.
template <class Work>
int guarded(onebit_error* error, const Work& work) noexcept {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    write("out of memory", error);
  } catch (const std::exception& failure) {
    write(failure.what(), error);
  } catch (...) {
    write("unknown failure", error);
  }
  return 1;
}

template <class Make>
onebit_worker* create(onebit_error* error, const Make& make) noexcept {
  onebit_worker* created = nullptr;
  guarded(error, [&] { created = new onebit_worker{make()}; });
  return created;
}

}  // namespace

int onebit_codecs_version(void) {
  return ONEBIT_CODECS_VERSION;
}

onebit_worker* onebit_mean_create(const onebit_problem* problem, onebit_error* error) {
  return create(error, [&] { return onebit::capi::make_mean(*problem); });
}

onebit_worker* onebit_optimizer_create(const onebit_problem* problem, onebit_error* error) {
  return create(error, [&] { return onebit::capi::make_optimizer(*problem); });
}

void onebit_worker_free(onebit_worker* worker) {
  delete worker;
}

int onebit_mean(onebit_worker* worker, int64_t step, const float* vector, float* mean, onebit_error* error) {
  return guarded(error, [&] { worker->worker->mean(step, vector, mean); });
}

int onebit_step(onebit_worker* worker, int64_t step, double lr, const float* gradient, float* parameters,
                onebit_error* error) {
  return guarded(error, [&] { worker->worker->step(step, lr, gradient, parameters); });
}

onebit_report onebit_last_report(const onebit_worker* worker) {
  return worker->worker->report();
}

int onebit_save(onebit_worker* worker, onebit_take take, void* context, onebit_error* error) {
  return guarded(error, [&] { worker->worker->save(take, context); });
}

int onebit_load(onebit_worker* worker, onebit_give give, void* context, onebit_error* error) {
  return guarded(error, [&] { worker->worker->load(give, context); });
}
