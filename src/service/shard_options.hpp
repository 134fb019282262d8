// What the shards of a service have in common.
#pragma once

#include <memory>

#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/executor.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/slow_callback.hpp>
#include <foliot/service/timer_log.hpp>

namespace foliot::detail {

class watcher;

/// What a shard's design says of its place in memory: whole cache lines of its own, or any.
struct alignas(64) cache_lines {};
struct no_padding {};

struct shard_options {
  const clock& time;
  seam::clock_id time_id;
  /// No thread: `time` is virtual, and somebody calls run_due.
  bool by_hand;
  budget turn;
  /// Spins the last stretch.
  bool precise;
  /// Where callbacks run; null: on the shard's thread.
  std::shared_ptr<callback_executor> executor;
  /// Called by whoever runs callbacks; by several threads at once, where there are several shards.
  std::shared_ptr<exception_handler> on_exception;
  /// Keeps the histograms of statistics().
  bool measure;
  /// Who is told of slow callbacks, as on_exception is; null: nobody.
  std::shared_ptr<slow_callback_report> slow_callback;
  /// Gets an entry for each thing that happens, by any thread; null: none are made.
  std::shared_ptr<timer_log> log{};
  /// The tick and the size, where the engine's queue is a wheel that is given them.
  wheel_shape wheel{};
  /// Who watches file descriptors on the shard's thread; null where nobody does.
  std::shared_ptr<watcher> watches{};
};

}  // namespace foliot::detail
