// The instants that a timer or a ticker delivers, and the tasks that wait for one.
//
// The state under the lock is the truth: whether an instant is to come, and which. This entry is in the processor's
// timers only while a task waits, and only as an alarm: a ring may be stale, and the state under the lock decides what
// follows. So no instant from before a stop or a reset is delivered after that call, and the call's result is exact. An
// instant that comes due while no task waits is found by the next task that receives.
//
// A ticker's alarm is started with its period: processor timers that keep periods (processor_heaps) keep it from tick
// to tick as long as tasks wait.
//
// A task that waits for the timer and nothing else waits alone. A stop, or the end of the handle, ends such waits.
// Receivers of a select stay, since a reset may still bring an instant.
//
// Thread safety: any thread. Lifetime: the channel outlives its handle as long as a receiver will call end_receive(),
// or a call of the alarm is on its way.
// Invariants: while there are receivers and an instant is to come, the alarm is pending, or its call is on its way;
// without receivers it is not pending. After a stop no receiver waits alone.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/grid.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/runtime_deadline.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// What a handle of a timer or a ticker points to.
class FOLIOT_EXPORT timer_channel final : public timer_entry, public pooled {
 public:
  /// A wait of a task for an instant. Part of its awaiter.
  class receiver {
   public:
    receiver() noexcept = default;
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;

    /// Whether end_receive() must be called although the channel has ended the wait.
    [[nodiscard]] bool comes_back() const noexcept { return comes_back_; }

   private:
    friend class timer_channel;
    enum class outcome : std::uint8_t { instant, no_memory, stopped, destroyed };

    wait_point* wait_ = nullptr;
    wait_word::source by_ = 0;
    list_links<receiver> links_;
    bool listed_ = false;      // with the next two under the channel's lock
    bool counted_ = false;     // counts in attached_
    bool alone_ = false;       // its task waits for nothing else
    bool comes_back_ = false;  // with the next two published by the claim of the wait
    outcome outcome_ = outcome::instant;
    instant value_;
  };
  /// Whether the task waits for this channel alone.
  enum class waits : std::uint8_t { alone, in_a_select };

  /// Delivers `first`, and with a positive period the further instants of that grid.
  timer_channel(scheduler& owner, instant first, duration period) noexcept
      : timer_entry(what_to_do), runtime_(reference_to(owner)), deadline_(first), period_(period) {}

  /// Takes the instant that is due.
  [[nodiscard]] std::optional<instant> try_receive() noexcept;
  /// Takes the instant that is due, into the receiver. Returns false if the task must wait; true also after a stop, if
  /// it waits alone: value_of() then throws. Throws std::logic_error if the runtime has ended.
  [[nodiscard]] bool receive_at_once(receiver& who, waits how);
  /// Queues the receiver. The wait is claimed when it has an instant, or, if it waits alone, when none will come.
  /// Throws std::bad_alloc.
  void begin_receive(receiver& who, wait_point& wait, wait_word::source by, waits how);
  /// Afterwards no thread touches the receiver. The channel may be deleted.
  void end_receive(receiver& who) noexcept;
  /// The instant received. Throws timer_stopped, and std::bad_alloc if the alarm could not be set again.
  [[nodiscard]] static instant value_of(const receiver& who) {
    if (who.outcome_ != receiver::outcome::instant) [[unlikely]]
      throw_outcome(who);
    return who.value_;
  }

  /// Arms the timer for `first`. Returns `superseded` if it was pending or its instant had not been received, `idle`
  /// otherwise, and `closed` if the runtime has ended: then nothing was done. Throws std::bad_alloc, with nothing
  /// changed.
  reset_result reset(runtime_deadline first) {
    scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(*owner, instant_on(*owner, first), duration::zero());
  }
  /// The same `first` from now.
  reset_result reset(duration first) {
    scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(*owner, deadline_in(*owner, first), duration::zero());
  }
  /// The same with a grid of that period from now on. Uses the cheaper clock: the grid may begin some microseconds
  /// later.
  reset_result reset_grid(duration period) {
    scheduler* const owner = runtime_.living();
    if (owner == nullptr) return reset_result::closed;
    return reset(*owner, deadline_after(now_or_later(*owner), period), period);
  }
  /// The same with the grid of `first`, from its first instant that has not passed.
  reset_result reset_grid(runtime_deadline first, duration period) {
    scheduler* const owner = runtime_.living();
    if (owner == nullptr) return reset_result::closed;
    return reset(*owner, next_on_grid(instant_on(*owner, first), period, now(*owner)), period);
  }
  /// Disarms the timer, and ends the waits of receivers that wait alone. Returns whether it was pending, or its instant
  /// had not been received.
  bool stop() noexcept;
  /// How many ticks were skipped.
  [[nodiscard]] std::uint64_t skipped() const noexcept;

