// Contexts: what is cancelled, or comes to its deadline, together. (Go's package context, without its values.)
//
//   auto request = foliot::runtime::with_timeout(server, 5s);   // done after 5 s, or when `server` is
//   auto part = foliot::runtime::with_cancel(request);
//   const auto answer = co_await run_in(part, ask(database));   // its waits end when `part` is done
//   if (!answer) …                                              // answer.error(): cancelled, deadline_exceeded
//
// A context that descends from another is done when that is, or earlier. What made it done is told with it: err() says
// which way, cause() says why. Whoever makes one that can be done owns it: cancel_context is move-only, and cancels
// when it goes. A context is a reference to it, for those who are to know; it is copied freely.
//
// Thread safety: all from any thread, as plain objects'. A context with a deadline is made in a runtime, whose end
// stops its timer. The context and its descendants may outlive that runtime; then the deadline no longer ends them.
// While the runtime ends, no other thread may use such a context, its ancestors or its descendants. A context with a
// deadline that a later runtime makes below it has its own timer. Runtimes whose contexts descend from one another use
// the same clock. Cost: a context is one piece of those that a thread keeps, and with `processor-heaps`
// another one for its deadline; done() and run_in allocate nothing besides the task; a cancel is O(contexts and waits
// below).
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
#include <foliot/runtime/task.hpp>

namespace foliot::runtime {

/// The cause of a context that nobody gave another one.
class FOLIOT_EXPORT context_error : public std::exception {
 public:
  explicit context_error(context_end why) noexcept : why_(why) {}
  [[nodiscard]] context_end why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override {
    return why_ == context_end::deadline_exceeded ? "foliot: the context's deadline has passed"
                                                  : "foliot: the context was cancelled";
  }

 private:
  context_end why_;
};

class context {
 public:
  /// background(): never done.
  context() noexcept = default;

  /// co_await it, or take it as a case of a select: completes when the context is done, and at once from then on.
  [[nodiscard]] detail::operation_awaiter<detail::context_done> done() const {
    return detail::operation_awaiter<detail::context_done>(node_);
  }
  /// `none` as long as it is not done.
  [[nodiscard]] context_end err() const noexcept { return node_ ? node_->end() : context_end::none; }
  /// Null as long as it is not done; then what the cancel was given, or a context_error.
  [[nodiscard]] std::exception_ptr cause() const {
    const context_end why = err();
    if (why == context_end::none) return nullptr;
    std::exception_ptr given = node_->cause();
    return given != nullptr ? given : std::make_exception_ptr(context_error(why));
  }
  /// When it will be done at the latest, by the runtime's clock; never, if that is open, as it is when the runtime that
  /// kept the deadline has ended. O(depth).
  [[nodiscard]] instant deadline() const noexcept { return node_ ? node_->deadline() : instant::never(); }

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

/// Never done, without a deadline: what all others descend from.
[[nodiscard]] inline context background() noexcept { return context(); }

class cancel_context : public context {
 public:
  cancel_context(cancel_context&&) noexcept = default;
  cancel_context& operator=(cancel_context&& other) noexcept {
    if (this != &other) {
      cancel();
      node_ = std::move(other.node_);
    }
    return *this;
  }
  ~cancel_context() { cancel(); }

  /// It, and all that descend from it, are done, unless they were. Those who wait go on; functions are called soon.
  void cancel(const std::exception_ptr& cause = nullptr) noexcept {
    if (node_) node_->cancel(context_end::cancelled, cause);
  }

 private:
  friend cancel_context with_cancel(const context& parent);
  friend cancel_context with_deadline(const context& parent, instant deadline, const std::exception_ptr& cause);

  explicit cancel_context(const context& parent) : context(detail::context_node::make(parent.node_.get())) {}
  cancel_context(const context& parent, instant deadline, const std::exception_ptr& cause)
      : context(detail::context_node::make(parent.node_.get(), deadline, cause)) {}
};

/// Throws std::bad_alloc.
[[nodiscard]] inline cancel_context with_cancel(const context& parent) { return cancel_context(parent); }
/// Done when the runtime's clock shows `deadline`, at once if it does; `cause` is the cause then. Throws
/// std::logic_error outside of a runtime, std::bad_alloc.
[[nodiscard]] inline cancel_context with_deadline(const context& parent, instant deadline,
                                                  const std::exception_ptr& cause = nullptr) {
  return cancel_context(parent, deadline, cause);
}
/// The same `delay` from now.
[[nodiscard]] inline cancel_context with_timeout(const context& parent, duration delay,
                                                 const std::exception_ptr& cause = nullptr) {
  return with_deadline(parent, detail::deadline_in(detail::this_scheduler("a context with a timeout"), delay), cause);
}

/// A function that is called when a context is done. Move-only; it goes with the handle, as certainly as that of a
/// callback_timer. It may outlive its runtime, and is not called then: a context that is cancelled after the end of
/// that runtime calls nothing of it.
class context_callback {
 public:
  context_callback() noexcept = default;

  /// `stopped`: it had not been called, and will not be; `running`: it is just now; `idle`: it was, or was stopped.
  /// Does not wait.
  stop_result stop() noexcept { return hook_ == nullptr ? stop_result::idle : hook_->stop(); }

 private:
  template <class Function>
    requires std::is_invocable_r_v<void, std::decay_t<Function>&>
  friend context_callback after_func(const context& when, Function&& function);

  context_callback(const context& when, callback_timer timer)
      : hook_(std::make_unique<detail::context_callback_hook>(when.node_, std::move(timer))) {}

  std::unique_ptr<detail::context_callback_hook> hook_;
};

/// Has the function called once when `when` is done, or soon if it is: on the scheduler, as a callback_timer's. Throws
/// as callback_timer's constructor and reset: from then on the call needs no memory.
template <class Function>
  requires std::is_invocable_r_v<void, std::decay_t<Function>&>
[[nodiscard("the call ends with its handle")]] context_callback after_func(const context& when, Function&& function) {
  return context_callback(when, callback_timer(std::forward<Function>(function)));
}

/// Runs `body` as a part of the calling task; when the context is done its waits end. Gives its result, or why the
/// context is done. A body that comes to its end all the same has its result.
template <class Result>
task<std::expected<Result, context_end>> run_in(context within, task<Result> body) {
  detail::task_state& self = co_await detail::current_task();
  detail::context_scope scope(within.node_, self);
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await body;
      co_return std::expected<void, context_end>();
    } else {
      co_return co_await body;
    }
  } catch (const detail::scope_expired& which) {
    if (!which.is(scope.scope())) throw;
  }
  co_return std::unexpected(within.err());
}

}  // namespace foliot::runtime
