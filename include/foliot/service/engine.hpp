// Engines: a queue plus who drives it. This header is for those who write one; users hold a
// `timer_service`, a `timer` and a `ticker`, and choose an engine by its name.
//
// A timer's life, as every engine keeps it:
//
//     make ──► idle ──reset──► pending ──due──► running ──► idle       (a ticker: ──► pending)
//               ▲                 │ ▲ reset          │
//               └──────stop───────┘ └────────────────┘ reset from its callback
//
// and, from any of these, `close` (stop_and_wait) ends it: not pending, not running, its closure
// destroyed, and no reset brings it back.
//
// Thread safety: every member from any thread, and from inside callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/outcome.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::detail {
class watcher;
}

namespace foliot::inline service {

/// What a service has done since it began.
struct FOLIOT_EXPORT service_counters {
  std::uint64_t started = 0;             ///< resets and starts of timers that were not pending
  std::uint64_t superseded = 0;          ///< resets of timers that were
  std::uint64_t stopped = 0;             ///< stops that found the timer pending
  std::uint64_t fired = 0;               ///< callbacks run, those of tickers included
  std::uint64_t skipped = 0;             ///< beats of tickers that came too late, and were left out
  std::uint64_t dropped = 0;             ///< pending when the service ended
  std::uint64_t wake_ups = 0;            ///< times that a thread of the service was woken before its time
  std::uint64_t wakes_with_work = 0;     ///< times that a thread woke, for whatever reason, and something was due
  std::uint64_t wakes_without_work = 0;  ///< the same, and nothing was
  std::size_t pending = 0;               ///< now
  /// The most there ever were, or a little more: `foliot` counts those that were stopped and are still queued, up to
  /// 1,024 a shard. Of several shards the sum of their peaks.
  std::size_t peak_pending = 0;

  friend bool operator==(const service_counters&, const service_counters&) = default;
  service_counters& operator+=(const service_counters& other) noexcept;
};

class engine;
struct service_statistics;

/// One timer as engines see it. Made and destroyed by its engine, which adds the queue's node.
class timer_record {
 public:
  timer_record(const timer_record&) = delete;
  timer_record& operator=(const timer_record&) = delete;

  /// The engine that made it, alive as long as any of its records. It finds the record also where that has moved to
  /// another engine of the service since.
  [[nodiscard]] engine& owner() const noexcept { return owner_; }
  /// Whether the engine wants to be told by arms_at where the timer is armed, and by name what it is called.
  [[nodiscard]] bool wants_place() const noexcept { return wants_place_; }

 protected:
  timer_record(engine& owner, bool ticks, bool wants_place) noexcept
      : owner_(owner), ticks_(ticks), wants_place_(wants_place) {}
  ~timer_record() = default;

  // All that is not constant is the engine's, under its lock.
  engine& owner_;
  /// A ticker's.
  const bool ticks_;
  const bool wants_place_;
  /// Its callback is running.
  bool running_ = false;
  /// It will never be pending again.
  bool closed_ = false;
  /// No handle holds it: whoever is done with it last destroys it.
  bool orphaned_ = false;
  /// It is the timer of a thread that sleeps, and lies on that thread's stack, or is its engine's.
  bool sleeps_ = false;
};

class FOLIOT_EXPORT engine : public timeline {
 public:
  /// A new timer, idle. A positive period makes it a ticker. Throws std::bad_alloc.
  [[nodiscard]] virtual timer_record* make(timer_callback callback, duration period) = 0;

  /// The timer is made, or about to be armed, at this place in the source. Only for records that want to know.
  virtual void arms_at(timer_record& timer, std::source_location place) noexcept = 0;
  /// From now on the timer is called that. Only for records that want to know. Throws std::bad_alloc.
  virtual void name(timer_record& timer, std::string_view text) = 0;

