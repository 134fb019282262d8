// What the calling thread is to the runtime: a worker, the thread that runs timers' callbacks, or neither.
//
// The pointers live in the slots that core keeps for each thread (core/seam/sync.hpp) and does not interpret; they are
// the calling thread's own, and no other thread reads them. A coroutine may be on another thread after it has waited,
// so a function that a coroutine calls must not be inlined into it when it reads them.
#pragma once

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class processor;
class scheduler;

/// The processor whose worker this thread is; null if it is none.
[[nodiscard]] inline processor* this_worker() noexcept {
  return static_cast<processor*>(seam::this_thread().upper_slots[0]);
}
inline void set_this_worker(processor* worker) noexcept { seam::this_thread().upper_slots[0] = worker; }

/// The scheduler whose timers' callbacks this thread runs without being a worker (it is the monitor); else null.
[[nodiscard]] inline scheduler* this_monitored() noexcept {
  return static_cast<scheduler*>(seam::this_thread().upper_slots[1]);
}
inline void set_this_monitored(scheduler& monitored) noexcept { seam::this_thread().upper_slots[1] = &monitored; }

}  // namespace foliot::runtime::detail
