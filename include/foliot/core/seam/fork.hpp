// The fork seam: who must know when the process forks.
//
// Of a process with threads the child has one: the one that called fork. A lock that another thread held is held
// for ever there, and what it protected is half done. A witness takes its lock before the fork, and lets it go after
// it, on both sides. Witnesses are asked one after the other, in the reverse order of their witness_forks: a thread
// that takes the locks of several of them takes them in that order too.
//
// Real side: src/core/seam/fork.cpp (pthread_atfork). The simulated worlds do not fork.
#pragma once

#include <foliot/core/language.hpp>

#include <foliot/core/export.h>

namespace foliot::inline core::seam {

class FOLIOT_EXPORT fork_witness {
 public:
  fork_witness(const fork_witness&) = delete;
  fork_witness& operator=(const fork_witness&) = delete;

  virtual void before_fork() noexcept = 0;
  virtual void after_fork_in_parent() noexcept = 0;
  virtual void after_fork_in_child() noexcept = 0;

 protected:
  fork_witness() noexcept = default;
  virtual ~fork_witness() = default;

  /// From now on, and until forget_forks, it is told. From any thread; not with a lock held that before_fork takes.
  void witness_forks() noexcept;
  void forget_forks() noexcept;

 private:
  friend class fork_witnesses;
  fork_witness* previous_ = nullptr;
  fork_witness* next_ = nullptr;
};

}  // namespace foliot::inline core::seam
