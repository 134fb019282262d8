// The lock of foliot: a futex word, typed for the compiler's ownership check and ranked against
// deadlock.
//
// Uncontended, a pair costs one compare-and-swap and one exchange. A waiter spins briefly, then
// sleeps. Not recursive, not fair. The three states are Drepper's ("Futexes Are Tricky", mutex 2).
//
// Rank: a thread may only lock a mutex whose rank is higher than every one that it holds (the table
// is `lock_rank`); debug and sanitizer builds assert it.
#pragma once

#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

/// The lock order, lowest first: whoever holds one may take any below it in this list.
enum class lock_rank : std::uint8_t {
  timeline,  ///< virtual_clock: who follows the clock, and who advances it
  engine,    ///< an engine's queue and its timers' states
};

class FOLIOT_CAPABILITY("mutex") mutex {
 public:
  explicit mutex(lock_rank rank) noexcept : rank_(rank) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept FOLIOT_ACQUIRE() {
    note_rank();
    std::uint32_t expected = free;
    // acquire: pairs with the release in unlock(); relaxed on failure, lock_slowly() looks again.
    if (!word_.compare_exchange_strong(expected, held, seam::acquire, seam::relaxed)) lock_slowly();
  }

  void unlock() noexcept FOLIOT_RELEASE() {
    forget_rank();
    // release: pairs with the acquire of the next lock(), which thereby sees all that was done here.
    if (word_.exchange(free, seam::release) == contended) seam::futex_wake(word_, 1);
  }

  /// Tells the compiler's check, where it cannot follow (a closure), that the caller holds the lock.
  void assert_held() const noexcept FOLIOT_ASSERT_CAPABILITY(this) {
    FOLIOT_ASSERT((seam::this_thread().held_ranks & bit()) != 0, "this lock must be held here");
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t contended = 2;  // held, and somebody may be asleep on the word

  void lock_slowly() noexcept;

  [[nodiscard]] std::uint32_t bit() const noexcept { return std::uint32_t{1} << static_cast<unsigned>(rank_); }

#ifdef NDEBUG
  void note_rank() noexcept {}
  void forget_rank() noexcept {}
#else
  void note_rank() noexcept {
    std::uint32_t& ranks = seam::this_thread().held_ranks;
    FOLIOT_ASSERT(ranks < bit(), "locks must be taken in the order of lock_rank");
    ranks |= bit();
  }
  void forget_rank() noexcept { seam::this_thread().held_ranks &= ~bit(); }
#endif

  // Written by every lock and unlock; publishes whatever the mutex protects.
  seam::atomic<std::uint32_t> word_{free};
  const lock_rank rank_;
};

/// Holds a mutex for a scope; may let go of it in between.
class FOLIOT_SCOPED_CAPABILITY lock {
 public:
  explicit lock(mutex& target) noexcept FOLIOT_ACQUIRE(target) : mutex_(target) { mutex_.lock(); }
  ~lock() FOLIOT_RELEASE() {
    if (held_) mutex_.unlock();
  }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

  void leave() noexcept FOLIOT_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void enter() noexcept FOLIOT_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  mutex& mutex_;
  bool held_ = true;
};

}  // namespace foliot::inline core
