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

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>

namespace foliot::inline core::seam {

/// A callback that a thread is in. The frames of nested callbacks form a list, innermost first.
struct callback_frame {
  const void* owner;            ///< the object that called back; only compared
  const callback_frame* outer;  ///< the callback that this one was called from; null for none
};

/// What foliot keeps for each thread. Only the thread itself reads or writes it.
struct thread_state {
  /// One bit for each rank of a lock that the thread holds: see <foliot/core/sync/mutex.hpp>.
  std::uint32_t held_ranks = 0;
  /// this_thread_number() plus one; 0 before the first call.
  std::uint32_t number = 0;
  /// this_thread_home() plus one; 0 before the first call.
  std::size_t home = 0;
  /// The innermost callback that the thread is in; null for none.
  const callback_frame* inside = nullptr;
  /// Pointers of the layers above, null at first. Nothing in core reads them.
  void* upper_slots[2] = {};
};

/// How many numbers there are for threads: one each, and the last for all those that find none left.
inline constexpr std::size_t thread_numbers = 64;
inline constexpr std::size_t shared_thread_number = thread_numbers - 1;

}  // namespace foliot::inline core::seam

#if defined(FOLIOT_SEAM_SYNC)

#include FOLIOT_SEAM_SYNC

#else

#include <atomic>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <foliot/core/export.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FOLIOT_THREAD_SANITIZER
#endif
#if __has_feature(address_sanitizer)
#define FOLIOT_ADDRESS_SANITIZER
#endif
#endif

namespace foliot::inline core::seam {

template <class Value>
using atomic = std::atomic<Value>;
template <class Value>
using atomic_ref = std::atomic_ref<Value>;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// A field that an atomic or a lock publishes: a Value, and to the model checker a place where two threads
/// must not meet.
template <class Value>
using plain = Value;

namespace detail {
// Defined in one file of the library, so that every library and program of a process has the same one, whatever their
// visibility. A thread_local of an inline function would be one for each shared object that is compiled with
// -fvisibility=hidden.
//
// The initial-exec model: where foliot is shared, an access is a load from the GOT and one from the thread's block, and
// not a call of __tls_get_addr. It puts the variable into the threads' static blocks, which are laid out when the
// program is loaded; glibc keeps a reserve there for libraries that come by dlopen (some 1.5 KiB for all of them, of
// which foliot takes what `readelf -lW` shows as TLS, some hundred bytes). musl keeps none, so there the compiler's own
// model stays.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
FOLIOT_EXPORT extern constinit thread_local thread_state own_state;
}  // namespace detail

/// The calling thread's own state. The address is unique among the threads alive.
inline thread_state& this_thread() noexcept {
  thread_state* own = &detail::own_state;
  // g++ 12 with -fsanitize=null tests the address for null by the flags of the addition that makes it. Linkers replace
  // that addition by a `lea`, which sets no flags (the relaxation from initial-exec to local-exec). Behind this line
  // the compiler tests the register itself.
  asm("" : "+r"(own));
  return *own;
}

namespace detail {
FOLIOT_EXPORT std::size_t take_thread_number() noexcept;
FOLIOT_EXPORT std::size_t take_thread_home() noexcept;
}  // namespace detail

/// A number that no other thread alive has, or shared_thread_number.
inline std::size_t this_thread_number() noexcept {
  const std::uint32_t number = this_thread().number;
  return number != 0 ? number - 1 : detail::take_thread_number();
}

/// A number of this thread's that goes round: threads one after the other get one after the other.
inline std::size_t this_thread_home() noexcept {
  const std::size_t home = this_thread().home;
  return home != 0 ? home - 1 : detail::take_thread_home();
}

/// A hint to the processor that the caller is spinning.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets other threads of the operating system have the processor, where the caller waits for one of them.
inline void yield_thread() noexcept { std::this_thread::yield(); }

// Two barriers, one cheap and one dear, that together do what two full ones do: where one thread stores x,
// passes the light one and loads y, and another stores y, passes the heavy one and loads x, at least one of
// them sees the other's store. The heavy one interrupts all threads of the process (membarrier); where the
// system has none, or refuses it one day (a sandbox, want of memory), both are full ones from then on.
namespace detail {
// Before that is known: no. Set once, before threads rely on it, and cleared by heavy_barrier() at most.
FOLIOT_EXPORT extern std::atomic<bool> heavy_barrier_reaches_all;

/// The library's own: for files that are compiled with ThreadSanitizer, whatever the library was compiled with.
FOLIOT_EXPORT void full_barrier_elsewhere() noexcept;

inline void full_barrier() noexcept {
#if defined(__SANITIZE_THREAD__) || defined(FOLIOT_THREAD_SANITIZER)
  full_barrier_elsewhere();
#else
  std::atomic_thread_fence(seq_cst);
#endif
}
}  // namespace detail

inline void light_barrier() noexcept {
  // relaxed: who sees the old value for a while is waited for in heavy_barrier().
  if (detail::heavy_barrier_reaches_all.load(relaxed)) [[likely]] {
    std::atomic_signal_fence(seq_cst);
  } else {
    detail::full_barrier();
  }
}
FOLIOT_EXPORT void heavy_barrier() noexcept;

/// A full fence: of two threads that each store, pass one of these, and load what the other stores, at least one sees
/// the other's store.
inline void full_fence() noexcept { detail::full_barrier(); }

/// How often a lock looks again before it sleeps: some 2 us, less than a sleep and a wake-up cost.
inline constexpr int spins_before_sleep = 64;

/// How many counters of sleeping threads all locks share.
inline constexpr std::size_t lock_table_size = 64;

namespace detail {
/// While one lives, the calling thread takes no signals but its own faults and a profiler's; what it
/// starts inherits that.
class FOLIOT_EXPORT signals_blocked {
 public:
  signals_blocked() noexcept;
  ~signals_blocked();
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  alignas(unsigned long) unsigned char saved_[128];  // a sigset_t, whose header stays out of this one
};
FOLIOT_EXPORT void name_this_thread(const char* name) noexcept;
[[noreturn]] FOLIOT_EXPORT void refuse_thread(const std::system_error& refusal, const char* name);
}  // namespace detail

/// A thread of the operating system. It takes no signals but its own faults (the others go to the
/// program's own threads), and
/// shows `name` (at most 15 characters) to debuggers and in /proc.
class thread {
 public:
  thread() noexcept = default;
  /// Throws std::system_error, which names the thread, when the system has none left to give; nothing runs then.
  template <class Body>
  thread(const char* name, Body body) {
    const detail::signals_blocked blocked;
    try {
      thread_ = std::thread([name, body = std::move(body)]() mutable {
        detail::name_this_thread(name);
        body();
      });
    } catch (const std::system_error& refusal) {
      detail::refuse_thread(refusal, name);
    }
  }

  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  /// In the child of a fork, where it is not: forgets it.
  void forget() noexcept { std::construct_at(&thread_); }

 private:
  std::thread thread_;
};

}  // namespace foliot::inline core::seam

#endif
