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
  /// Ends the thread. Waits for a report that is being told. Not inside one.
  ~stall_monitor() override;

 private:
  void run() noexcept;
  void before_fork() noexcept override {}
  void after_fork_in_parent() noexcept override {}
  /// The thread does not exist in the child, whose shards have ended.
  void after_fork_in_child() noexcept override { thread_.forget(); }

  const std::shared_ptr<const shard_list> shards_;
  const duration limit_;
  note end_;
  seam::thread thread_;
};

}  // namespace foliot::detail
