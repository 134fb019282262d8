// The synchronisation seam: the only door to atomics and threads.
//
// Real side: the standard library's. A build that defines FOLIOT_SEAM_SYNC as a header's name takes
// another side from there. tests/simulation: every atomic operation is a point where a seeded scheduler
// may switch to another simulated thread, so that the shipped source of every protocol runs under
// schedules that a real machine would show once in a million runs, and repeats them from their seed.
// tests/model: a model checker goes through the schedules and the weak orders one by one.
//
// What a thread has for itself, `this_thread()`, is here too: its address tells threads apart.
#pragma once

#include <cstdint>

namespace foliot::inline core::seam {

/// What foliot keeps for each thread.
struct thread_state {
  /// One bit for each lock rank that the thread holds; see <foliot/core/sync/mutex.hpp>.
  std::uint32_t held_ranks = 0;
};

}  // namespace foliot::inline core::seam

#if defined(FOLIOT_SEAM_SYNC)

#include FOLIOT_SEAM_SYNC

#else

#include <atomic>
#include <thread>
#include <utility>

namespace foliot::inline core::seam {

template <class Value>
using atomic = std::atomic<Value>;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// A fence. Prefer orders on operations: ThreadSanitizer does not understand fences.
inline void atomic_thread_fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }

/// A field that an atomic or a lock publishes: a Value, and to the model checker a place where two threads
/// must not meet.
template <class Value>
using plain = Value;

/// The calling thread's own state. The address is unique among the threads alive.
inline thread_state& this_thread() noexcept {
  static thread_local thread_state state;
  return state;
}

/// A hint to the processor that the caller is spinning.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How often a lock looks again before it sleeps: some 2 us, less than a sleep and a wake-up cost.
inline constexpr int spins_before_sleep = 64;

namespace detail {
/// While one lives, the calling thread takes no signals but its own faults and a profiler's; what it
/// starts inherits that.
class signals_blocked {
 public:
  signals_blocked() noexcept;
  ~signals_blocked();
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  alignas(unsigned long) unsigned char saved_[128];  // a sigset_t, whose header stays out of this one
};
void name_this_thread(const char* name) noexcept;
}  // namespace detail

/// A thread of the operating system. It takes no signals but its own faults (the others go to the
/// program's own threads), and
/// shows `name` (at most 15 characters) to debuggers and in /proc.
class thread {
 public:
  thread() noexcept = default;
  /// Throws std::system_error when the system has no thread left to give; nothing runs then.
  template <class Body>
  thread(const char* name, Body body) {
    const detail::signals_blocked blocked;
    thread_ = std::thread([name, body = std::move(body)]() mutable {
      detail::name_this_thread(name);
      body();
    });
  }

  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }

 private:
  std::thread thread_;
};

}  // namespace foliot::inline core::seam

#endif
