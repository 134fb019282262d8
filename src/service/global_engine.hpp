// Any queue, one lock, one timer thread. With the 4-ary heap as its queue this is `global-heap`: the
// timers of Go up to 1.9. The page docs/engines/global-heap.md tells the story and maps the names.
//
// Life of the thread (Go: timerproc). It is made by the first start. It runs what is due, each
// callback with the lock released; then it sleeps on a note until the earliest deadline (`sleeping`),
// or for good if there is none (`rescheduling`). A start or reset wakes it only if its deadline comes
// before the thread would look by itself; a stop never does. On a virtual clock there is no thread:
// whoever advances the clock calls run_due.
//
// Thread safety: everything below is guarded by `lock_`, which is never held while a user's code runs:
// callbacks, the destruction of closures, the exception handler.
//
// Invariants:
//   1. A record that is closed is not pending.
//   2. `user_` of a record is the thread that uses its closure with the lock released; nobody else
//      touches the closure meanwhile, and the record is not destroyed.
//   3. While the thread sleeps, `sleep_until_` is not later than the queue's next deadline, or the note
//      has been, or is about to be, woken by whoever made it so.
//
// Complexity: the queue's, and one uncontended lock a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/engine.hpp>

namespace foliot::inline service {

template <timer_queue Queue>
class global_engine final : public engine, public std::enable_shared_from_this<global_engine<Queue>> {
 public:
  /// `by_hand`: no thread, `time` is virtual and somebody calls run_due.
  global_engine(const clock& time, bool by_hand, budget turn, exception_handler on_exception)
      : time_(time),
        turn_(turn),
        on_exception_(std::move(on_exception)),
        phase_(by_hand ? phase::running : phase::unstarted) {}

  timer_record* make(timer_callback callback, duration period) override {
    return new record(this->shared_from_this(), std::move(callback), period);
  }

  reset_result reset(timer_record& timer, instant deadline) override {
    return rearm(as_record(timer), [deadline] { return deadline; });
  }

  reset_result reset(timer_record& timer, duration delay) override {
    return rearm(as_record(timer), [this, delay] { return deadline_after(time_.now(), delay); });
  }

  reset_result restart(timer_record& timer, duration period) override {
    record& r = as_record(timer);
    return rearm(r, [this, period] { return time_.now() + period; }, [&r, period] { r.period_ = period; });
  }

  stop_result stop(timer_record& timer) noexcept override {
    const lock held(lock_);
    return take_back(as_record(timer));
  }

  stop_result stop_and_wait(timer_record& timer) noexcept override {
    record& r = as_record(timer);
    const std::shared_ptr<engine> keep = r.owner_;  // the closure may own the last handle
    const lock held(lock_);
    const stop_result result = take_back(r);
    r.closed_ = true;
    if (wait_for_closure(r)) retire(r);
    return result;
  }

  void destroy(timer_record* timer) noexcept override {
    record& r = as_record(*timer);
    const std::shared_ptr<engine> keep = r.owner_;  // outlives the lock below
    const lock held(lock_);
    take_back(r);
    r.closed_ = true;
    const bool mine = wait_for_closure(r);
    r.orphaned_ = true;
    if (mine) retire(r);
  }

  void detach(timer_record* timer) noexcept override {
    record& r = as_record(*timer);
    const std::shared_ptr<engine> keep = r.owner_;
    const lock held(lock_);
    r.orphaned_ = true;
    if (!r.pending() && r.user_ == nullptr) retire(r);
  }

  bool pending(const timer_record& timer) const noexcept override {
    const lock held(lock_);
    return static_cast<const record&>(timer).pending();
  }

  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    const lock held(lock_);
    return static_cast<const record&>(timer).skipped_;
  }

  std::size_t shut_down() noexcept override {
    const std::shared_ptr<engine> keep = this->shared_from_this();  // a closure may own the service
    lock held(lock_);
    phase_ = phase::ended;
    if (std::exchange(state_, thread_state::awake) != thread_state::awake) note_.wake();
    const std::size_t dropped = drop_pending();
    // From inside a callback there is nothing to wait for: the thread ends when it comes back from there,
    // and a later call from elsewhere, or the end of the engine, sees to it.
    if (is_own_thread()) return dropped;
    while (runner_ != nullptr) done_.wait(lock_);
    seam::thread thread = std::move(thread_);
    held.leave();
    if (thread.joinable()) thread.join();
    return dropped;
  }

  ~global_engine() override {
    if (thread_.joinable()) thread_.detach();  // it has ended, or this is its last act
  }

  void reserve(std::size_t count) override {
    const lock held(lock_);
    queue_.reserve(count);
  }

  service_counters counters() const noexcept override {
    const lock held(lock_);
    service_counters now = counters_;
    now.pending = queue_.size();
    // Each start ends once: what did not fire and is not there any more was stopped.
    now.stopped = now.started + beats_ - now.fired - now.pending - now.dropped;
    return now;
  }

