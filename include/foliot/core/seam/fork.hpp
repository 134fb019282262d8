// The fork seam: objects that are notified when the process forks.
//
// The child of a fork has one thread, the one that called fork(). A lock that another thread held stays locked in the
// child for ever, and the state that it protects may be inconsistent. So a witness takes its lock before the fork and
// releases it afterwards, in the parent and in the child. Witnesses are notified one after the other, in the reverse
// order of their witness_forks(); a thread that takes the locks of several witnesses must take them in that order, too.
//
// Real side: src/core/seam/fork.cpp (pthread_atfork). The simulated worlds do not fork.
#pragma once

#include <foliot/core/language.hpp>

#include <foliot/core/export.h>
#include <foliot/core/intrusive_list.hpp>

namespace foliot::inline core::seam {

/// Base of an object that is notified of forks, on the thread that calls fork().
class FOLIOT_EXPORT fork_witness {
 public:
  fork_witness(const fork_witness&) = delete;
  fork_witness& operator=(const fork_witness&) = delete;

  /// Called before the fork: takes the object's locks.
  virtual void before_fork() noexcept = 0;
  /// Called in the parent after the fork: releases the locks.
  virtual void after_fork_in_parent() noexcept = 0;
  /// Called in the child after the fork, where the caller is the only thread: releases the locks.
  virtual void after_fork_in_child() noexcept = 0;

 protected:
  fork_witness() noexcept = default;
  virtual ~fork_witness() = default;

  /// Starts the notifications. From any thread; the caller must not hold a lock that before_fork() takes.
  void witness_forks() noexcept;
  /// Ends the notifications, which must have been started. From any thread; the caller must not hold a lock that
  /// before_fork() takes.
  void forget_forks() noexcept;

 private:
  friend class fork_witnesses;
  list_links<fork_witness> links_;
};

}  // namespace foliot::inline core::seam
