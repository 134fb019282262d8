// Virtual time by hand: for tests, in a runtime whose run_options have a virtual clock.
//
//   co_await advance(1h);      // an hour passes, with all that happens in it
//   co_await wait_idle();      // all that can happen now has happened
//
// Time stands still while any task can run. Left alone it goes on to the next deadline when all wait, unless
// run_options::time_jumps is false: then it goes on only here.
// Throw std::logic_error in a runtime on real time, or outside of one. Thread safety: the runtime's one thread.
#pragma once

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

namespace detail {

/// For who is on virtual time; throws std::logic_error.
[[nodiscard]] FOLIOT_EXPORT scheduler& this_virtual_scheduler(const char* what);
FOLIOT_EXPORT void begin_idle_wait(scheduler& of, wait_point& wait, wait_word::source by);
FOLIOT_EXPORT void end_idle_wait(scheduler& of, wait_point& wait) noexcept;
/// The first deadline that there is, or never.
[[nodiscard]] FOLIOT_EXPORT instant next_deadline(scheduler& of);
FOLIOT_EXPORT void advance_to(scheduler& of, instant target);

/// An operation, see operation.hpp.
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

/// Goes on when all other tasks wait, and nothing that is due has yet to happen. Of several who wait so, one goes on at
/// a time, the longest waiting first.
[[nodiscard]] inline detail::operation_awaiter<detail::idle_wait> wait_idle() {
  return detail::operation_awaiter<detail::idle_wait>(detail::this_virtual_scheduler("wait_idle"));
}

/// Moves time on by `length`, from one deadline to the next: at each, all that it leads to happens before time goes
/// on. Zero or less: as wait_idle.
[[nodiscard]] FOLIOT_EXPORT task<> advance(duration length);

}  // namespace foliot::runtime
