// Contexts: cancel related work together, or end it at one deadline. (Go's package context, without its values.)
//
//   auto request = foliot::runtime::with_timeout(server, 5s);   // done after 5 s, or when `server` is
//   auto part = foliot::runtime::with_cancel(request);
//   const auto answer = co_await run_in(part, ask(database));   // its waits end when `part` is done
//   if (!answer) …                                              // answer.error(): cancelled, deadline_exceeded
//
// A context that descends from another one is done when its ancestor is done, or earlier. err() returns how it ended,
// and cause() returns why. A cancel_context owns a context that can be cancelled: it is move-only, and its destructor
// cancels the context. A context is a reference to it, for the code that has to react; it may be copied freely.
//
// Thread safety: any thread may use contexts; each object is a plain object. A context with a deadline must be made
// inside of a runtime, and the end of that runtime stops its timer. The context and its descendants may outlive the
// runtime; the deadline then no longer ends them. While the runtime ends, no other thread may use such a context, its
// ancestors or its descendants. If a later runtime makes a context with a deadline below it, that context has a timer
// of its own. Runtimes whose contexts descend from one another must use the same clock.
// Cost: a context is one record from the thread's pool, and with `processor-heaps` its deadline is another one. done()
// and run_in() allocate nothing besides the task. A cancel is O(contexts and waits below).
#pragma once

#include <exception>
#include <expected>
#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/context_node.hpp>
#include <foliot/runtime/detail/current_task.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// The cause of a context that ended without a cause given by the program.
class FOLIOT_EXPORT context_error : public std::exception {
 public:
  /// `why` is `cancelled` or `deadline_exceeded`.
  explicit context_error(context_end why) noexcept : why_(why) {}
  /// How the context ended.
  [[nodiscard]] context_end why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override {
    return why_ == context_end::deadline_exceeded ? "foliot: the context's deadline has passed"
                                                  : "foliot: the context was cancelled";
  }

 private:
  context_end why_;
};

/// A reference to a context. Copies refer to the same one.
class context {
 public:
  /// background(): never done.
  context() noexcept = default;

  /// Await the result, or make it a case of a select: it completes when the context is done, and at once from then on.
  /// The wait throws `cancelled` in a task that is asked to stop.
  [[nodiscard]] detail::operation_awaiter<detail::context_done> done() const {
    return detail::operation_awaiter<detail::context_done>(node_);
  }
  /// How the context ended; `none` as long as it is not done.
  [[nodiscard]] context_end err() const noexcept { return node_ ? node_->end() : context_end::none; }
  /// Null as long as the context is not done. Then the cause that was given to the cancel or with the deadline, or else
  /// a context_error.
  [[nodiscard]] std::exception_ptr cause() const {
    const context_end why = err();
    if (why == context_end::none) return nullptr;
    std::exception_ptr given = node_->cause();
    return given != nullptr ? given : std::make_exception_ptr(context_error(why));
  }
  /// The instant of the runtime's clock at which the context will be done at the latest. Never, if it has no deadline,
  /// or if the runtime that kept the deadline has ended. O(depth).
  [[nodiscard]] instant deadline() const noexcept { return node_ ? node_->deadline() : instant::never(); }

  /// Whether both refer to the same context.
  friend bool operator==(const context&, const context&) noexcept = default;

 protected:
  explicit context(detail::context_ptr node) noexcept : node_(std::move(node)) {}

  detail::context_ptr node_;

 private:
  friend class cancel_context;
  friend class context_callback;
  template <class Result>
  friend task<std::expected<Result, context_end>> run_in(context within, task<Result> body);
};

/// The root of all contexts: never done, no deadline.
[[nodiscard]] inline context background() noexcept { return context(); }

/// Owns a context that can be cancelled. Move-only.
class cancel_context : public context {
 public:
  cancel_context(cancel_context&&) noexcept = default;
  /// Cancels this object's context, then takes over that of `other`.
  cancel_context& operator=(cancel_context&& other) noexcept {
    if (this != &other) {
      cancel();
      node_ = std::move(other.node_);
    }
    return *this;
  }
  /// Cancels the context.
  ~cancel_context() { cancel(); }

