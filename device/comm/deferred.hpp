#pragma once
// Errors that wait until the other ranks can do without this one.

#include <exception>

namespace onebit::device {

/// The first error of work that has to be gone through to its end, because other ranks wait for their parts of it.
class Deferred {
 public:
  /// Does nothing where there has been an error.
  template <class Work>
  void guard(const Work& work) {
    if (error_) return;
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace onebit::device
