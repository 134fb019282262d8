// Who watches file descriptors for a shard, and runs their callbacks on the shard's thread, in the place where
// that would sleep.
//
//   watch ──► polled ──ready──► running ──► polled          modify(none): known to the watcher, not to the poller
//               └─────────── close ───────────► closed
//
// It belongs to the shard and to the handles of its watches; handles that outlive the shard find it closed.
//
// Thread safety: a lock of its own, which is never held while a user's code runs, nor together with the shard's. Only
// the shard's thread serves, and closes all in the end.
//
// Invariants:
//   1. A record that is closed is not known to the poller: nothing is told of it after that, and what a wait has
//      brought already is passed over.
//   2. `user` of a record is the thread that uses its closure with the lock released; nobody else touches the closure
//      meanwhile, and the record is not destroyed.
//   3. Once it has ended every record is closed, or is about to be by close_all().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/watch.hpp>

#include "watch_table.hpp"

namespace foliot::detail {

class watcher final : private seam::fork_witness {
 public:
  /// Runs at most `turn` callbacks at a time.
  watcher(std::size_t turn, std::shared_ptr<exception_handler> on_exception);
  ~watcher() override;

  // The shard's.

  /// Before there is a thread; again, where that failed. Throws as the poller's constructor does.
  void open() {
    if (!poller_) poller_.emplace();
  }
  /// Once it is open.
  [[nodiscard]] seam::poller& poller() noexcept { return *poller_; }
  /// The thread's: waits at most until then, or until it is woken, and runs the callbacks of what is ready.
  void serve(instant until) noexcept;
  /// Ends the wait, also one that has not begun. Any thread, once it is open.
  void wake() noexcept {
    if (!forked_) poller_->wake();  // else it would be the parent's thread that hears it
  }
  /// No callback begins any more. Any thread.
  void end() noexcept;
  /// The thread's last: closes what is left.
  void close_all() noexcept;

  // The handles'.

  /// A new watch; closed, where the service has ended or never began. Throws std::system_error and std::bad_alloc.
  [[nodiscard]] watch_record* watch(int fd, interest what, watch_callback callback);
  bool modify(watch_record& record, interest what);
  void close(watch_record& record) noexcept;
  /// close(), and frees it.
  void destroy(watch_record& record) noexcept;
  [[nodiscard]] bool watching(const watch_record& record) const noexcept;

 private:
  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS;

  void deliver(const seam::poll_event& event) noexcept;
  void report(std::exception_ptr failure) noexcept;

  void poll(watch_record& record, interest what) FOLIOT_REQUIRES(lock_);
  void forget(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);
  void shut(watch_record& record, bool orphaned = false) noexcept FOLIOT_REQUIRES(lock_);
  void settle(watch_record& record) noexcept FOLIOT_REQUIRES(lock_);

  const std::size_t turn_;
  const std::shared_ptr<exception_handler> on_exception_;
  /// Made before the thread, and before the first watch, under the shard's lock.
  std::optional<seam::poller> poller_;

  mutable mutex lock_{lock_rank::engine};
  watch_table records_ FOLIOT_GUARDED_BY(lock_);
  bool ended_ FOLIOT_GUARDED_BY(lock_) = false;
  /// For those who wait until a closure is not used any more.
  condition done_ FOLIOT_GUARDED_BY(lock_);
  /// This process is the child of a fork, and the poller the parent's. Written while there is one thread.
  bool forked_ = false;
};

}  // namespace foliot::detail