  const clock& time() const noexcept override { return time_; }

  bool runs_on_caller() const noexcept override {
    if (time_.moved_by_caller()) return true;
    const lock held(lock_);
    return is_own_thread();
  }

  // timeline: how a virtual clock drives this engine.

  instant next_deadline() override {
    const lock held(lock_);
    return queue_.next_deadline();
  }

  expiry run_due(instant now, budget limit) override {
    const lock held(lock_);
    return run_turn(now, limit);
  }

 private:
  /// The state of one timer with the queue's node: what this engine makes for a handle.
  struct record final : timer_record, Queue::node_type {
    record(std::shared_ptr<engine> owner, timer_callback callback, duration period) noexcept
        : timer_record(std::move(owner), std::move(callback), period) {}
    using timer_record::callback_;
    using timer_record::closed_;
    using timer_record::orphaned_;
    using timer_record::owner_;
    using timer_record::period_;
    using timer_record::running_;
    using timer_record::skipped_;
    using timer_record::user_;
  };

  enum class phase : std::uint8_t {
    unstarted,  // nobody runs timers yet: the first start makes the thread
    running,    // the thread does, or whoever advances the virtual clock
    ended,      // shut down
  };

  enum class thread_state : std::uint8_t {
    awake,         // running callbacks or about to look at the queue; also: never started
    sleeping,      // until sleep_until_, on the note
    rescheduling,  // nothing is pending: on the note, for as long as it takes
  };

  /// How long the thread waits before it tries again what it had no memory for.
  static constexpr duration wait_for_memory = duration::nanoseconds(1'000'000);

  static record& as_record(timer_record& timer) noexcept { return static_cast<record&>(timer); }
  static const void* self() noexcept { return &seam::this_thread(); }

  /// Whether the caller is who runs this engine's timers, in a callback or in the destructor of a closure.
  [[nodiscard]] bool is_own_thread() const noexcept FOLIOT_REQUIRES(lock_) {
    return runner_ == self() || timer_thread_ == self();
  }

  /// Arms the record for what `deadline_of` says, which is asked only if the record may be armed; `then`
  /// runs under the lock when it has been.
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm(record& r, DeadlineOf deadline_of, Then then = [] {}) {
    lock held(lock_);
    if (phase_ != phase::running || r.closed_) [[unlikely]] {
      if (phase_ == phase::ended || r.closed_) return reset_result::closed;
      start_thread();
    }
    const instant deadline = deadline_of();
    if constexpr (requires { queue_.forward(deadline); }) queue_.forward(time_.now());
    const bool superseded = queue_.reset(r, deadline);
    then();
    const bool wake = must_wake_for(deadline);
    reset_result result = reset_result::superseded;
    if (superseded) {
      ++counters_.superseded;
    } else {
      ++counters_.started;
      if (queue_.size() > counters_.peak_pending) counters_.peak_pending = queue_.size();
      result = r.running_ ? reset_result::running : reset_result::idle;
    }
    held.leave();
    // Outside the lock, which the woken thread takes first thing. The note remembers.
    if (wake) note_.wake();
    return result;
  }

  void start_thread() FOLIOT_REQUIRES(lock_);

  /// Whether the thread would sleep past `deadline`. The caller wakes the note then, once.
  bool must_wake_for(instant deadline) noexcept FOLIOT_REQUIRES(lock_) {
    const bool too_late = (state_ == thread_state::sleeping && deadline < sleep_until_) ||
                          (state_ == thread_state::rescheduling && !deadline.is_never());
    if (!too_late) return false;
    state_ = thread_state::awake;  // as good as: nobody else needs to wake it
    ++counters_.wake_ups;
    return true;
  }

  stop_result take_back(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (queue_.stop(r)) return stop_result::stopped;
    return r.running_ ? stop_result::running : stop_result::idle;
  }

  /// Waits until nobody uses the closure. False if that is the caller itself, from inside the callback
  /// or the closure's destructor: then settle(), further up the stack, does what is left to do.
  bool wait_for_closure(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    while (r.user_ != nullptr) {
      if (r.user_ == self()) return false;
      done_.wait(lock_);
    }
    return true;
  }

  /// Ends a record that is not pending and whose closure nobody uses.
  void retire(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    r.user_ = self();
    r.closed_ = true;
    settle(r);
  }

