// What a timer and a ticker hold: the instants that they deliver, and the tasks that wait for one.
//
// What is true lies under the lock: whether an instant is to come, and which. Nothing of it is in the processor's
// timers unless a task waits; then this entry is, as an alarm and no more: when it rings, or is found to have rung in
// vain, the lock decides. So no instant of before a stop or a reset is delivered after it, what they answer is what
// happened, and one that has come due while nobody looked is found by whoever looks next.
//
// A ticker's alarm is started with its period: where the processor's timers keep that (processor_heaps), it stays in
// them from beat to beat as long as tasks wait.
//
// A task that waits for nothing else waits alone. A stop, or the end of the handle, ends such waits; receivers of a
// select stay, since a reset may still bring an instant.
//
// Thread safety: any thread. Lifetime: the record outlives its handle as long as a receiver will call end_receive, or
// an alarm is on its way. Invariants: while there are receivers and an instant is to come, the alarm is pending, or its
// call on the way; without receivers it is not pending. After a stop no receiver is alone.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/grid.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class FOLIOT_EXPORT timer_channel final : public timer_entry, public pooled {
 public:
  /// A task that waits for an instant: part of its awaiter.
  class receiver {
   public:
    receiver() noexcept = default;
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;

    /// After the channel has ended its wait: whether end_receive has to be called all the same.
    [[nodiscard]] bool comes_back() const noexcept { return comes_back_; }

   private:
    friend class timer_channel;
    enum class outcome : std::uint8_t { instant, no_memory, stopped, destroyed };

    wait_point* wait_ = nullptr;
    wait_word::source by_ = 0;
    receiver* next_ = nullptr;
    receiver* previous_ = nullptr;
    bool listed_ = false;      // with the next two under the channel's lock
    bool counted_ = false;     // in attached_
    bool alone_ = false;       // its task waits for nothing else
    bool comes_back_ = false;  // with the next two published by the claim of the wait
    outcome outcome_ = outcome::instant;
    instant value_;
  };
  enum class waits : std::uint8_t { alone, in_a_select };

  /// Delivers `first`, and with a positive period what follows on that grid.
  timer_channel(scheduler& owner, instant first, duration period) noexcept
      : timer_entry(what_to_do), runtime_(reference_to(owner)), deadline_(first), period_(period) {}

  /// Takes the instant that has come.
  [[nodiscard]] std::optional<instant> try_receive() noexcept;
  /// The same, or waits: the wait is claimed when the receiver has an instant, or, where it waits alone, when none will
  /// come. Throws std::bad_alloc, and std::logic_error where the runtime has ended.
  [[nodiscard]] bool receive_at_once(receiver& who, waits how);
  void begin_receive(receiver& who, wait_point& wait, wait_word::source by, waits how);
  /// Afterwards nobody touches the receiver. The channel may be gone.
  void end_receive(receiver& who) noexcept;
  /// What was received. Throws timer_stopped, and std::bad_alloc where the alarm could not be set again.
  [[nodiscard]] static instant value_of(const receiver& who) {
    if (who.outcome_ != receiver::outcome::instant) [[unlikely]]
      throw_outcome(who);
    return who.value_;
  }

  /// Arms the timer for `first`. `superseded`: it was pending, or an instant was there that nobody has received;
  /// `closed`: the runtime has ended, and nothing was done. Throws std::bad_alloc, with nothing changed.
  reset_result reset(instant first) {
    scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(*owner, first, duration::zero());
  }
  reset_result reset(duration first) {
    scheduler* const owner = runtime_.living();
    return owner == nullptr ? reset_result::closed : reset(*owner, deadline_in(*owner, first), duration::zero());
  }
  /// By the cheaper clock, however short: the grid may begin some microseconds later, and is kept from then on.
  reset_result reset_grid(duration period) {
    scheduler* const owner = runtime_.living();
    if (owner == nullptr) return reset_result::closed;
    return reset(*owner, deadline_after(now_or_later(*owner), period), period);
  }
  /// On the grid of `first`, from its first instant that has not passed.
  reset_result reset_grid(instant first, duration period) {
    scheduler* const owner = runtime_.living();
    if (owner == nullptr) return reset_result::closed;
    return reset(*owner, next_on_grid(first, period, now(*owner)), period);
  }
  /// Disarms the timer, and ends the waits of those who wait alone. Returns whether it was pending, or an instant was
  /// there that nobody has received.
  bool stop() noexcept;
  [[nodiscard]] std::uint64_t skipped() const noexcept;

  /// The handle goes.
  void destroy() noexcept;

 private:
  ~timer_channel() = default;

  static then ring(timer_entry& self, ready_list&) noexcept {
    // acq_rel: pairs with answer(): one call at a time is on its way, and the latest sees what rang before.
    return static_cast<timer_channel&>(self).rung_.exchange(true, seam::acq_rel) ? then::nothing : then::call;
  }
  static void answer(timer_entry& self) noexcept;
  static constexpr actions what_to_do{ring, answer};

  /// The runtime's time if the next instant is due, else nothing.
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
    return orphaned_ && attached_ == 0 && !rung_.load(seam::relaxed);  // nobody rings any more
  }

  const runtime_ref runtime_;
  mutable mutex lock_{lock_rank::object};
  // A call of this entry is on its way. Set under the lock of the timers, cleared under lock_.
  seam::atomic<bool> rung_{false};
  bool armed_ FOLIOT_GUARDED_BY(lock_) = true;
  bool stopped_ FOLIOT_GUARDED_BY(lock_) = false;  // and not reset since
  bool orphaned_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint32_t attached_ FOLIOT_GUARDED_BY(lock_) = 0;  // receivers that will call end_receive
  instant deadline_ FOLIOT_GUARDED_BY(lock_);
  duration period_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t skipped_ FOLIOT_GUARDED_BY(lock_) = 0;
  receiver* first_ FOLIOT_GUARDED_BY(lock_) = nullptr;  // who waits longest
  receiver* last_ FOLIOT_GUARDED_BY(lock_) = nullptr;
};

/// An operation, see operation.hpp: gives the next instant.
class timer_receive {
 public:
  explicit timer_receive(timer_channel& channel) noexcept : channel_(&channel) {}
  ~timer_receive() { end(); }
  timer_receive(const timer_receive&) = delete;
  timer_receive& operator=(const timer_receive&) = delete;

  [[nodiscard]] bool try_complete() { return channel_->receive_at_once(receiver_, timer_channel::waits::in_a_select); }
  void begin(wait_point& wait, wait_word::source by) { begin(wait, by, timer_channel::waits::in_a_select); }
  [[nodiscard]] bool try_complete_alone() { return channel_->receive_at_once(receiver_, timer_channel::waits::alone); }
  void begin_alone(wait_point& wait, wait_word::source by) { begin(wait, by, timer_channel::waits::alone); }
  void end() noexcept {
    // A receiver whose wait the timer has ended has mostly nothing to do with it any more, and the timer may be gone.
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
