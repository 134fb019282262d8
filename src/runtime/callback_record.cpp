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
  if (end == callback_word::end_result::closed) leave_closed();
}

void callback_record::leave_closed() noexcept {
  if (leave()) delete this;
}

callback_record::closing callback_record::close(waiter& who, wait_point* task, note* thread) noexcept {
  closing done = begin_to_close(who, task, thread);
  if (done.state != close_result::mine) return done;
  closure_.reset();
  leave_closed();
  done.state = close_result::done;
  return done;
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
