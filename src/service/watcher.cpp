#include "watcher.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace foliot::detail {

watcher::watcher(std::size_t turn, exception_handler on_exception)
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
  if (record == nullptr || record->life.closed()) return;
  // A modify may have changed what the watch waits for since the poller reported this.
  const readiness ready = event.ready & record->what.may_be_told();
  if (ready == readiness::none) return;
  record->life.begin_use(forks_);
  held.leave();
  try {
    record->life.run(ready);
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
  // No watch is added any more. The lock is released for each closure, and other threads may destroy theirs meanwhile.
  for (std::size_t index = 0; index < records_.size(); ++index) {
    watch_record* const record = records_.at(index);
    if (record != nullptr && !record->life.closed() && close_and_wait(*record)) retire(*record);
  }
}

watch_record* watcher::watch(int fd, interest what, watch_callback callback) {
  auto made = std::make_unique<watch_record>(fd, what, std::move(callback));
  lock held(lock_);
  watch_record& record = records_.put(std::move(made));
  if (ended_ || !poller_) {
    refused_.fetch_add(1, seam::relaxed);
    if (close_and_wait(record)) retire(record);
    return &record;
  }
  try {
    poll(record, what);
  } catch (...) {
    const std::unique_ptr<watch_record> refused = records_.take(record);
    held.leave();  // the closure is a user's code
    throw;
  }
  return &record;
}

bool watcher::modify(watch_record& record, interest what) {
  const lock held(lock_);
  if (record.life.closed() || ended_) {
    refused_.fetch_add(1, seam::relaxed);
    return false;
  }
  poll(record, what);
  return true;
}

void watcher::close(watch_record& record) noexcept {
  const lock held(lock_);
  if (close_and_wait(record)) retire(record);
}

void watcher::destroy(watch_record& record) noexcept {
  const lock held(lock_);
  const bool unused = close_and_wait(record);
  record.life.orphan();  // not before: the closure's user would free the record, and this thread waits on it
  if (unused) retire(record);
}

bool watcher::watching(const watch_record& record) const noexcept {
  const lock held(lock_);
  return !record.life.closed() && !ended_;
}

/// Registers with the poller what the watch waits for. Throws as the poller does.
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
  if (std::exchange(record.polled, false) && forks_.empty()) poller_->remove(record.fd);
}

/// Closes the watch, and waits until no thread uses its closure. Returns false if the caller is inside the callback or
/// the closure's destructor: settle() then completes the end, after that has returned.
bool watcher::close_and_wait(watch_record& record) noexcept {
  forget(record);
  record.life.close();
  if (!forks_.empty()) [[unlikely]]
    record.life.abandon_if_used_in_parent(forks_);
  return record.life.wait_until_unused(lock_, done_);
}

/// Ends a closed record whose closure no thread uses.
void watcher::retire(watch_record& record) noexcept {
  record.life.begin_use(forks_);
  settle(record);
}

/// The caller, until now the closure's user, is done with it: destroys the closure if the watch is closed, and frees
/// the record if no handle has it.
void watcher::settle(watch_record& record) noexcept {
  if (record.life.closed()) record.life.destroy_closure(lock_);
  record.life.end_use(done_);
  if (record.life.orphaned()) static_cast<void>(records_.take(record));
}

/// Only the thread that forked exists here. The poller is shared with the parent, and stays as it is.
void watcher::after_fork_in_child() noexcept {
  ended_ = true;
  forks_.add();
  lock_.unlock_beside_others();
}

void watcher::report(std::exception_ptr failure) noexcept {
  try {
    on_exception_(std::move(failure));
  } catch (...) {
    // Exceptions of the handler are swallowed: the service goes on.
  }
}

}  // namespace foliot::detail
