// The options of a service's shards.
#pragma once

#include <memory>

#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/executor.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/stall.hpp>
#include <foliot/service/timer_log.hpp>

namespace foliot::detail {

class watcher;

/// The base of a shard whose alignment does not matter.
struct no_padding {};

/// How many records a block of a free list has unless service_options::free_list says otherwise.
inline constexpr std::size_t usual_free_list = 1024;

/// The options of a service as its shards need them; alike for all shards but `watches`.
struct shard_options {
  const clock& time;
  seam::clock_id time_id;
  /// `time` is virtual, and the shard has no thread: the thread that advances the clock calls run_due.
  bool on_virtual_time;
  budget turn;
  /// Whether the thread spins on the clock just before a deadline.
  bool precise;
  /// Runs the callbacks; empty: the shard's thread does.
  callback_executor executor;
  /// Called by the threads that run callbacks; by several at once where there are several shards.
  exception_handler on_exception;
  /// Whether the shard keeps the histograms of statistics().
  bool measure;
  /// Called with each slow callback, by the same threads as on_exception; without a function there are no reports.
  slow_callback_report slow_callback;
  /// Called with callbacks that do not end; without a function there are no reports.
  stall_report stalls{};
  /// Called with each entry of the log, by any thread; empty: there is no log.
  timer_log log{};
  /// The tick and the size, where the design's queue is a wheel whose shape the user chooses.
  wheel_shape wheel{};
  /// The size of a block of the free list, where the design has one.
  std::size_t free_list = usual_free_list;
  /// Watches file descriptors on the shard's thread; null where the design has no poller.
  std::shared_ptr<detail::watcher> watcher{};

  /// Tells on_exception. Exceptions of the handler are swallowed: the service goes on. Without the shard's lock.
  void report(const callback_failure& failure) const noexcept {
    try {
      on_exception(failure);
    } catch (...) {
    }
  }
};

}  // namespace foliot::detail
