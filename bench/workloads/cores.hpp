// Keeps threads on cores, so that a measurement does not move. Where the system does not allow it, nothing happens.
#pragma once

#include <sched.h>

namespace foliot::program::bench {

inline bool allow_only(unsigned core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

/// Keeps the thread that makes it on one core, as long as the object lives: on the last one that the thread may use,
/// for the first ones get most of the interrupts.
class pinned {
 public:
  pinned() noexcept {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int core = CPU_SETSIZE - 1; core >= 0 && core_ < 0; --core) {
      if (CPU_ISSET(static_cast<unsigned>(core), &before_)) core_ = core;
    }
    if (core_ >= 0 && !allow_only(static_cast<unsigned>(core_))) core_ = -1;
  }
  ~pinned() {
    if (core_ >= 0) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;

  /// The core, or -1 if the thread moves freely.
  [[nodiscard]] int core() const noexcept { return core_; }

 private:
  cpu_set_t before_{};
  int core_ = -1;
};

/// Keeps the calling thread, one of `threads` that are numbered from 0, on a core of its own from here on. Does nothing
/// where there are fewer cores than threads.
inline void stay_on_one_core(int index, int threads) noexcept {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
  for (unsigned core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || static_cast<int>(seen++) != index) continue;
    allow_only(core);
    return;
  }
}

/// Lets another thread have this core, if one waits for it.
inline void give_way() noexcept { ::sched_yield(); }

}  // namespace foliot::program::bench
