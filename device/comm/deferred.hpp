#pragma once
// Holds errors back until no other rank waits for this one.

#include <exception>

namespace onebit::device {

/// Holds the first error of work that must run to completion because other ranks wait for its results.
class Deferred {
 public:
  /// Runs `work` and keeps its error, if any; does nothing once it holds an error.
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
