// This thread on one core, for as long as the object lives, so that a measurement does not move.
#pragma once

#include <sched.h>

namespace foliot::program::bench {

class pinned {
 public:
  /// To the last core that the thread may use: the first ones get most of the interrupts. Where the
  /// system does not allow it, nothing happens.
  pinned() noexcept {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int core = CPU_SETSIZE - 1; core >= 0 && core_ < 0; --core) {
      if (CPU_ISSET(static_cast<unsigned>(core), &before_)) core_ = core;
    }
    if (core_ < 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core_), &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) core_ = -1;
  }
  ~pinned() {
    if (core_ >= 0) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;

  /// Which core, or -1 if the thread moves freely.
  [[nodiscard]] int core() const noexcept { return core_; }

 private:
  cpu_set_t before_{};
  int core_ = -1;
};

}  // namespace foliot::program::bench
