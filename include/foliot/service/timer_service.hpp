// A service: timers for any thread.
//
//   foliot::timer_service timers;
//   foliot::timer idle{timers, 30s, [] { … }};
//
// A service has one shard for each processor, or as many as service_options::shards says. A shard is a queue with a
// thread of its own, which the shard's first start makes, and which runs the callbacks of the shard's timers one after
// the other. Threads are assigned to shards round robin: all timers that a thread makes go to one shard, and timers
// that a callback makes stay on the callback's shard. A timer stays on its shard. The engine `bucket-heaps` differs, as
// Go 1.10 to 1.13 did: there each start moves the timer to the calling thread's shard, unless its callback is running.
//
// On a virtual clock a service has one shard and no thread: the thread that advances the clock runs the callbacks.
//
// Thread safety: every member from any thread, and from inside callbacks.
// Lifetime: the destructor shuts the service down. Handles may outlive the service; their timers are idle and closed
// then. What is started in a service that has ended, or in the child of a fork, is closed from the beginning: nothing
// throws, and service_counters::refused counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
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
#include <foliot/core/timer_deadline.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/engine_choice.hpp>
#include <foliot/service/executor.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/stall.hpp>
#include <foliot/service/statistics.hpp>
#include <foliot/service/timer_log.hpp>

namespace foliot::detail {
class pinned_timer_base;
class stall_monitor;
}  // namespace foliot::detail

namespace foliot::inline service {

/// The system clock of a service. A timer fires once its clock shows the deadline.
enum class service_clock : std::uint8_t {
  monotonic,  ///< stands still while the machine is suspended: a timer of a minute counts a minute awake
  boottime,   ///< counts suspend: timers that became due meanwhile fire when the machine wakes
  wall,       ///< time since 1970; follows steps of the clock: set forward, timers fire; set back, they wait again
};

/// The options of a service. Values that no service can have are refused by timer_service's constructor. Copies share
/// the functions: services that are made from copies call the same closures.
struct service_options {
  /// One of timer_service::engines(), by its name: `foliot` unless it is set. See engine_choice.hpp.
  engine_choice engine{};
  /// The clock of a service that is not on a virtual clock. On another clock than the monotonic one, each shard's
  /// thread sleeps on a timerfd.
  service_clock clock = service_clock::monotonic;
  /// How many shards, from 1 to 1024. 0 means the engine's own number: one for each processor in `foliot`, 64 in
  /// `bucket-heaps`, one in the others. `global-heap`, whose point is its single lock, can have only one; so can every
  /// service on virtual time.
  std::size_t shards = 0;
  /// Receives the exceptions of callbacks, on the thread that ran the callback, and so from several threads at once
  /// where there are several shards. The service goes on. By default they are printed to standard error. Exceptions
  /// that leave the handler are swallowed. A handler that takes a callback_failure learns which timer it was.
  exception_handler on_exception{};
  /// Runs the callbacks; by default the shards' threads do. See executor.hpp.
  std::optional<callback_executor> executor{};
  /// Fires as close to the deadline as possible: the threads sleep until shortly before it, and then spin on the clock.
  /// They adapt the spinning to how late their sleeps end: typically 30 us for each wake-up, at most 250 us. Without it
  /// a timer is late by the time of a wake-up. No effect on virtual time.
  bool precise = false;
  /// Whether statistics() has histograms of lateness and callback time. Costs two readings of the clock for each
  /// callback, and 19 KiB a shard.
  bool measure = false;
  /// Reports callbacks that take too long. See slow_callback.hpp.
  slow_callback_report slow_callback{};
  /// Reports callbacks that do not end, and what waits for them. See stall.hpp.
  stall_report stalls{};
  /// How many timers a shard's thread fires before it looks at the clock and at its file descriptors again. At least 1.
  /// Unset means the engine's own number: 100 in `erlang-wheel`, its yield limit, and 256 in the others.
  std::optional<budget> turn{};
  /// The tick and the number of slots of the engines `hashed-wheel` (Netty's tickDuration and ticksPerWheel) and
  /// `hierarchical-wheel` (Kafka's tickMs and wheelSize). Unset means 1 ms, and 512 slots or 20 a level. See
  /// wheel_shape.hpp.
  std::optional<wheel_shape> wheel{};
  /// How many timers have room in a block of the free list of `goim`, its `num`, from 1 to 1,048,576. If it is set, the
  /// constructor allocates the first block in each shard, and a heap for as many timers, as goim's `init` does. Unset
  /// means 1,024, and no block before the first timer is made. Only for `goim`.
  std::optional<std::size_t> free_list{};
  /// Receives an entry for each timer that is added, is removed or expires, and for each alarm. Only for `goim`. See
  /// timer_log.hpp.
  timer_log log{};
};

/// Timers for any thread: see the head of this file.
class FOLIOT_EXPORT timer_service {
 public:
  /// Makes a service on a system clock; its threads start later. Throws std::invalid_argument for an engine that does
  /// not exist (the message lists the engines), for a number of shards that the engine cannot have, a turn of zero, a
  /// wheel whose shape is impossible or that the engine does not have, a free list of an impossible size or that the
  /// engine does not have, a log that the engine does not keep, a
  /// slow-callback report without a function or with a negative limit, and a stall report without a function or with a
  /// limit that is not positive; std::bad_alloc; std::system_error when the thread of stall reports cannot be started.
  explicit timer_service(service_options options = {});
  /// Makes a service on a virtual clock, without a thread. The clock must outlive the service. Throws as the
  /// constructor above.
  explicit timer_service(virtual_clock& clock, service_options options = {});
  /// As shut_down.
  ~timer_service();
  timer_service(const timer_service&) = delete;
  timer_service& operator=(const timer_service&) = delete;

