#include <foliot/runtime/detail/callback_state.hpp>

namespace foliot::runtime::detail {

reset_result callback_state::reset_slowly(instant deadline) {
  const lock held(lock_);
  scheduler* const owner = runtime_.living();
  if (owner == nullptr || word_.is_closed()) return reset_result::closed;
  // The latest start has come due, or there was none: the new one is the next.
  if (reset_timer(*owner, *this, deadline)) return reset_result::superseded;
  const callback_word::number previous = std::exchange(latest_, callback_word::after(latest_));
  switch (word_.cancel(previous)) {
    case callback_word::cancel_result::cancelled: return reset_result::superseded;
    case callback_word::cancel_result::running: return reset_result::running;
    case callback_word::cancel_result::idle: break;
  }
  return reset_result::idle;
}

stop_result callback_state::stop() noexcept {
  const lock held(lock_);
  return stop_pending();
}

callback_state::closing callback_state::begin_to_close(waiter& who, wait_point* task, note* thread) noexcept {
  const lock held(lock_);
  const stop_result result = stop_pending();
  const bool inside = frame_of_caller() != nullptr;
  switch (word_.close(inside ? callback_word::while_running::return_at_once : callback_word::while_running::wait)) {
    case callback_word::close_result::mine: return {result, close_result::mine};
    case callback_word::close_result::over: return {result, close_result::done};
    case callback_word::close_result::theirs: break;
  }
  if (inside) return {result, close_result::inside};
  who.task_ = task;
  who.thread_ = thread;
  waiters_.push_back(who);
  who.listed_ = true;
  return {result, close_result::waits};
}

bool callback_state::leave() noexcept {
  switch (word_.leave()) {
    case callback_word::leave_result::left: return false;
    case callback_word::leave_result::last: return true;
    case callback_word::leave_result::awaited: break;
  }
  const lock held(lock_);
  word_.leave_awaited();
  while (waiter* const each = waiters_.pop_front()) {
    each->listed_ = false;
    if (each->task_ != nullptr) each->task_->claim(0);
    if (each->thread_ != nullptr) each->thread_->wake();
  }
  return false;
}

void callback_state::end_wait(waiter& who) noexcept {
  const lock held(lock_);  // the thread that ran the callback holds it until it has woken all waiters
  if (!std::exchange(who.listed_, false)) return;
  waiters_.erase(who);
}

}  // namespace foliot::runtime::detail
