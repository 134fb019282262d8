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

#include <expected>
#include <type_traits>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/current_task.hpp>
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

class context;

namespace detail {

/// Whether it is neither a task nor a context, which has functions of these names as well.
template <class Body>
inline constexpr bool is_no_body = !is_task<Body>;
template <class Body>
  requires std::is_class_v<Body>
inline constexpr bool is_no_body<Body> = !is_task<Body> && !std::is_base_of_v<context, Body>;

template <class Function>
class blocking_call;
template <class Body>
inline constexpr bool is_blocking = false;
template <class Function>
inline constexpr bool is_blocking<blocking_call<Function>> = true;

/// Does not compile, and says what to write instead. `Body` is not a task.
template <class Body>
consteval void check_body() {
  static_assert(!is_blocking<Body>,
                "foliot: nothing ends a call by blocking(), so a time limit for it needs a task that goes on without "
                "it: docs/cookbook.md, \"A blocking call that takes too long\"");
  static_assert(is_blocking<Body>,
                "foliot: with_timeout() and with_deadline() take a task, such as ask(server), which they end at the "
                "deadline; for one operation write select(operation, after(2s))");
}

}  // namespace detail

/// For an object that is not a task: does not compile, and the message says what to write instead.
template <class Body>
  requires(detail::is_no_body<std::remove_cvref_t<Body>>)
task<std::expected<void, timed_out>> with_deadline(Body&& /*body*/, runtime_deadline /*deadline*/) {
  detail::check_body<std::remove_cvref_t<Body>>();
  std::unreachable();
}
/// The same.
template <class Body>
  requires(detail::is_no_body<std::remove_cvref_t<Body>>)
task<std::expected<void, timed_out>> with_timeout(Body&& /*body*/, duration /*length*/) {
  detail::check_body<std::remove_cvref_t<Body>>();
  std::unreachable();
}

}  // namespace foliot::runtime
