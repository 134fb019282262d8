// Watches file descriptors for a shard, and runs their callbacks on the shard's thread, which waits in the watcher's
// poller instead of sleeping.
//
//   watch ──► polled ──ready──► running ──► polled          modify(none): known to the watcher, not to the poller
//               └─────────── close ───────────► closed
//
// The shard and the handles of its watches own it; handles that outlive the shard find it ended.
//
// Thread safety: it has a lock of its own, which is never held while a user's code runs, nor together with the shard's
// lock. Only the shard's thread calls serve() and close_all().
//
// Invariants:
//   1. The poller does not watch the descriptor of a closed record. Events that a wait has returned already are
//      ignored.
//   2. A closure is used by one thread at a time: closure_life.hpp.
//   3. Once the watcher has ended every record is closed, or will be by close_all().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/watch.hpp>

#include "watch_table.hpp"

namespace foliot::detail {

class watcher final : private seam::fork_witness {
 public:
  /// Runs at most `turn` callbacks at a time.
  watcher(std::size_t turn, exception_handler on_exception);
  ~watcher() override;

  // For the shard.

  /// Makes the poller, before the thread is started. May be called again if starting the thread failed. Throws as the
  /// poller's constructor does.
  void open() {
    if (!poller_) poller_.emplace();
  }
  /// Precondition: open() has returned.
  [[nodiscard]] seam::poller& poller() noexcept { return *poller_; }
  /// Waits until a descriptor is ready, at most until `until` or until wake(), and runs the callbacks. By the thread.
  void serve(instant until) noexcept;
  /// Ends the wait of serve(), also one that has not begun. Any thread, after open().
  void wake() noexcept {
    if (forks_.empty()) poller_->wake();  // in the child of a fork it would wake the parent's thread
  }
  /// From now on no callback begins. Any thread.
  void end() noexcept;
  /// Closes all watches that are left. By the thread, as its last act.
  void close_all() noexcept;

  // For handles. Any thread.

  /// Makes a watch; it is closed from the beginning if the service has ended. Throws std::system_error and
  /// std::bad_alloc.
  [[nodiscard]] watch_record* watch(int fd, interest what, watch_callback callback);
  /// False if the watch is closed. Throws as the poller does.
  bool modify(watch_record& record, interest what);
  /// Closes the watch, and waits until its callback has returned, unless the caller is inside it.
  void close(watch_record& record) noexcept;
  /// As close, and frees the record.
  void destroy(watch_record& record) noexcept;
  [[nodiscard]] bool watching(const watch_record& record) const noexcept;

  /// How many watches were closed when they were made or modified. Any thread, also under the shard's lock.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(seam::relaxed); }

 private:
  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS;

  void deliver(const seam::poll_event& event) noexcept;
  void report(std::exception_ptr failure) noexcept;

  void poll(watch_record& record, interest what) FOLIOT_REQUIRES(lock_);
  void forget(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);
  bool close_and_wait(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);
  void retire(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);
  void settle(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);

  const std::size_t turn_;
  const exception_handler on_exception_;
  /// Made under the shard's lock, before the thread and before the first watch.
  std::optional<seam::poller> poller_;

  mutable mutex lock_{lock_rank::engine};
  watch_table records_ FOLIOT_GUARDED_BY(lock_);
  bool ended_ FOLIOT_GUARDED_BY(lock_) = false;
  // Written under the lock, read by any thread. Relaxed, both: a count, which publishes nothing.
  seam::atomic<std::uint64_t> refused_{0};
  /// Notified when a closure is not in use any more.
  condition done_ FOLIOT_GUARDED_BY(lock_);
  /// If there are any, the poller is the parent's. Written while there is one thread.
  fork_history forks_;
};

}  // namespace foliot::detail
