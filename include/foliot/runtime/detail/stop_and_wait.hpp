// The wait for the end of a timer's callback: what `co_await timer.stop_and_wait()` does.
//
// Thread safety: the task that awaits it.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <utility>

#include <foliot/core/outcome.hpp>
#include <foliot/runtime/detail/callback_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// Stops a timer for good, and waits until its function has returned. `Callback`: callback_record or pinned_callback.
/// The timer may be gone afterwards, unless its function ran meanwhile.
template <class Callback>
class stop_and_wait_awaiter : public task_awaiter {
 public:
  explicit stop_and_wait_awaiter(Callback* timer) noexcept : timer_(timer) {}
  ~stop_and_wait_awaiter() { end(); }
  stop_and_wait_awaiter(const stop_and_wait_awaiter&) = delete;
  stop_and_wait_awaiter& operator=(const stop_and_wait_awaiter&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::callback; }
  [[nodiscard]] bool await_ready() const noexcept { return timer_ == nullptr; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    const callback_state::closing closing = timer_->close(waiter_, wait_);
    result_ = closing.result;
    if (closing.state == callback_state::close_result::waits) {
      waits_ = true;
    } else {
      wait_.claim(0);
    }
    return wait_.park(wait_point::interrupts::deferred);  // a callback is short, and its end is certain
  }
  stop_result await_resume() noexcept {
    end();
    return result_;
  }

 private:
  void end() noexcept {
    if (std::exchange(waits_, false)) timer_->end_wait(waiter_);
  }

  Callback* timer_;
  callback_state::waiter waiter_;
  wait_point wait_;
  stop_result result_ = stop_result::idle;
  bool waits_ = false;
};

}  // namespace foliot::runtime::detail
