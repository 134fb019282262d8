// A service: timers for any thread.
//
//   foliot::timer_service timers;
//   foliot::timer idle{timers, 30s, [] { … }};
//
// By default it has one thread of its own, started by the first timer, on which the callbacks run, one
// after the other. Built on a virtual clock it has no thread: advancing the clock runs the callbacks.
//
// Thread safety: every member from any thread, and from inside callbacks.
// Lifetime: destroying it shuts it down; the handles that it leaves behind stay valid, idle and closed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/engine.hpp>

namespace foliot::inline service {

struct service_options {
  /// One of timer_service::engines().
  std::string engine = "foliot";
  /// Gets what callbacks throw, on the thread that ran them; the service goes on. By default it is
  /// reported to standard error.
  exception_handler on_exception{};
  /// How many timers the service's thread fires before it looks at the clock and at the rest of the
  /// world again. At least 1.
  budget turn = 256;
};

class timer_service {
 public:
  /// On the monotonic clock. Throws std::invalid_argument for an engine that does not exist (the
  /// message lists those that do) and for a turn of zero.
  explicit timer_service(service_options options = {});
  /// On a virtual clock, without a thread.
  explicit timer_service(virtual_clock& clock, service_options options = {});
  /// shut_down().
  ~timer_service();
  timer_service(const timer_service&) = delete;
  timer_service& operator=(const timer_service&) = delete;

  /// The service's clock.
  [[nodiscard]] instant now() const noexcept { return engine_->time().now(); }

  /// Ends the service: waits for the callback that is running, unless it is the caller, and drops what
  /// is pending: its callbacks will not run. Returns how many timers that were; 0 when called again.
  std::size_t shut_down() noexcept { return engine_->shut_down(); }

  /// Makes room for `count` pending timers: up to there no start allocates. Throws std::bad_alloc.
  void reserve(std::size_t count) { engine_->reserve(count); }

  [[nodiscard]] service_counters counters() const noexcept { return engine_->counters(); }

  /// The names of the engines that there are.
  [[nodiscard]] static std::span<const std::string_view> engines() noexcept;

  /// How late an engine may be, by its design, with a timer that is started for `timeout`: zero if it is
  /// exact, else the length of its tick at that distance. A busy machine adds to it, virtual time does
  /// not. Throws std::invalid_argument for an engine that does not exist.
  [[nodiscard]] static duration lateness(std::string_view engine, duration timeout);

 private:
  friend class timer;
  friend class ticker;
  friend bool sleep_until(timer_service& service, instant deadline);

  std::shared_ptr<engine> engine_;
};

}  // namespace foliot::inline service
