// The real side of the fork seam.
#include <foliot/core/seam/fork.hpp>

#include <pthread.h>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core::seam {

/// The list of all witnesses. The list's lock is held from before a fork until after it.
class fork_witnesses {
 public:
  static void add(fork_witness& added) noexcept {
    static const int registered = ::pthread_atfork(before, in_parent, in_child);
    static_cast<void>(registered);  // where the system has no memory for it, witnesses are not notified
    const lock held(lock_);
    all_.push_front(added);
  }

  static void remove(fork_witness& removed) noexcept {
    const lock held(lock_);
    all_.erase(removed);
  }

 private:
  static void before() noexcept FOLIOT_NO_ANALYSIS {
    lock_.lock();
    for (fork_witness* each = all_.front(); each != nullptr; each = all_.next(*each)) each->before_fork();
  }
  static void in_parent() noexcept FOLIOT_NO_ANALYSIS {
    for (fork_witness* each = all_.front(); each != nullptr; each = all_.next(*each)) each->after_fork_in_parent();
    lock_.unlock();
  }
  static void in_child() noexcept FOLIOT_NO_ANALYSIS {
    for (fork_witness* each = all_.front(); each != nullptr; each = all_.next(*each)) each->after_fork_in_child();
    lock_.unlock();
  }

  static inline mutex lock_{lock_rank::forks};
  static inline intrusive_list<fork_witness, &fork_witness::links_> all_;
};

void fork_witness::witness_forks() noexcept { fork_witnesses::add(*this); }
void fork_witness::forget_forks() noexcept { fork_witnesses::remove(*this); }

}  // namespace foliot::inline core::seam
