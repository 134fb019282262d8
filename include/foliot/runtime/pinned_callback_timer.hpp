// A timer that lies in the user's object and calls a function on the runtime's processors: nothing is allocated, and
// the object that is touched anyway brings its timer along.
//
//   struct session {
//     struct close_idle {
//       session* self;
//       void operator()() const { self->close(); }
//     };
//     session() : idle(30s, close_idle{this}) {}
//     void received() { idle.reset(30s); }
//     foliot::runtime::pinned_callback_timer<close_idle> idle;  // last, so that it is destroyed first
//   };
//
// It does what a callback_timer does, with the same outcomes, on the same threads. The differences:
//   - It is neither copied nor moved, and never empty.
//   - It has no memory of its own, whichever closure it has. Only the processor's timers allocate, where they have to
//     grow; the timers of Go 1.14 (run_options::timers) also have a record for each timer, from its first start on.
//   - It may be destroyed at any moment, and the object around it with it: see Lifetime. The closure is moved to the
//     stack before it is called, and back afterwards, a large one too. So it must be nothrow move constructible, and
//     fit on a worker's stack.
//   - Exceptions of the function go to run_options::on_failure under the name `pinned_callback_timer`.
//
// Thread safety: any thread, and the function itself, may call reset, reset_at, stop and stop_and_wait, also
// concurrently. No other thread may use the timer while it is destroyed. That holds for the function, too: it may
// destroy the timer only if no call of another thread, the constructor included, is still under way; such a call may
// touch the timer after it has armed it, when the function may already run. While a task waits in stop_and_wait() until
// the function returns, the object must stay; a closure that owns it does not keep it, since its captures are destroyed
// first. A timer may outlive its runtime as a callback_timer may.
// Lifetime: when the destructor returns, the function does not run and never will, and nothing uses the object. It may
// be called
//   - on any thread: it blocks while another thread runs the function, so the caller must not hold a lock that the
//     function waits for;
//   - inside the function, or inside the destructor of a capture: it returns at once, the function goes on, and its
//     captures are destroyed when it returns;
//   - inside the function of another timer that was due at the same time: the destroyed timer is not called any more,
//     and nothing waits.
// Two functions must not destroy each other's timers: they would deadlock.
// Time: a delay of zero or less means now; a deadline past the end of time means never.
// Complexity: as callback_timer; a destructor is O(1), and one more lock if the timer was due and not yet called. Among
// the timers that are due at once, pinned ones cost one uncontended lock a call.
// docs/decisions/0038-a-pinned-callback-in-a-runtime.md says why it is as it is.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/runtime/detail/pinned_callback.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/stop_and_wait.hpp>
#include <foliot/runtime/runtime_deadline.hpp>

namespace foliot::runtime {

/// A function or closure that a pinned_callback_timer can call.
template <class Function>
concept pinned_callback_function =
    std::is_invocable_r_v<void, Function&> && std::same_as<Function, std::decay_t<Function>> &&
    std::is_nothrow_move_constructible_v<Function>;

/// A timer that calls a function, in the user's object: see the head of this file.
template <pinned_callback_function Function>
class pinned_callback_timer : private detail::pinned_callback {
 public:
  /// An idle timer of the caller's runtime: reset() starts it. Throws std::logic_error outside of a runtime, and
  /// std::invalid_argument for a null function.
  [[nodiscard("the timer ends with its object")]] explicit pinned_callback_timer(Function function)
      : pinned_callback(closure_of_this_type, detail::this_scheduler("a timer")) {
    foliot::detail::refuse_null<Function>(function);
    std::construct_at(&closure_, std::move(function));
  }
  /// A timer that calls the function `delay` from now. Throws as the constructor above, and std::bad_alloc; there is no
  /// timer then.
  [[nodiscard("the timer ends with its object")]] pinned_callback_timer(duration delay, Function function)
      : pinned_callback_timer(std::move(function)) {
    start(delay);
  }
  /// The same for a deadline (runtime_deadline.hpp); one that has passed means now. Throws std::invalid_argument also
  /// for a time point of another clock.
  [[nodiscard("the timer ends with its object")]] pinned_callback_timer(runtime_deadline deadline, Function function)
      : pinned_callback_timer(std::move(function)) {
    start(deadline);
  }
  pinned_callback_timer(const pinned_callback_timer&) = delete;
  pinned_callback_timer& operator=(const pinned_callback_timer&) = delete;
  /// Stops the timer for good: see the file head.
  ~pinned_callback_timer() {
    if (destroy()) std::destroy_at(&closure_);
  }

  /// Arms the timer to call the function `delay` from now, whether the timer is idle, pending or running; returns which
  /// it was. Returns `closed`, and starts nothing, after stop_and_wait() and after the end of the runtime. Throws
  /// std::bad_alloc: the timer is then as it was.
  reset_result reset(duration delay) { return pinned_callback::reset(delay); }
  /// The same for a deadline (runtime_deadline.hpp); one that has passed means now. Throws std::invalid_argument for a
  /// time point of another clock; the timer is then as it was.
  reset_result reset_at(runtime_deadline deadline) { return pinned_callback::reset(deadline); }

  /// Cancels the latest start if the function has not yet been called for it. Returns `stopped`: the function will not
  /// be called; `running`: it is running now; or `idle`: nothing was pending. Does not wait. A later reset starts the
  /// timer again.
  stop_result stop() noexcept { return pinned_callback::stop(); }

  /// Stops the timer for good. A task must await the result, which is that of stop(): the task continues once the
  /// function does not run and its captures have been destroyed. Every later reset returns `closed`. The wait does not
  /// end early if the task is asked to stop.
  [[nodiscard]] detail::stop_and_wait_awaiter<detail::pinned_callback> stop_and_wait() noexcept {
    return detail::stop_and_wait_awaiter<detail::pinned_callback>(this);
  }

 private:
  /// The closure while it is on the stack.
  class on_stack {
   public:
    on_stack(Function& in_object, call_frame& call) noexcept
        : in_object_(in_object), call_(call), function(std::move(in_object)) {
      std::destroy_at(&in_object_);
      call_.move_out();
    }
    on_stack(const on_stack&) = delete;
    on_stack& operator=(const on_stack&) = delete;
    ~on_stack() = default;

    /// Moves it back, if the object still exists.
    void move_back() noexcept {
      if (call_.object_is_gone()) return;
      std::construct_at(&in_object_, std::move(function));
      call_.move_back();
    }

   private:
    Function& in_object_;
    call_frame& call_;

   public:
    Function function;
  };

  static Function& closure_in(detail::pinned_callback& self) noexcept {
    return static_cast<pinned_callback_timer&>(self).closure_;
  }
  static void run(detail::pinned_callback& self, call_frame& call) {
    on_stack own(closure_in(self), call);
    struct at_end {
      on_stack& own;
      ~at_end() { own.move_back(); }
    };
    const at_end moves_back{own};
    own.function();
  }
  static void destroy_closure(detail::pinned_callback& self, call_frame& call) noexcept {
    const on_stack own(closure_in(self), call);
  }
  static constexpr closure_actions closure_of_this_type{{note_due, call}, run, destroy_closure};

  union {
    Function closure_;  // the thread that has set `running` in the word owns it
  };
};

/// `pinned_callback_timer t{function}` has the function's type.
template <class Function>
pinned_callback_timer(Function) -> pinned_callback_timer<Function>;
/// The same with a delay or a deadline.
template <class Time, class Function>
pinned_callback_timer(Time, Function) -> pinned_callback_timer<Function>;

}  // namespace foliot::runtime
