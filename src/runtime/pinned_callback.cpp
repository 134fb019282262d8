#include <foliot/runtime/detail/pinned_callback.hpp>

#include <exception>

#include "call_list.hpp"

namespace foliot::runtime::detail {

void pinned_callback::call(timer_entry& self) noexcept { static_cast<pinned_callback&>(self).run(); }

void pinned_callback::run() noexcept {
  const runtime_ref runtime = runtime_;  // the callback that throws may have destroyed the object
  call_frame call(*this);
  callback_word::end_result end{};
  do {
    try {
      closure().run(*this, call);
    } catch (...) {
      report_failure(*runtime.living(), "pinned_callback_timer", std::current_exception());
    }
    if (call.object_is_gone()) return;
    end = word_.end();
  } while (end == callback_word::end_result::again);
  if (end == callback_word::end_result::closed) end_closure(call);
}

/// By the thread that has set `running`, after the timer was closed.
void pinned_callback::end_closure(call_frame& call) noexcept {
  closure().destroy(*this, call);
  if (!call.object_is_gone()) static_cast<void>(leave());  // never true: the object frees itself
}

callback_state::closing pinned_callback::close(waiter& who, wait_point& task) noexcept {
  closing done = begin_to_close(who, &task, nullptr);
  if (done.state != close_result::mine) return done;
  call_frame call(*this);
  end_closure(call);
  done.state = close_result::done;
  return done;
}

bool pinned_callback::destroy() noexcept {
  {
    const lock held(lock_);
    stop_pending();
    if (word_.is_listed()) unlist();
    if (word_.at_rest()) return !word_.is_closed();  // no thread can start it any more
  }
  if (const seam::callback_frame* const frame = frame_of_caller()) {
    auto& call = const_cast<call_frame&>(static_cast<const call_frame&>(*frame));
    call.lose_object();
    return !call.closure_is_out();
  }
  waiter who;
  note over;
  const closing end = begin_to_close(who, nullptr, &over);
  if (end.state == close_result::waits) {
    over.sleep_until(instant::never());
    end_wait(who);
  }
  return end.state == close_result::mine;
}

/// Takes a stopped timer out of the list of calls that it is in, unless its call has begun.
void pinned_callback::unlist() noexcept {
  static_cast<void>(stop_timer(*this));  // it is not pending: this waits for the thread that may be adding it
  const lock held(*calls_lock_);
  if (called_in_ == nullptr) return;
  called_in_->erase(*this);
  word_.unlist();
}

}  // namespace foliot::runtime::detail
