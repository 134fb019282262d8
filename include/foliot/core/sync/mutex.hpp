// The lock of foliot: a futex word, typed for the compiler's ownership check and ranked against
// deadlock.
//
// Uncontended, a pair costs one atomic instruction: the unlock is a plain store. It then has to know
// whether anybody sleeps, and the store must not be overtaken by that look. The price of that order is paid
// by those who are about to sleep: they announce themselves, force a barrier onto every thread of the
// process (membarrier), and look at the lock once more. So an unlock either comes before the barrier, and is
// seen by that last look, or it sees the announcement. (Dice, Huang, Yang, "Asymmetric Dekker
// Synchronization"; the standard's proposal for it is P1202.) A waiter spins briefly first. Not recursive,
// not fair.
//
// An unlock touches the lock no more after its store, since whoever comes next may destroy it: the count of
// sleepers is in a table for all locks, by their address. Two that share an entry wake each other's sleepers
// for nothing now and then.
//
// Rank: a thread may only lock a mutex whose rank is higher than every one that it holds (the table
// is `lock_rank`). A library that was built with FOLIOT_ASSERTIONS asserts it, for all who use the library: a thread's
// ranks are state, which inline code in differently compiled files must treat alike, so the library alone decides, by
// `checks_ranks_`.
#pragma once

#include <array>
#include <cstdint>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>

namespace foliot::inline core {

/// The lock order, lowest first: whoever holds one may take any below it in this list.
enum class lock_rank : std::uint8_t {
  forks,      ///< who must know of a fork; held from before it until after it
  timeline,   ///< virtual_clock: who follows the clock, and who advances it
  engine,     ///< an engine's queue and its timers' states
  context,    ///< the contexts of one tree: which are done, and who is to be told
  object,     ///< what tasks wait for: a channel, a timer, a task's end
  timers,     ///< the timers of a processor
  scheduler,  ///< which processors are idle, and what belongs to none of them
  monitor,    ///< when the monitor looks
};

class FOLIOT_EXPORT FOLIOT_CAPABILITY("mutex") mutex {
 public:
  explicit mutex(lock_rank rank) noexcept : rank_(rank) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept FOLIOT_ACQUIRE() {
    if (checks_ranks_ || !try_acquire()) [[unlikely]]
      lock_slowly();
  }

  void unlock() noexcept FOLIOT_RELEASE() {
    if (checks_ranks_) [[unlikely]]
      unlock_checked();
    else
      release();
  }

  /// For who takes several locks of one rank, in an order that is its own business, as a fork takes those of all
  /// engines: as lock and unlock, but for the order and for the compiler's check.
  void lock_beside_others() noexcept FOLIOT_NO_ANALYSIS {
    if (!try_acquire()) contend();
  }
  void unlock_beside_others() noexcept FOLIOT_NO_ANALYSIS { release(); }

  /// Tells the compiler's check, where it cannot follow (a closure), that the caller holds the lock.
  void assert_held() const noexcept FOLIOT_ASSERT_CAPABILITY(this) {
    FOLIOT_ASSERT(!checks_ranks_ || (seam::this_thread().held_ranks & bit()) != 0, "this lock must be held here");
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;

  [[nodiscard]] bool try_acquire() noexcept {
    std::uint32_t expected = free;
    // acquire: pairs with the release in release(); relaxed on failure, contend() looks again.
    return word_.compare_exchange_strong(expected, held, seam::acquire, seam::relaxed);
  }

  void release() noexcept {
    const seam::atomic<std::uint32_t>& sleeping = sleepers();  // found before the lock may be gone
    // release: pairs with the acquire of the next owner, which thereby sees all that was done here.
    word_.store(free, seam::release);
    seam::light_barrier();  // pairs with the heavy one in contend()
    if (sleeping.load(seam::relaxed) != 0) [[unlikely]]
      seam::futex_wake(word_, 1);  // of an address where nobody sleeps, or nothing is, it does nothing
  }

  /// Where ranks are checked, or the lock is held.
  [[gnu::cold]] void lock_slowly() noexcept;
  /// Takes the lock once it is free.
  void contend() noexcept;

  /// How many threads sleep on this lock, or on another one of the same entry, or are about to.
  [[nodiscard]] seam::atomic<std::uint32_t>& sleepers() const noexcept {
    constexpr std::uintptr_t line = 64;
    return sleepers_[reinterpret_cast<std::uintptr_t>(this) / line % sleepers_.size()];
  }

  [[nodiscard]] std::uint32_t bit() const noexcept { return std::uint32_t{1} << static_cast<unsigned>(rank_); }

  [[gnu::cold]] void unlock_checked() noexcept;

  /// Whether the library was built with FOLIOT_ASSERTIONS.
  static const bool checks_ranks_;
  static std::array<seam::atomic<std::uint32_t>, seam::lock_table_size> sleepers_;

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