  /// The caller, until now the closure's user, is done with it: what was put off meanwhile is done.
  void settle(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.closed_ || (r.orphaned_ && !r.pending())) {
      lock_.unlock();
      r.callback_.reset();  // a user's code: it may look back here, and even destroy the last handle
      lock_.lock();
    }
    r.user_ = nullptr;
    done_.notify_all();
    if (r.orphaned_ && !r.pending()) delete &r;
  }

  std::size_t drop_pending() noexcept FOLIOT_REQUIRES(lock_) {
    std::size_t dropped = 0;
    while (typename Queue::node_type* node = queue_.pop_any()) {
      record& r = static_cast<record&>(*node);
      ++dropped;
      ++counters_.dropped;
      r.closed_ = true;
      if (r.user_ == nullptr) retire(r);  // else its user settles it
    }
    return dropped;
  }

  expiry run_turn(instant now, budget limit) FOLIOT_REQUIRES(lock_) {
    return queue_.expire(now, limit, [this](typename Queue::node_type& node) noexcept {
      lock_.assert_held();
      fire(static_cast<record&>(node));
    });
  }

  void fire(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    firing now{r.deadline(), time_.now()};
    std::exception_ptr failure;
    if (r.period_ > duration::zero()) failure = arm_next_beat(r, now);
    ++counters_.fired;
    r.user_ = runner_ = self();
    r.running_ = true;
    lock_.unlock();
    try {
      r.callback_(now);
    } catch (...) {
      report(std::current_exception());
    }
    if (failure != nullptr) report(std::move(failure));
    lock_.lock();
    r.running_ = false;
    settle(r);
    runner_ = nullptr;  // last: what the callback captured may have been destroyed just now
    done_.notify_all();
  }

  /// The next beat of the grid that lies ahead; those between are skipped. A ticker that cannot be
  /// armed again, for lack of memory, is idle from now on: the failure is the answer.
  std::exception_ptr arm_next_beat(record& r, firing& now) noexcept FOLIOT_REQUIRES(lock_) {
    const std::int64_t beats_passed = now.lateness() / r.period_;
    now.skipped = static_cast<std::uint64_t>(beats_passed);
    r.skipped_ += now.skipped;
    counters_.skipped += now.skipped;
    try {
      queue_.start(r, now.deadline + r.period_ * beats_passed + r.period_);
      ++beats_;
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void report(std::exception_ptr failure) noexcept;

  void timerproc() {
    lock held(lock_);
    timer_thread_ = self();
    while (phase_ != phase::ended) {
      try {
        const expiry turn = run_turn(time_.now(), turn_);
        if (phase_ == phase::ended) break;
        // Time has passed while callbacks ran: look again, rather than sleep until what is due already.
        if (turn.fired > 0) continue;
        if (turn.more) {
          // The queue has paused, and the lock was held all the time: let others have it.
          lock_.unlock();
          lock_.lock();
          continue;
        }
        sleep_until_ = queue_.next_deadline();
      } catch (const std::bad_alloc&) {
        // The queue could not move timers about; nothing is lost. What is due waits for memory.
        lock_.unlock();
        report(std::current_exception());
        lock_.lock();
        if (phase_ == phase::ended) break;
        sleep_until_ = time_.now() + wait_for_memory;
      }
      state_ = sleep_until_.is_never() ? thread_state::rescheduling : thread_state::sleeping;
      note_.clear();
      const instant until = sleep_until_;
      held.leave();
      note_.sleep_until(until);
      held.enter();
      state_ = thread_state::awake;
    }
    timer_thread_ = nullptr;
  }

  const clock& time_;
  const budget turn_;
  // Called by the thread that runs callbacks, one call at a time.
  exception_handler on_exception_;

  mutable mutex lock_{lock_rank::engine};
  Queue queue_ FOLIOT_GUARDED_BY(lock_);
  /// All but `pending` and `stopped`, which follow from the rest: a start and a stop write as little as
  /// they can.
  service_counters counters_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t beats_ FOLIOT_GUARDED_BY(lock_) = 0;  // starts that tickers made for their next beat
  phase phase_ FOLIOT_GUARDED_BY(lock_);
  /// Who is inside a callback, or null.
  const void* runner_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// For those who wait until a closure is not used any more, or no callback runs.
  condition done_ FOLIOT_GUARDED_BY(lock_);

  seam::thread thread_ FOLIOT_GUARDED_BY(lock_);
  /// The thread as it knows itself, while it lives.
  const void* timer_thread_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  thread_state state_ FOLIOT_GUARDED_BY(lock_) = thread_state::awake;
  instant sleep_until_ FOLIOT_GUARDED_BY(lock_);
  /// Only the timer thread sleeps on it and clears it; woken outside the lock.
  note note_;
};

// Out of line: it is called once, and would weigh on every start.
template <timer_queue Queue>
[[gnu::noinline]] void global_engine<Queue>::start_thread() {
  thread_ = seam::thread("foliot-timer", [keep = this->shared_from_this()] { keep->timerproc(); });
  phase_ = phase::running;
}

template <timer_queue Queue>
void global_engine<Queue>::report(std::exception_ptr failure) noexcept {
  try {
    on_exception_(std::move(failure));
  } catch (...) {
    // A handler that fails has nobody to report to, and the service goes on.
  }
}

}  // namespace foliot::inline service
