// The lock of foliot: a futex word, typed for the compiler's ownership check and ranked against deadlock. Neither
// recursive nor fair. A thread that finds it locked spins some 2 us, then sleeps.
//
// An uncontended lock and unlock cost one atomic read-modify-write: the unlock is a plain store. After the store the
// unlocking thread must find out whether a thread sleeps, and that load must not be executed before the store is
// visible. The order is paid for by the threads that are about to sleep: such a thread increments a count of sleeping
// threads, forces a barrier onto every thread of the process (membarrier), and looks at the lock once more. So an
// unlock either comes before the barrier, and the last look sees it, or it comes after, and its load sees the count.
// (Dice, Huang, Yang, "Asymmetric Dekker Synchronization"; proposed for the standard as P1202.)
//
// An unlock does not access the mutex after its store, because the next owner may destroy the mutex. So the counts of
// sleeping threads are in a table for all mutexes, indexed by address. Mutexes that share an entry now and then cause
// needless wake-ups of each other's address.
//
// Rank: a thread may lock a mutex only if its rank is higher than those of all mutexes that the thread holds; see
// `lock_rank`. The library asserts this if it was built with FOLIOT_ASSERTIONS, also for inline calls of the
// application: the ranks that a thread holds are state, which all files must treat alike however they are compiled, so
// the library alone decides, by `checks_ranks_`.
#pragma once

#include <array>
#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

/// The lock order: a thread that holds a mutex may lock mutexes of ranks further down in this list.
enum class lock_rank : std::uint8_t {
  forks,      ///< the list of fork witnesses; held from before a fork until after it
  timeline,   ///< virtual_clock: its followers, and the thread that advances it
  engine,     ///< an engine's queue and the states of its timers
  context,    ///< the contexts of one tree: which are done, and which waits and hooks to notify
  object,     ///< an object that tasks wait for: a channel, a timer, the end of a task
  sessions,   ///< the TLS sessions that a client's context keeps
  timers,     ///< the timers of a processor
  scheduler,  ///< the idle processors, and the state that belongs to no processor
  monitor,    ///< the instant for which the monitor's alarm is set; the turn of a worker that it watches
};

/// A mutual exclusion lock. Must not be held when it is destroyed.
class FOLIOT_EXPORT FOLIOT_CAPABILITY("mutex") mutex {
 public:
  /// An unlocked mutex. A library with FOLIOT_ASSERTIONS asserts that a thread locks mutexes in the order of their
  /// ranks.
  explicit mutex(lock_rank rank) noexcept : rank_(rank) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Waits until the mutex is free, and locks it. The caller must not hold it, nor a mutex of the same or a higher
  /// rank.
  void lock() noexcept FOLIOT_ACQUIRE() {
    if (checks_ranks_ || !try_acquire()) [[unlikely]]
      lock_slowly();
  }

  /// Unlocks the mutex and wakes a sleeping thread, if there may be one. The caller must hold the mutex.
  void unlock() noexcept FOLIOT_RELEASE() {
    if (checks_ranks_) [[unlikely]]
      unlock_checked();
    else
      release();
  }

  /// As lock(), without the checks of the rank and of the compiler: for a caller that holds several mutexes of one rank
  /// and sees to the order itself, as a fork does with those of all engines.
  void lock_beside_others() noexcept FOLIOT_NO_ANALYSIS {
    if (!try_acquire()) contend();
  }
  /// Unlocks what lock_beside_others() has locked.
  void unlock_beside_others() noexcept FOLIOT_NO_ANALYSIS { release(); }

  /// Tells the compiler's check, where it cannot follow (a closure), that the caller holds the mutex.
  void assert_held() const noexcept FOLIOT_ASSERT_CAPABILITY(this) {
    FOLIOT_ASSERT(!checks_ranks_ || (seam::this_thread().held_ranks & bit()) != 0, "this lock must be held here");
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;

  [[nodiscard]] bool try_acquire() noexcept {
    std::uint32_t expected = free;
    // acquire: pairs with the release in release(); relaxed on failure, after which contend() tries again.
    return word_.compare_exchange_strong(expected, held, seam::acquire, seam::relaxed);
  }

  void release() noexcept {
    const seam::atomic<std::uint32_t>& sleeping = sleepers();  // before the store, after which the mutex may be gone
    // release: pairs with the acquire of the next owner, which thereby sees everything that was done under the lock.
    word_.store(free, seam::release);
    seam::light_barrier();  // pairs with the heavy barrier in contend()
    if (sleeping.load(seam::relaxed) != 0) [[unlikely]]
      seam::futex_wake(word_, 1);  // does nothing if no thread sleeps there, or the mutex is gone
  }

  /// The part of lock() for ranks that are checked and for a mutex that is locked.
  [[gnu::cold]] void lock_slowly() noexcept;
  /// Spins, then sleeps, until the calling thread has locked the mutex.
  void contend() noexcept;

  /// The entry of this mutex: how many threads sleep, or are about to, on a mutex of this entry.
  [[nodiscard]] seam::atomic<std::uint32_t>& sleepers() const noexcept {
    constexpr std::uintptr_t line = 64;
    return sleepers_[reinterpret_cast<std::uintptr_t>(this) / line % sleepers_.size()];
  }

  [[nodiscard]] std::uint32_t bit() const noexcept { return std::uint32_t{1} << static_cast<unsigned>(rank_); }

  [[gnu::cold]] void unlock_checked() noexcept;

  /// Whether the library was built with FOLIOT_ASSERTIONS.
  static const bool checks_ranks_;
  static std::array<seam::atomic<std::uint32_t>, seam::lock_table_size> sleepers_;

  // Written by every lock and unlock; publishes everything that the mutex protects.
  seam::atomic<std::uint32_t> word_{free};
  const lock_rank rank_;
};

/// Holds a mutex for a scope, and may unlock it in between. One thread's.
class FOLIOT_SCOPED_CAPABILITY lock {
 public:
  /// Locks `target`, and blocks until it can.
  explicit lock(mutex& target) noexcept FOLIOT_ACQUIRE(target) : mutex_(target) { mutex_.lock(); }
  ~lock() FOLIOT_RELEASE() {
    if (held_) mutex_.unlock();
  }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

  /// Unlocks the mutex. Precondition: held.
  void leave() noexcept FOLIOT_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  /// Locks the mutex again. Precondition: not held.
  void enter() noexcept FOLIOT_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  mutex& mutex_;
  bool held_ = true;
};

}  // namespace foliot::inline core
