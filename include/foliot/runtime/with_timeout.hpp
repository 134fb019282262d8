// A task that has so much time and no more.
//
//   const auto reply = co_await with_timeout(ask(server), 2s);    // std::expected<answer, timed_out>
//   if (!reply) …
//
// The task runs as a part of the caller. At the deadline the wait that it is in ends, and every further one:
// destructors run, as for `cancelled`, and the caller goes on. A task that comes to its end all the same, because it
// does not wait any more, has its result; so has one whose result is ready at the deadline, not before it. Timeouts
// nest: each ends what it was put around, and of two that have come the outer one counts. What is `shielded` goes on.
//
// Thread safety: the calling task's. The deadline counts from when it is awaited. Cost: a timer in the frame.
// Throws what the task throws, std::bad_alloc.
#pragma once

#include <expected>
#include <type_traits>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/current_task.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timed_scope.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// There was no result in time.
class timed_out {
 public:
  friend bool operator==(const timed_out&, const timed_out&) noexcept = default;
};

template <class Result>
task<std::expected<Result, timed_out>> with_deadline(task<Result> body, instant deadline) {
  detail::task_state& self = co_await detail::current_task();
  detail::timed_scope scope(self);
  scope.start(deadline);
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await body;
      co_return std::expected<void, timed_out>();
    } else {
      co_return co_await body;
    }
  } catch (const detail::scope_expired& which) {
    if (!which.is(scope.scope())) throw;
  }
  co_return std::unexpected(timed_out());
}

template <class Result>
task<std::expected<Result, timed_out>> with_timeout(task<Result> body, duration length) {
  detail::task_state& self = co_await detail::current_task();
  auto limited = with_deadline(std::move(body), detail::deadline_in(self.owner(), length));
  co_return co_await limited;
}

}  // namespace foliot::runtime
