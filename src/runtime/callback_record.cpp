#include <foliot/runtime/detail/callback_record.hpp>

#include <exception>
#include <new>

namespace foliot::runtime::detail {

void callback_record::call(timer_entry& self) noexcept {
  auto& mine = static_cast<callback_record&>(self);
  switch (mine.word_.begin()) {
    case callback_word::begin_result::nothing: return;
    case callback_word::begin_result::last: delete &mine; return;
    case callback_word::begin_result::run: mine.run();
  }
}

void callback_record::run() noexcept {
  seam::thread_state& thread = seam::this_thread();
  const seam::callback_frame frame{this, thread.inside};
  thread.inside = &frame;
  callback_word::end_result end{};
  do {
    try {
      closure_();
    } catch (...) {
      report_failure(*runtime_.living(), "after_func", std::current_exception());
    }
    end = word_.end();
  } while (end == callback_word::end_result::again);
  if (end == callback_word::end_result::closed) closure_.reset();
  thread.inside = frame.outer;
  if (end == callback_word::end_result::closed) leave();
}

/// The closure is destroyed: wakes the tasks and threads that wait for that.
void callback_record::leave() noexcept {
  switch (word_.leave()) {
    case callback_word::leave_result::left: return;
    case callback_word::leave_result::last: delete this; return;
    case callback_word::leave_result::awaited: break;
  }
  const lock held(lock_);
  word_.leave_awaited();
  while (waiter* const each = waiters_.pop_front()) {
    each->listed_ = false;
    if (each->task_ != nullptr) each->task_->claim(0);
    if (each->thread_ != nullptr) each->thread_->wake();
  }
}

bool callback_record::runs_on_caller() const noexcept {
  for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
    if (frame->owner == this) return true;
  }
  return false;
}

reset_result callback_record::reset_slowly(instant deadline) {
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

stop_result callback_record::stop() noexcept {
  const lock held(lock_);
  return stop_pending();
}

stop_result callback_record::stop_pending() noexcept {
  // A start that has come due is not pending, and only the latest start can come due.
  if (word_.dues() != latest_ && stop_timer(*this)) {
    latest_ = callback_word::before(latest_);
    return stop_result::stopped;
  }
  switch (word_.cancel(latest_)) {
    case callback_word::cancel_result::cancelled: return stop_result::stopped;
    case callback_word::cancel_result::running: return stop_result::running;
    case callback_word::cancel_result::idle: break;
  }
  return stop_result::idle;
}

callback_record::closing callback_record::close(waiter& who, wait_point* task, note* thread) noexcept {
  stop_result result{};
  {
    const lock held(lock_);
    result = stop_pending();
    const bool inside = runs_on_caller();
    switch (word_.close(inside ? callback_word::while_running::return_at_once : callback_word::while_running::wait)) {
      case callback_word::close_result::mine: break;
      case callback_word::close_result::over: return {result, close_result::done};
      case callback_word::close_result::theirs:
        if (inside) return {result, close_result::inside};
        who.task_ = task;
        who.thread_ = thread;
        waiters_.push_back(who);
        who.listed_ = true;
        return {result, close_result::waits};
    }
  }
  closure_.reset();
  leave();
  return {result, close_result::done};
}

void callback_record::end_wait(waiter& who) noexcept {
  const lock held(lock_);  // the thread that ran the callback holds it until it has woken all waiters
  if (!std::exchange(who.listed_, false)) return;
  waiters_.erase(who);
}

void callback_record::destroy() noexcept {
  const auto rests = [this] {
    const lock held(lock_);
    stop_pending();
    return word_.at_rest();  // so no thread can start it any more
  };
  if (!rests()) {
    waiter who;
    note over;
    if (close(who, nullptr, &over).state == close_result::waits) {
      over.sleep_until(instant::never());
      end_wait(who);
    }
    if (!word_.orphan()) return;
  }
  delete this;
}

}  // namespace foliot::runtime::detail
