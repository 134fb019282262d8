// A service: timers for any thread.
//
//   foliot::timer_service timers;
//   foliot::timer idle{timers, 30s, [] { … }};
//
// It has as many shards as the program has processors, or as it is told to have. A shard is a queue with a
// thread of its own, started by the shard's first timer, on which its callbacks run, one after the other. A
// thread's timers go to one shard, the next thread's to the next; those of a callback stay where it runs. A timer stays
// where it was made; in the engine `bucket-heaps`, as Go 1.10 to 1.13 did, each start takes it to the calling thread's
// shard, unless its callback is running.
// Built on a virtual clock a service has one shard and no thread: advancing the clock runs the callbacks.
//
// Thread safety: every member from any thread, and from inside callbacks.
// Lifetime: destroying it shuts it down; the handles that it leaves behind stay valid, idle and closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/engine.hpp>
#include <foliot/service/executor.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/statistics.hpp>
#include <foliot/service/timer_log.hpp>

namespace foliot::inline service {

/// The system's clocks that a service may go by. A timer fires once its clock shows the deadline.
enum class service_clock : std::uint8_t {
  monotonic,  ///< stands still while the machine is suspended: a timer of a minute counts a minute awake
  boottime,   ///< counts suspend: what became due meanwhile fires on waking
  wall,       ///< since 1970; set forward, what became due fires; set back, timers wait for their time to come again
};

struct service_options {
  /// One of timer_service::engines().
  std::string engine = "foliot";
  /// What a service that is not on a virtual clock goes by. A thread on another clock than the monotonic sleeps on a
  /// timerfd, one a shard.
  service_clock clock = service_clock::monotonic;
  /// How many shards, from 1 to 1024; 0 is what the engine has by itself: one a processor for `foliot`, 64 for
  /// `bucket-heaps`, and one for the others. `global-heap` can have one only: its single lock is the point of it. On
  /// virtual time there is one.
  std::size_t shards = 0;
  /// Gets what callbacks throw, on the thread that ran them, and so from several at once where there are
  /// several shards; the service goes on. By default it is reported to standard error. An exception that leaves the
  /// handler itself is swallowed: the service goes on all the same.
  exception_handler on_exception{};
  /// Runs the callbacks; by default the shards' threads do. See executor.hpp.
  std::optional<callback_executor> executor{};
  /// Fires as close to the deadline as it can: the threads sleep until shortly before, and then look at the clock
  /// until it is time. They find out by themselves how long that takes: as a rule some 30 us for each wake-up,
  /// and never more than 250. Without it they are late by what a wake-up takes. Nothing on virtual time.
  bool precise = false;
  /// Whether statistics() has histograms of how late callbacks begin and how long they run: two looks at the clock for
  /// each callback, and 19 KiB a shard.
  bool measure = false;
  /// Tells of callbacks that take too long. See slow_callback.hpp.
  slow_callback_report slow_callback{};
  /// How many timers a shard's thread fires before it looks at the clock, and at its file descriptors, again. At least
  /// 1; unset, what the engine has by itself: 100 for `erlang-wheel`, its yield limit, and 256 for the others.
  std::optional<budget> turn{};
  /// The tick and the number of slots of the engines `hashed-wheel` (Netty's tickDuration and ticksPerWheel) and
  /// `hierarchical-wheel` (Kafka's tickMs and wheelSize). Unset: 1 ms, and 512 slots or 20 a level. See
  /// wheel_shape.hpp.
  std::optional<wheel_shape> wheel{};
  /// Gets an entry for each timer that is added, removed, or expires, and for each alarm: only for `goim`. See
  /// timer_log.hpp.
  timer_log log{};
};

class FOLIOT_EXPORT timer_service {
 public:
  /// On one of the system's clocks. Throws std::invalid_argument for an engine that does not exist (the
  /// message lists those that do), for a number of shards that it cannot have, for a turn of zero, for a wheel's shape
  /// that cannot be, or that the engine does not take, for a log that it does not keep, and for a watch on slow
  /// callbacks that cannot tell anybody, or whose limit is negative.
  explicit timer_service(service_options options = {});
  /// On a virtual clock, without a thread.
  explicit timer_service(virtual_clock& clock, service_options options = {});
  /// shut_down().
  ~timer_service();
  timer_service(const timer_service&) = delete;
  timer_service& operator=(const timer_service&) = delete;

  /// The service's clock.
  [[nodiscard]] instant now() const noexcept { return shards_->front()->time().now(); }

  /// Ends the service: waits for the callback that is running, unless it is the caller, and drops what
  /// is pending: its callbacks will not run. Returns how many timers that were; 0 when called again.
  std::size_t shut_down() noexcept;

  /// Ends the service in order: starts nothing new (a reset of a timer that is not pending answers `closed`, a
  /// ticker's pending beat is its last), lets what is pending fire at its time, for at most this long, and drops
  /// the rest. Returns how many timers that were. `at_most` is time of the monotonic clock, whatever the service's
  /// clock is set to meanwhile; a shut_down() by another thread ends the wait. Throws std::logic_error from inside a
  /// callback of this service, which would wait for itself, and on virtual time, where advancing the clock is what lets
  /// them fire.
  std::size_t drain(duration at_most);

  /// Makes room for `count` pending timers in each shard: up to there no start allocates. Throws std::bad_alloc, with
  /// nothing changed and all its memory back; at once for more timers than an address space has room for. Other threads
  /// that stop timers during the call may have their shard give memory back that the call has counted on.
  void reserve(std::size_t count);

  [[nodiscard]] service_counters counters() const noexcept;
  /// The counters, and what was measured. Waits for no callback.
  [[nodiscard]] service_statistics statistics() const noexcept;

  [[nodiscard]] std::size_t shards() const noexcept { return shards_->size(); }

  /// The names of the engines that there are.
  [[nodiscard]] static std::span<const std::string_view> engines() noexcept;

  /// How late an engine may be, by its design, with a timer that is started for `timeout`: zero if it is
  /// exact, else the length of its tick at that distance. A busy machine adds to it, virtual time does
  /// not. Throws std::invalid_argument for an engine that does not exist.
  [[nodiscard]] static duration lateness(std::string_view engine, duration timeout);
  /// The same for the engine and the wheel of these options; of the others none matters. Throws std::invalid_argument
  /// also for a wheel that the engine cannot have.
  [[nodiscard]] static duration lateness(const service_options& options, duration timeout);

  /// How many timers a turn of this engine fires unless service_options::turn says so. Throws std::invalid_argument for
  /// an engine that does not exist.
  [[nodiscard]] static budget turn(std::string_view engine);

 private:
  friend class timer;
  friend class ticker;
  friend class watch;
  friend bool sleep_until(timer_service& service, instant deadline);

  /// The shard that the calling thread's timers go to.
  [[nodiscard]] engine& home() const noexcept {
    const auto& all = *shards_;
    return all.size() == 1 ? *all.front() : *all[seam::this_thread_home() % all.size()];
  }
  /// Whether the caller is in a callback of this service, and so must not wait for one.
  [[nodiscard]] bool runs_on_caller() const noexcept;

  /// Never empty. Shared by a call that may end the service while it goes over them.
  std::shared_ptr<const std::vector<std::shared_ptr<engine>>> shards_;
  bool by_hand_ = false;
};

}  // namespace foliot::inline service
