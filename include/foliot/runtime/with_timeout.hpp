// A task with a time limit.
//
//   const auto reply = co_await with_timeout(ask(server), 2s);    // std::expected<answer, timed_out>
//   if (!reply) …
//
// The task runs as a part of the caller. At the deadline its current wait ends, and so does every further one:
// destructors run as for `cancelled`, and the caller continues. If the task ends normally all the same, because it does
// not wait any more, its result is returned; so is a result that is ready at the deadline and not before it. Timeouts
// nest: each ends the task that it was given, and if two expire, the outer one counts. A task inside of shielded() goes
// on.
//
// Thread safety: only the calling task uses it. Cost: a timer in the frame.
#pragma once

#include <concepts>
#include <expected>
#include <type_traits>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/current_task.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timed_scope.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// The error of a task that had no result in time.
class timed_out {
 public:
  friend bool operator==(const timed_out&, const timed_out&) noexcept = default;
};

/// Runs `body` until the runtime's clock shows `deadline`, and gives its result or timed_out. A task must await it.
/// Throws what `body` throws, std::bad_alloc, and std::invalid_argument for a time point of another clock.
template <class Result>
task<std::expected<Result, timed_out>> with_deadline(task<Result> body, runtime_deadline deadline) {
  detail::task_state& self = co_await detail::inner(detail::current_task());
  detail::timed_scope scope(self);
  scope.start(detail::instant_on(self.owner(), deadline));
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await detail::inner(body);
      co_return std::expected<void, timed_out>();
    } else {
      co_return co_await detail::inner(body);
    }
  } catch (const detail::scope_expired& which) {
    if (!which.is(scope.scope())) throw;
  }
  co_return std::unexpected(timed_out());
}

/// The same with the deadline `length` after the task is awaited.
template <class Result>
task<std::expected<Result, timed_out>> with_timeout(task<Result> body, duration length) {
  detail::task_state& self = co_await detail::inner(detail::current_task());
  auto limited = with_deadline(std::move(body), detail::deadline_in(self.owner(), length));
  co_return co_await detail::inner(limited);
}

namespace detail {

template <class Function>
class blocking_call;
template <class Executor, class Function>
class executor_call;

/// Whether it is one of foliot's awaiters, and no task.
template <class Waits>
concept awaiter_of_foliot = std::derived_from<Waits, task_awaiter>;
/// Whether it is a function that returns a task.
template <class Function>
concept makes_task = std::invocable<Function&> && is_task<std::invoke_result_t<Function&>>;

using never_made = task<std::expected<void, timed_out>>;

}  // namespace detail

// For arguments that are not tasks. A call of a deleted function is an error that shows its line, with the comment.
// clang-format off

/// Not for a call by blocking().
template <class Function>
detail::never_made with_timeout(const detail::blocking_call<Function>&, duration) = delete;  // foliot: nothing ends a call by blocking(): see docs/cookbook.md, "A blocking call that takes too long"
/// The same.
template <class Function>
detail::never_made with_deadline(const detail::blocking_call<Function>&, runtime_deadline) = delete;  // foliot: nothing ends a call by blocking(): see docs/cookbook.md, "A blocking call that takes too long"
/// Not for a call by call_on().
template <class Executor, class Function>
detail::never_made with_timeout(const detail::executor_call<Executor, Function>&, duration) = delete;  // foliot: nothing ends a call by call_on(): see docs/cookbook.md, "A blocking call that takes too long"
/// The same.
template <class Executor, class Function>
detail::never_made with_deadline(const detail::executor_call<Executor, Function>&, runtime_deadline) = delete;  // foliot: nothing ends a call by call_on(): see docs/cookbook.md, "A blocking call that takes too long"
/// Not for other waits.
template <detail::awaiter_of_foliot Waits>
detail::never_made with_timeout(const Waits&, duration) = delete;  // foliot: a time limit is for a task: write one that waits for this; or select(operation, after(2s))
/// The same.
template <detail::awaiter_of_foliot Waits>
detail::never_made with_deadline(const Waits&, runtime_deadline) = delete;  // foliot: a time limit is for a task: write one that waits for this; or select(operation, after(2s))
/// Not for a function.
template <detail::makes_task Function>
detail::never_made with_timeout(Function&&, duration) = delete;  // foliot: a time limit is for a task: call the function, with_timeout(ask(server), 2s)
/// The same.
template <detail::makes_task Function>
detail::never_made with_deadline(Function&&, runtime_deadline) = delete;  // foliot: a time limit is for a task: call the function, with_deadline(ask(server), deadline)
// clang-format on

}  // namespace foliot::runtime
