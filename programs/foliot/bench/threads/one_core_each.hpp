// Threads that keep to a core each, so that they run at the same time and do not move.
#pragma once

#include <sched.h>

namespace foliot::program::bench {

/// Keeps the calling thread, one of `threads` that are numbered from 0, on a core of its own. Where there
/// are fewer cores than threads, or the system does not allow it, nothing happens.
inline void stay_on_one_core(int index, int threads) noexcept {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
  for (unsigned core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || static_cast<int>(seen++) != index) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// Lets another thread have this core, if one waits for it.
inline void give_way() noexcept { ::sched_yield(); }

}  // namespace foliot::program::bench
