// Reports of slow callbacks: which call armed the timer, and how long its callback took.
//
//   foliot::service_options options;
//   options.slow_callback = {.longer_than = 10ms, .tell = [](const foliot::slow_callback& slow) {
//     std::printf("%s:%u: %lld ns\n", slow.armed_at.file_name(), slow.armed_at.line(), (long long)slow.took.count());
//   }};
//
// A slow callback delays all others of its shard. With this option a shard reads the clock before and after each
// callback, and every timer stores the source location that made it or armed it last, in a record that is 88 bytes
// larger (a ticker's always is). Without the option neither costs anything.
#pragma once

#include <source_location>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/shared_callable.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::inline service {

/// A callback that took longer than slow_callback_report::longer_than, and has ended.
struct slow_callback {
  /// From just before the callback to just after it, by the monotonic clock, or by the service's virtual one.
  duration took;
  /// The call that made or armed the timer; for a ticker the call that began its grid.
  std::source_location armed_at;
  /// The callback's argument.
  firing fired;
  /// The timer's name as set by timer_handle::name; empty if it has none. Valid during the call of `tell`.
  std::string_view name{};
};

/// The limit, and the function that gets the reports. Off while `tell` is empty.
struct slow_callback_report {
  /// Callbacks that take longer than this are reported. Must not be negative.
  duration longer_than{};
  /// Called on the thread that ran the callback, without any lock, before threads that wait for the callback return;
  /// from several threads at once where the service has several shards. Its exceptions go to
  /// service_options::on_exception.
  shared_callable<void(const slow_callback&)> tell{};
};

}  // namespace foliot::inline service