  /// The reading of the service's clock.
  [[nodiscard]] instant now() const noexcept { return shards_->front()->time().now(); }

  /// Ends the service: drops pending timers, whose callbacks will not run, and waits for callbacks that are running;
  /// inside a callback of this service, or a stall report on its thread `foliot-stalls`, it waits for none. Returns how
  /// many timers it dropped; 0 when called again.
  std::size_t shut_down() noexcept;

  /// Ends the service in order: starts no timer any more (a reset of a timer that is not pending returns `closed`, the
  /// pending tick of a ticker is its last), waits until the pending timers have fired, at most for `at_most`, and drops
  /// the rest. Returns how many timers it dropped. `at_most` is measured by the monotonic clock, also where the service
  /// has another one. A shut_down() by another thread ends the wait. Throws std::logic_error inside a callback of this
  /// service, where the wait could not end, and on virtual time, where timers fire only when the clock is advanced.
  std::size_t drain(duration at_most);

  /// Makes room for `count` pending timers in each shard: up to that number no start allocates. Throws std::bad_alloc,
  /// with nothing changed and all of its memory given back; at once if `count` timers exceed the address space. Other
  /// calls that take a shard's lock wait meanwhile.
  void reserve(std::size_t count);

  /// The counters of all shards. Takes the shards' locks.
  [[nodiscard]] service_counters counters() const noexcept;
  /// The counters and, with service_options::measure, the histograms. Takes the shards' locks; waits for no callback.
  [[nodiscard]] service_statistics statistics() const noexcept;
  /// The slowest callbacks so far, the slowest first, if the service measures them and stores where timers were armed,
  /// as it does with service_options::slow_callback, stalls or log; else none. Takes the shards' locks; waits for no
  /// callback. Throws std::bad_alloc.
  [[nodiscard]] std::vector<slowest_callback> slowest_callbacks() const;

  /// How many shards the service has.
  [[nodiscard]] std::size_t shards() const noexcept { return shards_->size(); }

  /// The names of all engines.
  [[nodiscard]] static std::span<const std::string_view> engines() noexcept;

  /// The lateness that an engine's design allows for a timer that is started for `timeout`: zero if the engine is
  /// exact, else its tick at that distance. A busy machine adds to it, virtual time does not. Throws
  /// std::invalid_argument for an engine that does not exist.
  [[nodiscard]] static duration lateness(std::string_view engine, duration timeout);
  /// The same for the engine and the wheel of these options; the other options do not matter. Throws
  /// std::invalid_argument also for a wheel that the engine cannot have.
  [[nodiscard]] static duration lateness(const service_options& options, duration timeout);

  /// How many timers a turn of this engine fires if service_options::turn is unset. Throws std::invalid_argument for an
  /// engine that does not exist.
  [[nodiscard]] static budget turn(std::string_view engine);

 private:
  friend class timer;
  friend class ticker;
  friend class watch;
  friend class detail::pinned_timer_base;
  friend bool sleep_until(timer_service& service, timer_deadline deadline, std::source_location here);

  /// The shard that the calling thread is assigned to.
  [[nodiscard]] detail::engine& home() const noexcept {
    const auto& all = *shards_;
    return all.size() == 1 ? *all.front() : *all[seam::this_thread_home() % all.size()];
  }
  /// Whether the caller is inside a callback of this service, and so must not wait for one.
  [[nodiscard]] bool runs_on_caller() const noexcept;

  /// Never empty. shut_down() keeps a reference, since a closure that it destroys may own the service.
  std::shared_ptr<const std::vector<std::shared_ptr<detail::engine>>> shards_;
  bool on_virtual_time_ = false;
  std::unique_ptr<detail::stall_monitor> stalls_;  // null: no thread reports callbacks that do not end
};

}  // namespace foliot::inline service
