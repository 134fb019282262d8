// A timer that tasks wait for. (Go's time.Timer; the one that calls a function is callback_timer.)
//
//   foliot::runtime::timer idle{30s};
//   const foliot::instant when = co_await idle;     // the instant it was set for
//   idle.reset(30s);
//
// It is as if a task sent the instant to whoever receives first: to one, once for each start. What nobody has received
// waits; stop and reset take it back, even long after its time, and say so, and nothing of before is received after
// them. A timer that no task waits for costs the processors nothing, whether it is stopped or not.
//
// A stop ends the waits of tasks that wait for the timer and for nothing else: they throw timer_stopped. So does a wait
// that begins after a stop and before the next reset, and one whose handle is destroyed, or assigned to, meanwhile. The
// answer of the stop agrees: `stopped`, and a one-shot's instant goes to nobody; `idle`, and it has gone to somebody.
// In a select a stopped timer is a case that does not come, until it is reset; also in a select of this case alone. A
// timer whose instant another task has received is not stopped: who waits then waits for the next reset.
//
// Thread safety: all but moving and destroying from any thread; several tasks may wait. A handle is not destroyed while
// another thread calls its functions, or a task begins to wait. A handle may outlive its runtime, but no other
// thread uses it while that ends. Afterwards nothing comes: a reset answers `closed`, a stop `idle`, try_receive gives
// nothing, and a wait, in another runtime, throws std::logic_error.
// Time: zero or less means now; past the end of time, never.
#pragma once

#include <optional>
#include <stdexcept>
#include <utility>

#include <foliot/core/outcome.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/timer_channel.hpp>
#include <foliot/runtime/timer_stopped.hpp>

namespace foliot::runtime {

namespace detail {

/// What timer and ticker have in common: a move-only handle.
class timer_channel_handle {
 public:
  timer_channel_handle(timer_channel_handle&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
  timer_channel_handle& operator=(timer_channel_handle&& other) noexcept {
    if (this != &other) {
      drop();
      channel_ = std::exchange(other.channel_, nullptr);
    }
    return *this;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return channel_ != nullptr; }

  /// The next instant, as an operation: for co_await, or a select. Throws std::logic_error on an empty handle; the wait
  /// does so after the end of the runtime. Alone it throws timer_stopped: see above.
  [[nodiscard]] operation_awaiter<timer_receive> c() const { return operation_awaiter<timer_receive>(checked()); }
  operation_awaiter<timer_receive> operator co_await() const { return operation_awaiter<timer_receive>(checked()); }
  /// The instant, if it has come and nobody has received it.
  [[nodiscard]] std::optional<instant> try_receive() const { return checked().try_receive(); }

  /// Nothing comes any more, until it is reset: `stopped` if something would have, else `idle`. Tasks that wait for
  /// nothing else throw timer_stopped, whatever the answer. O(tasks that wait).
  stop_result stop() noexcept {
    return channel_ != nullptr && channel_->stop() ? stop_result::stopped : stop_result::idle;
  }

 protected:
  timer_channel_handle() noexcept = default;
  explicit timer_channel_handle(timer_channel* channel) noexcept : channel_(channel) {}
  ~timer_channel_handle() { drop(); }

  [[nodiscard]] timer_channel& checked() const {
    if (channel_ == nullptr) throw std::logic_error("foliot: an empty timer was used: give it a time first");
    return *channel_;
  }

  timer_channel* channel_ = nullptr;

 private:
  void drop() noexcept {
    if (channel_ != nullptr) std::exchange(channel_, nullptr)->destroy();
  }
};

}  // namespace detail

class timer : public detail::timer_channel_handle {
 public:
  /// Empty: only assignment, destruction and stop mean anything.
  timer() noexcept = default;
  /// Throws std::logic_error outside of a runtime, std::bad_alloc.
  explicit timer(duration delay) : timer(detail::this_scheduler("a timer"), delay) {}
  explicit timer(instant deadline)
      : timer_channel_handle(new detail::timer_channel(detail::this_scheduler("a timer"), deadline, duration::zero())) {
  }

  /// Comes `delay` from now, or at that instant of the runtime's clock: `superseded` if something was to come that
  /// nobody has received, else `idle`; `closed` after the end of the runtime. Throws std::logic_error on an empty
  /// handle; std::bad_alloc, and it is then as it was.
  reset_result reset(duration delay) { return checked().reset(delay); }
  reset_result reset_at(instant deadline) { return checked().reset(deadline); }

 private:
  timer(detail::scheduler& owner, duration delay)
      : timer_channel_handle(new detail::timer_channel(owner, detail::deadline_in(owner, delay), duration::zero())) {}
};

}  // namespace foliot::runtime
