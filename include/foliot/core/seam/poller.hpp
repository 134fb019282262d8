// The poller seam: one wait for file descriptors, a deadline and wake-ups.
//
//   poller.add(fd, readiness::readable, token);
//   for (;;) {
//     const polled found = poller.wait(next_deadline, events);   // then look at the clock and at the events
//     …
//   }
//   poller.wake();                                               // from any thread
//
// A wait ends when a descriptor is ready, the deadline has come, a thread calls wake(), or the alarm of listen_to()
// rings; it may also end for a signal or for no reason. Its result does not tell whether the deadline has come: the
// caller reads the clock.
//
// A wake-up is not lost: if it comes before the wait, the wait returns at once. Wake-ups that come before a wait has
// returned one of them are merged into one.
// Real side: epoll, whose waits may be late by a thousandth of their length, and an eventfd (src/core/seam/poller.cpp).
// Simulated side: tests/simulation/poller.cpp, where the test makes descriptors ready. The model checker's:
// tests/model/seams.cpp, without descriptors.
//
// Thread safety: every member from any thread. Where several threads wait, an event is reported to one of them (a
// level-triggered one to others, too, as long as the descriptor is ready), and a wake-up to one.
// A descriptor must be removed before it is closed: the system identifies it by its open file, which other descriptors
// may keep open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>

#if defined(FOLIOT_SEAM_SYNC)
#include <vector>
#endif

namespace foliot::inline core::seam {

/// One ready descriptor, identified by the token that it was added with.
struct poll_event {
  std::uint64_t token;
  readiness ready;
};

/// The result of a wait.
struct polled {
  std::size_t events = 0;    ///< how many entries of the caller's span were filled in, from the first
  bool woken = false;        ///< a thread called wake(); the caller sees everything that it did before
  bool interrupted = false;  ///< a signal arrived
  bool rung = false;         ///< the alarm rang; each ring is reported to one wait
};

/// Waits for file descriptors, a deadline and wake-ups. All members are safe from any thread.
class FOLIOT_EXPORT poller {
 public:
  /// The most events that one wait reports; the next wait reports the others.
  static constexpr std::size_t most_events = 64;
  /// Tokens must be less than this.
  static constexpr std::uint64_t token_end = ~std::uint64_t{0} - 1;

  /// Throws std::system_error, which names the failed call, when the process has no file descriptor left or the system
  /// no memory.
  poller();
  ~poller();
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;

  /// Adds `fd`: from now on its readiness is reported with `token`, readiness that it already has included. Throws
  /// std::system_error with nothing changed: EBADF, EEXIST if it was added before, EPERM for files that are always
  /// ready, ENOSPC and ENOMEM.
  void add(int fd, interest what, std::uint64_t token);
  /// Changes the interest and the token of `fd`, or renews them: a descriptor that is ready is reported again, with
  /// trigger::edge, too. Throws as add does.
  void modify(int fd, interest what, std::uint64_t token);
  /// Removes `fd`; does nothing if it was not added. A wait that has returned before may have reported it.
  void remove(int fd) noexcept;

  /// Lets the alarm `bell` end waits when it rings. At most one alarm, which must outlive the waits. Throws as add
  /// does.
  void listen_to(const alarm& bell);

  /// Waits at most until `deadline` of the monotonic clock; never means no limit, and with a deadline that has passed
  /// the call only polls. Reports at most as many events as fit into `into`, which must not be empty.
  [[nodiscard]] polled wait(instant deadline, std::span<poll_event> into) noexcept {
    polled result = wait_in_system(deadline, into);
    // acquire: pairs with the exchange in wake(), and so with all threads whose wake-ups were merged. Only after the
    // eventfd was reported: a wake() between the two is seen here, a later one writes to the eventfd again.
    if (result.woken) static_cast<void>(called_.exchange(quiet, seam::acquire));
    return result;
  }

  /// Ends a wait: the present one, or else the next at once. One system call, or none if an earlier wake-up has not
  /// been returned by a wait yet.
  void wake() noexcept {
    // release: pairs with the exchange in wait(), so that the woken thread sees what this one did before.
    if (called_.exchange(called, seam::release) == quiet) ring();
  }

  /// A descriptor for another poller: it is readable while a wait would report an event. The simulated one is a number
  /// of the world; the model checker has none.
  [[nodiscard]] int descriptor() const noexcept { return epoll_; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  /// The system's wait. `woken` means that ring() was called since the last wait that reported it.
  polled wait_in_system(instant deadline, std::span<poll_event> into) noexcept;
  /// Ends a wait_in_system().
  void ring() noexcept;

  // quiet -> called by wake(), which then calls ring(); called -> quiet by the wait that reports the ring. Publishes
  // what the waking threads did before.
  seam::atomic<std::uint32_t> called_{quiet};

#if defined(FOLIOT_SEAM_SYNC)
  friend class pollers;
  struct watched {
    int fd;
    interest what;
    std::uint64_t token;
    bool told = false;  // this edge was reported
  };
  [[maybe_unused]] std::vector<watched> watched_;  // the simulation and the model checker each use some of these
  [[maybe_unused]] int epoll_ = -1;
  [[maybe_unused]] const alarm* bell_ = nullptr;
  seam::atomic<std::uint32_t> changes_{0};  // the word that a wait sleeps on
  [[maybe_unused]] std::uint32_t seen_ = 0;
  [[maybe_unused]] bool rung_ = false;
#else
  int epoll_;
  int wake_ups_;  // an eventfd
#endif
};

}  // namespace foliot::inline core::seam
