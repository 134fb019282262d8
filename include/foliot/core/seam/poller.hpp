// The poller seam: one wait for file descriptors, for a deadline, and for whoever calls.
//
//   poller.add(fd, readiness::readable, token);
//   for (;;) {
//     const polled found = poller.wait(next_deadline, events);   // then look at the clock, and at what was found
//     …
//   }
//   poller.wake();                                               // from any thread
//
// A wait ends when a descriptor is ready, when the deadline has come, when somebody has called wake(), when the bell
// rings, and now and then for a signal or for nothing: it never tells that a deadline has come, the clock does.
//
// A wake-up sticks: one that comes before the wait ends that wait at once. Many that come before it is heard are one.
// Real side: epoll, whose waits may be late by a thousandth of their length, and an eventfd
// (src/core/seam/poller.cpp). Simulated side: tests/simulation/poller.cpp, where descriptors are the test's. The
// model's: tests/model/seams.cpp, where there are none.
//
// Thread safety: every member from any thread. Where several threads wait, each event is told to one of them
// (those of level to others too, while it is so), and a wake-up to one.
// A descriptor leaves the poller before it is closed: the system knows it by its file, which may live on.
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

/// A descriptor that is ready, by the token it was added with.
struct poll_event {
  std::uint64_t token;
  readiness ready;
};

/// How a wait ended.
struct polled {
  std::size_t events = 0;    ///< how many entries were filled in, from the first
  bool woken = false;        ///< somebody has called wake(); what they did before is seen
  bool interrupted = false;  ///< a signal came
  bool rung = false;         ///< the bell has rung; each ring is told to one wait
};

class FOLIOT_EXPORT poller {
 public:
  /// How many events a wait fills in at most; the others come with the next one.
  static constexpr std::size_t most_events = 64;
  /// Tokens are below this.
  static constexpr std::uint64_t token_end = ~std::uint64_t{0} - 1;

  /// Throws std::system_error, which names what failed, when the process is out of file descriptors, or the system of
  /// memory.
  poller();
  ~poller();
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;

  /// Tells of `fd` from now on; of what is ready already, too. Throws std::system_error, with nothing changed: EBADF,
  /// EEXIST where it is there already, EPERM for files that are always ready, ENOSPC and ENOMEM.
  void add(int fd, interest what, std::uint64_t token);
  /// Something else, or the same again: what is ready is told anew, with trigger::edge too. Throws as add does.
  void modify(int fd, interest what, std::uint64_t token);
  /// No more, but for events that a wait has returned already. Of what is not there it does nothing.
  void remove(int fd) noexcept;

  /// From now on a ring of this bell ends the wait. One bell; it outlives the waits. Throws as add does.
  void listen_to(const alarm& bell);

  /// Waits at most until `deadline` of the monotonic clock (never: no limit; one that has passed: looks, and does not
  /// wait). Fills in as many events as there is room for, which is one at least.
  [[nodiscard]] polled wait(instant deadline, std::span<poll_event> into) noexcept {
    polled result = wait_in_system(deadline, into);
    // acquire: pairs with the exchange in wake(), and so with all whose wake-ups were merged. Only after the ring was
    // heard: a call that comes between the two is seen here, one that comes later rings again.
    if (result.woken) static_cast<void>(called_.exchange(quiet, seam::acquire));
    return result;
  }

  /// Ends the wait, now or as soon as it begins. A system call, but where one is on its way already.
  void wake() noexcept {
    // release: pairs with the exchange in wait(): who is woken sees why.
    if (called_.exchange(called, seam::release) == quiet) ring();
  }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  /// All of it but wake-ups that are merged: `woken` for a ring since it last said so.
  polled wait_in_system(instant deadline, std::span<poll_event> into) noexcept;
  void ring() noexcept;

  // quiet -> called by wake(), who then rings; back by wait(), which has heard that. Publishes what wakers did.
  seam::atomic<std::uint32_t> called_{quiet};

#if defined(FOLIOT_SEAM_SYNC)
  friend class pollers;
  struct watched {
    int fd;
    interest what;
    std::uint64_t token;
    bool told = false;  // of an edge
  };
  // Each side uses some of them.
  [[maybe_unused]] std::vector<watched> watched_;
  [[maybe_unused]] const alarm* bell_ = nullptr;
  seam::atomic<std::uint32_t> changes_{0};  // what a wait sleeps on
  [[maybe_unused]] std::uint32_t seen_ = 0;
  [[maybe_unused]] bool rung_ = false;
#else
  int epoll_;
  int wake_ups_;  // an eventfd
#endif
};

}  // namespace foliot::inline core::seam
