#pragma once
// Holds errors back until no other rank waits for this one.

#include <exception>

namespace onebit::device {

/// Holds the first error of work that has to run to its end, because other ranks wait for their parts of it.
class Deferred {
 public:
  /// Runs `work` and holds its error; does nothing after an error.
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
