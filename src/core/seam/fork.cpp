// The real side of the fork seam.
#include <foliot/core/seam/fork.hpp>

#include <pthread.h>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::inline core::seam {

/// All that there are, in a list through them. The list's lock is held from before a fork until after it.
class fork_witnesses {
 public:
  static void add(fork_witness& added) noexcept {
    static const int registered = ::pthread_atfork(before, in_parent, in_child);
    static_cast<void>(registered);  // without memory for it a fork is what it is without witnesses
    const lock held(lock_);
    added.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &added;
    first_ = &added;
  }

  static void remove(fork_witness& removed) noexcept {
    const lock held(lock_);
    (removed.previous_ == nullptr ? first_ : removed.previous_->next_) = removed.next_;
    if (removed.next_ != nullptr) removed.next_->previous_ = removed.previous_;
  }

 private:
  static void before() noexcept FOLIOT_NO_ANALYSIS {
    lock_.lock();
    for (fork_witness* each = first_; each != nullptr; each = each->next_) each->before_fork();
  }
  static void in_parent() noexcept FOLIOT_NO_ANALYSIS {
    for (fork_witness* each = first_; each != nullptr; each = each->next_) each->after_fork_in_parent();
    lock_.unlock();
  }
  static void in_child() noexcept FOLIOT_NO_ANALYSIS {
    for (fork_witness* each = first_; each != nullptr; each = each->next_) each->after_fork_in_child();
    lock_.unlock();
  }

  static inline mutex lock_{lock_rank::forks};
  static inline fork_witness* first_ = nullptr;
};

void fork_witness::witness_forks() noexcept { fork_witnesses::add(*this); }
void fork_witness::forget_forks() noexcept { fork_witnesses::remove(*this); }

}  // namespace foliot::inline core::seam
