// A timer that tasks wait for. (Go's time.Timer. callback_timer is the one that calls a function.)
//
//   foliot::runtime::timer idle{30s};
//   const foliot::instant when = co_await idle;     // the instant that it was set for
//   idle.reset(30s);
//   auto chosen = co_await select(idle.c(), requests.receive());     // the same wait as a case of a select
//
// Each start delivers its instant to one task: the first that receives it. An instant that no task has received is
// kept; stop() and reset() discard it, even long after it was due, and their result shows that: no instant of an
// earlier start is received after them. A timer that no task waits for costs the processors nothing, stopped or not.
//
// A stop ends the waits of tasks that wait for the timer alone: they throw timer_stopped. A wait that begins after a
// stop and before the next reset throws it too, and so does a wait whose handle is destroyed or assigned to. The result
// of the stop agrees with what the tasks see: after `stopped` no task receives the instant; `idle` means that a task
// has received it, or that the timer was stopped before. In a select a stopped timer is a case that does not complete
// until the timer is reset, also if it is the only case. A timer whose instant was received is not stopped: a task that
// waits for it then waits for the next reset.
//
// Thread safety: any thread may call all functions but moving and destroying, and several tasks may wait. A handle must
// not be destroyed while another thread calls its functions or a task begins to wait. A handle may outlive its runtime,
// but no other thread may use it while the runtime ends. After that no instant comes: reset() returns `closed`, stop()
// returns `idle`, try_receive() returns nothing, and a wait, in another runtime, throws std::logic_error.
// Time: a delay of zero or less means now; a deadline past the end of time means never.
#pragma once

#include <optional>
#include <stdexcept>
#include <utility>

#include <foliot/core/outcome.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/timer_channel.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/timer_stopped.hpp>

namespace foliot::runtime {

namespace detail {

/// What timer and ticker have in common: a move-only handle of a timer_channel.
class timer_channel_handle {
 public:
  /// `other` is empty afterwards.
  timer_channel_handle(timer_channel_handle&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
  /// Ends this handle's timer, whose waits throw timer_stopped, then takes over the timer of `other`.
  timer_channel_handle& operator=(timer_channel_handle&& other) noexcept {
    if (this != &other) {
      drop();
      channel_ = std::exchange(other.channel_, nullptr);
    }
    return *this;
  }

  /// Whether the handle has a timer.
  [[nodiscard]] explicit operator bool() const noexcept { return channel_ != nullptr; }

  /// Await the result, or make it a case of a select: it waits for the next instant, and gives it. Throws
  /// std::logic_error on an empty handle. The wait throws timer_stopped (see the file head), `cancelled` in a task that
  /// is asked to stop, std::logic_error after the end of the runtime, and std::bad_alloc.
  [[nodiscard]] operation_awaiter<timer_receive> c() const { return operation_awaiter<timer_receive>(checked()); }
  /// The same as c().
  operation_awaiter<timer_receive> operator co_await() const { return operation_awaiter<timer_receive>(checked()); }
  /// The instant, if it is due and no task has received it. Does not wait. Throws std::logic_error on an empty handle.
  [[nodiscard]] std::optional<instant> try_receive() const { return checked().try_receive(); }

  /// Stops the timer until the next reset. Returns `stopped` if it was pending or its instant had not been received,
  /// otherwise `idle`. Tasks that wait for the timer alone throw timer_stopped in either case. O(waiting tasks).
  stop_result stop() noexcept {
    return channel_ != nullptr && channel_->stop() ? stop_result::stopped : stop_result::idle;
  }

 protected:
  timer_channel_handle() noexcept = default;
  explicit timer_channel_handle(timer_channel* channel) noexcept : channel_(channel) {}
  ~timer_channel_handle() { drop(); }

  [[nodiscard]] timer_channel& checked() const {
    if (channel_ == nullptr)
      throw std::logic_error(
          "foliot: this timer is empty (default-constructed or moved from): assign one that has a time first");
    return *channel_;
  }

  timer_channel* channel_ = nullptr;

 private:
  void drop() noexcept {
    if (channel_ != nullptr) std::exchange(channel_, nullptr)->destroy();
  }
};

}  // namespace detail

/// A handle to a timer that tasks wait for. Move-only.
class timer : public detail::timer_channel_handle {
 public:
  /// An empty handle: only assignment, destruction and stop() mean anything.
  timer() noexcept = default;
  /// A timer that is due `delay` from now. Throws std::logic_error outside of a runtime, std::bad_alloc.
  [[nodiscard("the timer ends with its handle")]] explicit timer(duration delay)
      : timer(detail::this_scheduler("a timer"), delay) {}
  /// The same for an instant of the runtime's clock, or a time point of std::chrono::steady_clock where that is the
  /// runtime's; one that has passed means now. Throws std::invalid_argument for a time point of another clock.
  [[nodiscard("the timer ends with its handle")]] explicit timer(runtime_deadline deadline)
      : timer(detail::this_scheduler("a timer"), deadline) {}

  /// Arms the timer to be due `delay` from now, also after a stop. Returns `superseded` if it was pending or its
  /// instant had not been received, otherwise `idle`; and `closed` after the end of the runtime: then nothing was
  /// started. Throws std::logic_error on an empty handle, and std::bad_alloc: the timer is then as it was.
  reset_result reset(duration delay) { return checked().reset(delay); }
  /// The same for a deadline, as the constructor takes it; one that has passed means now.
  reset_result reset_at(runtime_deadline deadline) { return checked().reset(deadline); }

 private:
  timer(detail::scheduler& owner, duration delay)
      : timer_channel_handle(new detail::timer_channel(owner, detail::deadline_in(owner, delay), duration::zero())) {}
  timer(detail::scheduler& owner, runtime_deadline deadline)
      : timer_channel_handle(new detail::timer_channel(owner, detail::instant_on(owner, deadline), duration::zero())) {}
};

}  // namespace foliot::runtime
