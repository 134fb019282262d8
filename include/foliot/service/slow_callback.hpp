// Callbacks that take too long: who armed them, and how long they took.
//
//   foliot::service_options options;
//   options.slow_callback = {.longer_than = 10ms, .tell = [](const foliot::slow_callback& slow) {
//     std::printf("%s:%u: %lld ns\n", slow.armed_at.file_name(), slow.armed_at.line(), (long long)slow.took.count());
//   }};
//
// A callback keeps all others of its shard waiting. With this option the shards measure each of them, two looks at
// the clock, and every timer keeps the place in the source that made it or armed it last, in a record that is some 88
// bytes larger. Without it neither is so.
#pragma once

#include <source_location>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::inline service {

/// A callback that took longer than it should have, and has ended.
struct slow_callback {
  /// From just before the callback to just after it, by the monotonic clock, or the service's virtual one.
  duration took;
  /// The call that made or armed the timer: of a ticker, the one that began its grid.
  std::source_location armed_at;
  /// What the callback was told.
  firing fired;
  /// What timer_handle::name() said; empty, where it said nothing. Valid during the call.
  std::string_view name{};
};

/// Off, as long as there is nobody to tell.
struct slow_callback_report {
  /// Callbacks that take longer than this are reported. Not negative.
  duration longer_than{};
  /// It runs on the thread that ran the callback, without any lock, before whoever waits for the callback
  /// hears of its end; on several threads at once, where there are several shards. What it throws goes to the
  /// service's exception handler.
  callable<void(const slow_callback&)> tell{};
};

}  // namespace foliot::inline service