  /// For the handle, which must not be used afterwards.
  void destroy() noexcept;

 private:
  ~timer_channel() = default;

  /// The alarm has come: under the lock of the timers.
  static then ring(timer_entry& self, ready_list&) noexcept {
    // acq_rel: pairs with answer(). One call at a time is on its way, and it sees what happened before every ring.
    return static_cast<timer_channel&>(self).rung_.exchange(true, seam::acq_rel) ? then::nothing : then::call;
  }
  static void answer(timer_entry& self) noexcept;
  static constexpr actions what_to_do{ring, answer};

  /// The present time if the next instant is due by then, or nothing.
  [[nodiscard]] std::optional<instant> time_if_due() const noexcept FOLIOT_REQUIRES(lock_) {
    const scheduler* const owner = runtime_.living();
    if (owner == nullptr || !armed_) return std::nullopt;
    const instant time = now(*owner);
    return is_due(deadline_, time) ? std::optional(time) : std::nullopt;
  }
  reset_result reset(scheduler& owner, instant first, duration period);
  instant take(instant time) noexcept FOLIOT_REQUIRES(lock_);
  void deliver() noexcept FOLIOT_REQUIRES(lock_);
  void unlist(receiver& who) noexcept FOLIOT_REQUIRES(lock_);
  bool claim(receiver& who, receiver::outcome what) noexcept FOLIOT_REQUIRES(lock_);
  void end_lone_waits(receiver::outcome what) noexcept FOLIOT_REQUIRES(lock_);
  void attach(receiver& who) noexcept FOLIOT_REQUIRES(lock_) {
    who.counted_ = true;
    ++attached_;
  }
  void detach(receiver& who) noexcept FOLIOT_REQUIRES(lock_) {
    who.counted_ = false;
    --attached_;
  }
  [[noreturn]] static void throw_outcome(const receiver& who);
  [[nodiscard]] bool is_last() const noexcept FOLIOT_REQUIRES(lock_) {
    return orphaned_ && attached_ == 0 && !rung_.load(seam::relaxed);  // the alarm cannot ring any more
  }

  const runtime_ref runtime_;
  mutable mutex lock_{lock_rank::object};
  // Whether a call of this entry is on its way. Set under the lock of the timers, cleared under lock_.
  seam::atomic<bool> rung_{false};
  bool armed_ FOLIOT_GUARDED_BY(lock_) = true;
  bool stopped_ FOLIOT_GUARDED_BY(lock_) = false;  // stop() was called after the latest reset
  bool orphaned_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint32_t attached_ FOLIOT_GUARDED_BY(lock_) = 0;  // receivers that will call end_receive
  instant deadline_ FOLIOT_GUARDED_BY(lock_);
  duration period_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t skipped_ FOLIOT_GUARDED_BY(lock_) = 0;
  // In the order of their waits.
  intrusive_list<receiver, &receiver::links_> receivers_ FOLIOT_GUARDED_BY(lock_);
};

/// An operation, see operation.hpp: receives the next instant.
class timer_receive {
 public:
  explicit timer_receive(timer_channel& channel) noexcept : channel_(&channel) {}
  ~timer_receive() { end(); }
  timer_receive(const timer_receive&) = delete;
  timer_receive& operator=(const timer_receive&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::timer; }
  [[nodiscard]] bool try_complete() { return channel_->receive_at_once(receiver_, timer_channel::waits::in_a_select); }
  void begin(wait_point& wait, wait_word::source by) { begin(wait, by, timer_channel::waits::in_a_select); }
  [[nodiscard]] bool try_complete_alone() { return channel_->receive_at_once(receiver_, timer_channel::waits::alone); }
  void begin_alone(wait_point& wait, wait_word::source by) { begin(wait, by, timer_channel::waits::alone); }
  void end() noexcept {
    // If the channel has ended the wait, it has mostly let go of the receiver already, and may be deleted.
    if (waits_ != nullptr && (!waits_->was_ended_by(by_) || receiver_.comes_back())) channel_->end_receive(receiver_);
    waits_ = nullptr;
  }
  [[nodiscard]] instant result() const { return timer_channel::value_of(receiver_); }

 private:
  void begin(wait_point& wait, wait_word::source by, timer_channel::waits how) {
    channel_->begin_receive(receiver_, wait, by, how);
    waits_ = &wait;
    by_ = by;
  }

  timer_channel* channel_;
  timer_channel::receiver receiver_;
  wait_point* waits_ = nullptr;
  wait_word::source by_ = 0;
};

}  // namespace foliot::runtime::detail
