#include "watcher.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace foliot::detail {

namespace {
const void* self() noexcept { return &seam::this_thread(); }
}  // namespace

watcher::watcher(std::size_t turn, std::shared_ptr<exception_handler> on_exception)
    : turn_(std::min(turn, seam::poller::most_events)), on_exception_(std::move(on_exception)) {
  witness_forks();
}

watcher::~watcher() { forget_forks(); }

void watcher::serve(instant until) noexcept {
  std::array<seam::poll_event, seam::poller::most_events> events;
  const seam::polled found = poller_->wait(until, std::span(events).first(turn_));
  for (const seam::poll_event& each : std::span(events).first(found.events)) deliver(each);
}

void watcher::deliver(const seam::poll_event& event) noexcept {
  lock held(lock_);
  if (ended_) return;
  watch_record* const record = records_.find(event.token);
  if (record == nullptr || record->closed) return;
  // What was ready when the wait ended may not be asked for any more.
  const readiness ready = event.ready & record->what.may_be_told();
  if (ready == readiness::none) return;
  record->user = self();
  held.leave();
  try {
    record->callback(ready);
  } catch (...) {
    report(std::current_exception());
  }
  held.enter();
  settle(*record);
}

void watcher::end() noexcept {
  const lock held(lock_);
  ended_ = true;
}

void watcher::close_all() noexcept {
  const lock held(lock_);
  ended_ = true;
  // No more places come. shut() lets go of the lock, and others may destroy theirs meanwhile.
  for (std::size_t place = 0; place < records_.places(); ++place) {
    watch_record* const record = records_.at(place);
    if (record != nullptr && !record->closed) shut(*record);
  }
}

watch_record* watcher::watch(int fd, interest what, watch_callback callback) {
  auto made = std::make_unique<watch_record>(fd, what, std::move(callback));
  lock held(lock_);
  watch_record& record = records_.put(std::move(made));
  if (ended_ || !poller_) {
    shut(record);
    return &record;
  }
  try {
    poll(record, what);
  } catch (...) {
    const std::unique_ptr<watch_record> refused = records_.take(record);
    held.leave();  // the closure's destructor is a user's
    throw;
  }
  return &record;
}

bool watcher::modify(watch_record& record, interest what) {
  const lock held(lock_);
  if (record.closed || ended_) return false;
  poll(record, what);
  return true;
}

void watcher::close(watch_record& record) noexcept {
  const lock held(lock_);
  shut(record);
}

void watcher::destroy(watch_record& record) noexcept {
  const lock held(lock_);
  shut(record, true);
}

bool watcher::watching(const watch_record& record) const noexcept {
  const lock held(lock_);
  return !record.closed && !ended_;
}

/// Makes the poller tell of this. Throws as the poller does.
void watcher::poll(watch_record& record, interest what) {
  if (what.in() == readiness::none) {
    forget(record);
  } else if (record.polled) {
    poller_->modify(record.fd, what, record.token);
  } else {
    poller_->add(record.fd, what, record.token);
    record.polled = true;
  }
  record.what = what;
}

void watcher::forget(watch_record& record) noexcept {
  if (std::exchange(record.polled, false) && !forked_) poller_->remove(record.fd);
}

/// Closes it, waits until nobody uses its closure, and destroys that; and the record, where no handle holds it any
/// more. If it is the caller who uses it, from inside the callback or the closure's destructor, settle(), further up
/// the stack, does what is left to do.
void watcher::shut(watch_record& record, bool orphaned) noexcept {
  forget(record);
  record.closed = true;
  while (record.user != nullptr) {
    if (record.user == self()) {
      record.orphaned = orphaned;
      return;
    }
    if (forked_) [[unlikely]] {
      // Its thread is not in this process: what that was in the middle of is nobody's any more.
      std::construct_at(&record.callback);
      break;
    }
    done_.wait(lock_);
  }
  record.orphaned = orphaned;
  record.user = self();
  settle(record);
}

/// The caller, until now the closure's user, is done with it: what was postponed meanwhile is done.
void watcher::settle(watch_record& record) noexcept {
  if (record.closed) {
    lock_.unlock();
    record.callback.reset();  // a user's code: it may look back here, and even destroy the handle
    lock_.lock();
  }
  record.user = nullptr;
  done_.notify_all();
  if (record.orphaned) static_cast<void>(records_.take(record));
}

/// Of all threads the one that forked is here. The poller is the parent's too, and is left as it is.
void watcher::after_fork_in_child() noexcept {
  forked_ = ended_ = true;
  lock_.unlock_beside_others();
}

void watcher::report(std::exception_ptr failure) noexcept {
  try {
    (*on_exception_)(std::move(failure));
  } catch (...) {
    // A handler that fails has nobody to report to, and the service goes on.
  }
}

}  // namespace foliot::detail