  /// Arms the timer for `deadline`, wherever it was. Throws std::bad_alloc, or std::system_error when
  /// the service's thread cannot be started; the timer is then as it was.
  virtual reset_result reset(timer_record& timer, instant deadline) = 0;
  /// The same for `delay` from now, or somewhat later, within the slack. A record that has ended does not ask
  /// the clock, which may be gone.
  virtual reset_result reset(timer_record& timer, duration delay, duration slack) = 0;
  /// A ticker begins a new grid: its next beat is one `period` from now. Precondition: it is positive.
  virtual reset_result restart(timer_record& timer, duration period) = 0;
  virtual stop_result stop(timer_record& timer) noexcept = 0;
  /// Stops it for good, waits until nobody uses its closure, and destroys that. From inside its own
  /// callback it does not wait; the closure is then destroyed when the callback returns.
  virtual stop_result stop_and_wait(timer_record& timer) noexcept = 0;
  /// stop_and_wait, and destroys the record.
  virtual void destroy(timer_record* timer) noexcept = 0;
  /// Lets go of the record of a one-shot timer: it is destroyed after it has fired, or at once if it is
  /// not pending.
  virtual void detach(timer_record* timer) noexcept = 0;

  /// Blocks the calling thread until a timer of its own has fired at `deadline`: true; or until the start of that timer
  /// was dropped, or if it is refused since the engine has ended: false. Allocates nothing but what the queue needs for
  /// one more timer and, with an executor, a record for each thread more that sleeps at once than ever before. Throws
  /// as reset does, and has not slept then. Precondition: not on a thread that runs this engine's timers.
  virtual bool sleep_until(instant deadline) = 0;

  /// What an executor does with the job of a timer: calls it, or destroys it.
  virtual void run_posted(timer_record& timer) noexcept = 0;
  virtual void drop_posted(timer_record& timer) noexcept = 0;

  [[nodiscard]] virtual bool pending(const timer_record& timer) const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t skipped(const timer_record& timer) const noexcept = 0;

  /// Who watches file descriptors on this engine's thread, which runs from now on, unless the engine has ended; null
  /// where the engine has no poller. Throws std::system_error when the thread or the poller cannot be made.
  [[nodiscard]] virtual std::shared_ptr<detail::watcher> watches() = 0;

  /// From now on nothing new is started: a reset of a timer that is not pending is refused, a ticker's pending beat
  /// is its last. What is pending fires, and may be stopped or reset.
  virtual void begin_to_drain() noexcept = 0;
  /// After that: waits until nothing is pending and no callback runs, or the engine has ended, at most until the
  /// monotonic clock shows `until`. Not from inside a callback, and not on a clock that is moved by hand.
  virtual void wait_until_drained(instant until) noexcept = 0;

  /// Ends the engine, and does not wait: drops what is pending and refuses every further reset. Returns how
  /// many timers it dropped.
  virtual std::size_t end() noexcept = 0;
  /// After end(): waits for the callback that is running, and for the thread. Not from inside a callback of
  /// this engine, or of another that may wait for it.
  virtual void wait_for_end() noexcept = 0;

  /// Makes room for `count` pending timers, so that up to there no start allocates, in two steps, so that a service
  /// reserves in all of its engines or in none: gets the memory, and returns a function that puts it to use, once, and
  /// does not throw. Destroyed without that, it gives the memory back. Throws std::bad_alloc.
  [[nodiscard]] virtual callable<void()> room_for(std::size_t count) = 0;
  /// What all engines of a service have counted, of which this is one. Engine by engine; where timers move between
  /// them, all in one moment.
  [[nodiscard]] virtual service_counters counters(
      std::span<const std::shared_ptr<engine>> of_service) const noexcept = 0;
  /// Adds its histograms, where it measures, and itself to the shards. The counters are not touched.
  virtual void add_to(service_statistics& sum) const noexcept = 0;
  [[nodiscard]] virtual const clock& time() const noexcept = 0;
  /// Whether the caller is on the thread that runs this engine's timers, in a callback for example, and
  /// so must not wait for one of them.
  [[nodiscard]] virtual bool runs_on_caller() const noexcept = 0;
};

}  // namespace foliot::inline service
