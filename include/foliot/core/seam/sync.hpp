// The synchronisation seam: atomics, barriers and threads. Outside core/seam no code of foliot uses std::atomic or
// std::thread.
//
// Real side: the standard library's. A build that defines FOLIOT_SEAM_SYNC as the name of a header takes these
// definitions from that header. tests/simulation: at each atomic operation a seeded scheduler may switch to another
// simulated thread, so that the shipped source of every protocol runs under schedules that a real machine shows once in
// a million runs, and repeats them from their seed. tests/model: a model checker enumerates the schedules and the
// results that weak memory orders allow.
//
// `this_thread()` is the state that foliot keeps for each thread; its address identifies the thread.
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

/// The range of this_thread_number(). The last number is shared by all threads for which no other is left.
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

/// A field that is not atomic, and that an atomic or a lock publishes: a Value. The model checker reports two threads
/// that access it without such an order between them.
template <class Value>
using plain = Value;

namespace detail {
// Defined in one source file of the library, so that all libraries and the program of a process share one variable,
// whatever their visibility. A thread_local of an inline function would be a different one in each shared object that
// is compiled with -fvisibility=hidden.
//
// The initial-exec model: where foliot is a shared library, an access is a load from the GOT and one from the thread's
// block, instead of a call of __tls_get_addr. The variable then lies in the threads' static blocks, which are laid out
// when the program is loaded. For libraries that are loaded by dlopen glibc keeps a reserve there of some 1.5 KiB, of
// which foliot uses some hundred bytes (`readelf -lW` shows them as TLS). musl keeps no reserve, so there the
// compiler's default model is used.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec")]]
#endif
FOLIOT_EXPORT extern constinit thread_local thread_state own_state;
}  // namespace detail

/// The calling thread's state. Its address is unique among the living threads.
inline thread_state& this_thread() noexcept {
  thread_state* own = &detail::own_state;
  // g++ 12 with -fsanitize=null tests the address for null by the flags of the addition that computes it. Linkers
  // replace that addition by a `lea`, which sets no flags (the relaxation from initial-exec to local-exec). After this
  // line the compiler tests the register itself.
  asm("" : "+r"(own));
  return *own;
}

namespace detail {
FOLIOT_EXPORT std::size_t take_thread_number() noexcept;
FOLIOT_EXPORT std::size_t take_thread_home() noexcept;
}  // namespace detail

/// A number below thread_numbers that no other living thread has, or else shared_thread_number. It stays the same for
/// the thread's life; a later thread may get it again.
inline std::size_t this_thread_number() noexcept {
  const std::uint32_t number = this_thread().number;
  return number != 0 ? number - 1 : detail::take_thread_number();
}

/// A number that distributes threads over several objects: each thread that asks for the first time gets the next one.
/// A layer above may set another (`thread_state::home`).
inline std::size_t this_thread_home() noexcept {
  const std::size_t home = this_thread().home;
  return home != 0 ? home - 1 : detail::take_thread_home();
}

/// Tells the processor that the caller is spinning.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Gives the processor to another thread of the system, where the caller waits for that thread.
inline void yield_thread() noexcept { std::this_thread::yield(); }

// light_barrier() and heavy_barrier() are an asymmetric pair with the effect of two full barriers: if one thread stores
// x, executes the light barrier and loads y, and another thread stores y, executes the heavy barrier and loads x, at
// least one of them sees the other's store. The heavy barrier makes all threads of the process execute a full barrier
// (membarrier). Where the system has no membarrier, or refuses it at some time (a sandbox, no memory), both are full
// barriers from then on.
namespace detail {
// Whether heavy_barrier() works by membarrier. False until the library is initialised; set once, before any thread
// relies on it; only heavy_barrier() clears it.
FOLIOT_EXPORT extern std::atomic<bool> heavy_barrier_reaches_all;

/// A full barrier in the library's code: for files that are compiled with ThreadSanitizer, which does not know fences.
FOLIOT_EXPORT void full_barrier_elsewhere() noexcept;

inline void full_barrier() noexcept {
#if defined(__SANITIZE_THREAD__) || defined(FOLIOT_THREAD_SANITIZER)
  full_barrier_elsewhere();
#else
  std::atomic_thread_fence(seq_cst);
#endif
}
}  // namespace detail

/// The cheap side of the pair: a compiler barrier, as long as the heavy side reaches all threads.
inline void light_barrier() noexcept {
  // relaxed: heavy_barrier() waits until no thread can see the old value any more.
  if (detail::heavy_barrier_reaches_all.load(relaxed)) [[likely]] {
    std::atomic_signal_fence(seq_cst);
  } else {
    detail::full_barrier();
  }
}
/// The expensive side of the pair: a system call.
FOLIOT_EXPORT void heavy_barrier() noexcept;

/// A full fence: if two threads each store, execute a full fence, and load the variable that the other has stored to,
/// at least one of them sees the other's store.
inline void full_fence() noexcept { detail::full_barrier(); }

/// How often a lock spins before it sleeps: some 2 us, which is less than a sleep and a wake-up cost.
inline constexpr int spins_before_sleep = 64;

/// How many counters of sleeping threads the locks share.
inline constexpr std::size_t lock_table_size = 64;

namespace detail {
/// Blocks all signals of the calling thread for a scope, except those of its own faults and of a profiler. Threads that
/// are started meanwhile inherit the mask.
class FOLIOT_EXPORT signals_blocked {
 public:
  signals_blocked() noexcept;
  ~signals_blocked();
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  alignas(unsigned long) unsigned char saved_[128];  // a sigset_t; this header does not include <csignal>
};
FOLIOT_EXPORT void name_this_thread(const char* name) noexcept;
[[noreturn]] FOLIOT_EXPORT void refuse_thread(const std::system_error& refusal, const char* name);
}  // namespace detail

/// A thread of the operating system. All signals but those of its own faults and of a profiler are blocked, so that the
/// program's other threads get them. Debuggers and /proc show its name. A joinable thread must be joined, detached or
/// forgotten before it is destroyed.
class thread {
 public:
  /// No thread.
  thread() noexcept = default;
  /// Runs `body` in a new thread. `name` has at most 15 characters and must stay valid. Throws std::system_error, which
  /// names the thread, where the system refuses; then `body` does not run.
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
  /// In the child of a fork, where the thread does not exist: makes this object refer to no thread.
  void forget() noexcept { std::construct_at(&thread_); }

 private:
  std::thread thread_;
};

}  // namespace foliot::inline core::seam

#endif