  /// Makes the context, and all that descend from it, done with that cause, unless they are done already. Ends the
  /// waits for them, and schedules the calls of after_func(). Any thread. O(contexts and waits below).
  void cancel(const std::exception_ptr& cause = nullptr) noexcept {
    if (node_) node_->cancel(context_end::cancelled, cause);
  }

 private:
  friend cancel_context with_cancel(const context& parent);
  friend cancel_context with_deadline(const context& parent, runtime_deadline deadline,
                                      const std::exception_ptr& cause);

  explicit cancel_context(const context& parent) : context(detail::context_node::make(parent.node_.get())) {}
  cancel_context(const context& parent, instant deadline, const std::exception_ptr& cause)
      : context(detail::context_node::make(parent.node_.get(), deadline, cause)) {}
};

/// A context below `parent` that only a cancel ends. Throws std::bad_alloc.
[[nodiscard]] inline cancel_context with_cancel(const context& parent) { return cancel_context(parent); }
/// A context below `parent` that is also done, with that cause, when the runtime's clock shows `deadline`; at once if
/// it does already. Throws std::logic_error outside of a runtime, std::bad_alloc.
[[nodiscard]] inline cancel_context with_deadline(const context& parent, runtime_deadline deadline,
                                                  const std::exception_ptr& cause = nullptr) {
  return cancel_context(parent, detail::instant_on(detail::this_scheduler("a context with a deadline"), deadline),
                        cause);
}
/// The same with the deadline `delay` from now.
[[nodiscard]] inline cancel_context with_timeout(const context& parent, duration delay,
                                                 const std::exception_ptr& cause = nullptr) {
  return with_deadline(parent, detail::deadline_in(detail::this_scheduler("a context with a timeout"), delay), cause);
}

/// The handle of a function that is called when a context is done. Move-only. Its destructor gives the guarantees of
/// callback_timer's. It may outlive its runtime: a context that is cancelled after the end of that runtime does not
/// call the function.
class context_callback {
 public:
  /// An empty handle: stop() returns `idle`.
  context_callback() noexcept = default;

  /// Prevents the call. Returns `stopped`: the function was not called and will not be; `running`: it is running now;
  /// or `idle`: it was called or stopped before. Does not wait.
  stop_result stop() noexcept { return hook_ == nullptr ? stop_result::idle : hook_->stop(); }

 private:
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  friend context_callback after_func(const context& when, Function&& function);

  context_callback(const context& when, callback_timer timer)
      : hook_(std::make_unique<detail::context_callback_hook>(when.node_, std::move(timer))) {}

  std::unique_ptr<detail::context_callback_hook> hook_;
};

/// Calls `function` once when `when` is done, soon if it is done already, on the runtime's processors as a
/// callback_timer does. Throws as callback_timer's constructor and reset do; the call itself then needs no memory.
template <class Function>
  requires std::is_invocable_r_v<void, std::decay_t<Function>&>
[[nodiscard("the call ends with its handle")]] context_callback after_func(const context& when, Function&& function) {
  return context_callback(when, callback_timer(std::forward<Function>(function)));
}

/// Runs `body` as a part of the calling task. When the context is done, the waits of `body` end. Gives the result of
/// `body`, also if it ends normally after the context is done, or how the context ended. Throws what `body` throws.
template <class Result>
task<std::expected<Result, context_end>> run_in(context within, task<Result> body) {
  detail::task_state& self = co_await detail::inner(detail::current_task());
  detail::context_scope scope(within.node_, self);
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await detail::inner(body);
      co_return std::expected<void, context_end>();
    } else {
      co_return co_await detail::inner(body);
    }
  } catch (const detail::scope_expired& which) {
    if (!which.is(scope.scope())) throw;
  }
  co_return std::unexpected(within.err());
}

}  // namespace foliot::runtime
