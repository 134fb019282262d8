// The thread that reports callbacks which have been running for too long: see <foliot/service/stall.hpp>.
#pragma once

#include <memory>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "shard_base.hpp"

namespace foliot::detail {

/// Looks at the shards of a service from its construction to its destruction.
class stall_monitor : private seam::fork_witness {
 public:
  /// Starts the thread. Throws std::system_error where the system refuses.
  stall_monitor(std::shared_ptr<const shard_list> shards, duration limit);
  /// Ends the thread. Waits for a report that is being told. Precondition: not inside one.
  ~stall_monitor() override;

  /// Whether the thread is the caller, which is inside a report.
  // relaxed: the caller finds its own address only if it has stored it itself.
  [[nodiscard]] bool runs_caller() const noexcept { return running_.load(seam::relaxed) == self(); }
  /// Instead of a destruction: the thread destroys this object when the report has returned. In exit() it does not.
  /// Precondition: runs_caller().
  void abandon() noexcept;

 private:
  static const void* self() noexcept { return &seam::this_thread(); }
  void run() noexcept;
  void before_fork() noexcept override {}
  void after_fork_in_parent() noexcept override {}
  /// The thread does not exist in the child, whose shards have ended; unless it has forked itself, in a report.
  void after_fork_in_child() noexcept override {
    thread_.forget();
    if (!runs_caller()) running_.store(nullptr, seam::relaxed);
  }

  const std::shared_ptr<const shard_list> shards_;
  const duration limit_;
  note end_;
  /// The thread_state of the thread, while it runs; else null. Written by the thread.
  seam::atomic<const void*> running_{nullptr};
  bool is_abandoned_ = false;  // the thread's own
  seam::thread thread_;
};

}  // namespace foliot::detail
