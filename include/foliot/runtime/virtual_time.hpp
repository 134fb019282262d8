// Moves virtual time by hand: for tests, in a runtime whose run_options have a virtual clock.
//
//   co_await advance(1h);      // an hour passes, with all that happens in it
//   co_await wait_idle();      // all that can happen now has happened
//
// Time stands still while any task can run. When all tasks wait, it jumps to the next deadline by itself, unless
// run_options::time_jumps is false: then only these functions move it. Thread safety: a runtime on virtual time has one
// thread.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

namespace detail {

/// The caller's scheduler. Throws std::logic_error if it is on real time, and outside of a runtime; `what` names the
/// function called.
[[nodiscard]] FOLIOT_EXPORT scheduler& this_virtual_scheduler(const char* what);
FOLIOT_EXPORT void begin_idle_wait(scheduler& owner, wait_point& wait, wait_word::source by);
FOLIOT_EXPORT void end_idle_wait(scheduler& owner, wait_point& wait) noexcept;
/// The earliest deadline of all timers; never, if there is none.
[[nodiscard]] FOLIOT_EXPORT instant next_deadline(scheduler& owner);
FOLIOT_EXPORT void advance_to(scheduler& owner, instant target);

/// An operation, see operation.hpp: completes when nothing else can happen at this instant.
class idle_wait {
 public:
  explicit idle_wait(scheduler& scheduler) noexcept : scheduler_(&scheduler) {}
  ~idle_wait() { end(); }
  idle_wait(const idle_wait&) = delete;
  idle_wait& operator=(const idle_wait&) = delete;

  [[nodiscard]] bool try_complete() const noexcept { return false; }
  void begin(wait_point& wait, wait_word::source by) {
    begin_idle_wait(*scheduler_, wait, by);
    wait_ = &wait;
  }
  void end() noexcept {
    if (wait_ != nullptr) end_idle_wait(*scheduler_, *wait_);
    wait_ = nullptr;
  }
  void result() const noexcept {}

 private:
  scheduler* scheduler_;
  wait_point* wait_ = nullptr;
};

}  // namespace detail

/// Await the result, or make it a case of a select: it completes when all other tasks wait and nothing that is due is
/// left to happen. If several tasks wait so, they continue one at a time, the one that has waited longest first. Throws
/// std::logic_error on real time, and outside of a runtime; the wait throws `cancelled` and std::bad_alloc.
[[nodiscard]] inline detail::operation_awaiter<detail::idle_wait> wait_idle() {
  return detail::operation_awaiter<detail::idle_wait>(detail::this_virtual_scheduler("wait_idle"));
}

/// Moves time forward by `length`, from one deadline to the next; at each of them all consequences happen before time
/// moves on. Zero or less: as wait_idle(). A task must await it. Throws as wait_idle() does.
[[nodiscard]] FOLIOT_EXPORT task<> advance(duration length);

}  // namespace foliot::runtime
