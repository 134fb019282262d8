// The record of a timer with a callback: a callback_timer holds it, and the processor's timers run it. What its starts,
// resets and stops do is in callback_state.hpp.
//
// Thread safety: reset, stop and close from any thread; destroy() needs the record for itself, as the destructor of a
// handle does. Lifetime: the record outlives its handle while a call of its callback is to follow.
#pragma once

#include <cstddef>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/export.h>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/callback_state.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// Has room for a closure of three pointers; larger ones are allocated.
using callback = callable<void()>;

class FOLIOT_EXPORT callback_record final : public callback_state, public pooled {
 public:
  callback_record(scheduler& owner, callback what) noexcept
      : callback_state(what_to_do, owner), closure_(std::move(what)) {}

  /// Stops the timer for good. If this returns `waits`, `task` is claimed for source 0 when the callback has ended, and
  /// the caller must call end_wait(). Never returns `mine`.
  [[nodiscard]] closing close(waiter& who, wait_point& task) noexcept { return close(who, &task, nullptr); }

  /// As close(), waits on the calling thread, and frees the record. Called from the callback itself it does not wait,
  /// and the record is freed when the callback has ended.
  void destroy() noexcept;

 private:
  ~callback_record() = default;

  static then note_due(timer_entry& self, ready_list&) noexcept {
    return static_cast<callback_record&>(self).word_.note_due() ? then::call : then::nothing;
  }
  static void call(timer_entry& self) noexcept;
  static constexpr actions what_to_do{note_due, call};

  void run() noexcept;
  void leave_closed() noexcept;
  [[nodiscard]] closing close(waiter& who, wait_point* task, note* thread) noexcept;

  callback closure_;  // owned by the thread that has set `running` in the word
};

}  // namespace foliot::runtime::detail
