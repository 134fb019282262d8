// A shard: a queue, a lock, and a thread that fires due timers. A service is one shard, or several.
//
// The thread. The first start makes it. It runs due callbacks, each with the lock released; then it sleeps until the
// earliest deadline (`sleeping`), or without end if nothing is pending (`rescheduling`). A start or reset wakes it only
// if the new deadline comes before the thread would wake by itself; a stop never does. On a virtual clock there is no
// thread: the thread that advances the clock calls run_due.
//
// The design. A shard is made of
//   queue      any model of timer_queue
//   wait       how the thread sleeps: waits.hpp, lineage/poll_wait.hpp
//   word       timer_word, where stops and resets may go without the lock; else no_word
//   home       what a record knows of the shard that has it: nothing, if timers do not move (fixed_home)
//   records    the memory of records: allocated_records, or a pool
//   log        what an operation writes to a log; else no_log
//   padding    a base class that may align the shard; else no_padding
// The 4-ary heap with a note, no word, fixed homes and no padding is `global-heap`, the timers of Go up to 1.9:
// docs/engines/global-heap.md.
//
// The parts. A closure's use and end are closure_life.hpp, and pinned_layout.hpp where it is in the user's object; the
// calls without the lock, lockless_path.hpp; the thread's life and sleep, timer_thread.hpp. The shard joins these and
// the queue under one lock, in this order:
//
//   making a timer; start, reset and stop; batches; the thread's turns, in which timers fire; callbacks on an executor;
//   the end of a timer; pinned timers; sleeping threads; the drain and the end of the shard; forks; counters
//
// docs/decisions/0009-the-shard.md says why.
//
// What few calls need is out of line, so that the compiler has room to inline the rest of a start, a stop and a firing.
//
// Thread safety: `lock_` guards all members but the constant ones, the timer words and the lockless path. It is never
// held while a user's code runs: callbacks, destructors of captures, exception handlers, executors, logs. A record is
// guarded by the lock of the shard that has it.
//
// Invariants:
//   1. The timer of a closed record is not pending.
//   2. One thread at a time uses a closure, and the record is not freed meanwhile.
//   3. The thread does not sleep past the queue's next deadline, or the thread that queued the timer wakes it.
//   4. A timer whose word is armed is pending, one whose word is stopped is not; both are in the queue, the former at
//      the word's deadline or earlier (timer_word.hpp). A timer whose word is open is pending if it is in the queue or
//      posted. The posted records are the list posted_timers_, and posted_ is their number.
//   5. The shard owns itself while it has records or its thread runs.
//   6. Once the shard has ended nothing fires. The thread in end() drops each pending timer, at the latest when it
//      takes the timer out of the queue or of the list of posted timers; every call that takes the lock before that
//      finds the timer dropped.
//
// Complexity: the queue's, and one uncontended lock a call; without the lock one compare-and-swap.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/slack.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/executor.hpp>

#include "batch_part.hpp"
#include "callback_meter.hpp"
#include "core/seam/perturb.hpp"
#include "core/seam/probes.hpp"
#include "lockless_path.hpp"
#include "running_callbacks.hpp"
#include "shard_base.hpp"
#include "shard_options.hpp"
#include "shard_record.hpp"
#include "shared_name.hpp"
#include "timer_thread.hpp"
#include "watcher.hpp"

namespace foliot::detail {

template <class Design>
class shard : public shard_base,
              private seam::fork_witness,
              public std::enable_shared_from_this<shard<Design>>,
              private Design::padding {
 protected:
  using queue_type = typename Design::queue;
  using node_type = typename queue_type::node_type;
  using word = typename Design::word;
  using home_type = typename Design::home;
  using record = shard_record<queue_type, word, home_type>;
  using closured = closure_record<queue_type, word, home_type>;
  using extended = extended_record<queue_type, word, home_type>;
  using pinned = pinned_record<queue_type, word, home_type>;
  using sleeping = sleeping_record<queue_type, word, home_type>;
  using sleep_list = intrusive_list<sleeping, &sleeping::sleep_links_>;
  static constexpr bool lockless = std::same_as<word, timer_word>;
  using log_entries = typename Design::log;

 public:
  explicit shard(shard_options options, std::size_t index)
      : options_(std::move(options)),
        index_(index),
        meter_(callback_meter::wanted_by(options_)),
        queue_(empty_queue(options_)),
        phase_(options_.on_virtual_time ? phase::running : phase::unstarted),
        running_(options_),
        thread_(options_),
        records_(record_size(), options_.free_list) {
    witness_forks();
  }
  ~shard() override {
    forget_forks();
    free_spare_sleeps();
  }

  /// The service's clock.
  const clock& time() const noexcept override { return options_.time; }

 protected:
  enum class phase : std::uint8_t {
    unstarted,  // no thread runs timers yet: the first start makes it
    running,    // the shard's thread, or the thread that advances the virtual clock, runs timers
    draining,   // the same, but nothing new is started
    ended,      // nothing fires any more
  };

  [[nodiscard]] static queue_type empty_queue([[maybe_unused]] const shard_options& options) {
    if constexpr (std::constructible_from<queue_type, wheel_shape>) {
      return queue_type(options.wheel);
    } else {
      return queue_type();
    }
  }

  static record& as_record(timer_record& timer) noexcept { return static_cast<record&>(timer); }
  /// Precondition: not is_pinned().
  static closured& as_closured(timer_record& timer) noexcept { return static_cast<closured&>(timer); }
  /// Precondition: is_pinned().
  static pinned& as_pinned(timer_record& timer) noexcept { return static_cast<pinned&>(timer); }
  /// Precondition: is_extended().
  static extended& as_extended(timer_record& timer) noexcept { return static_cast<extended&>(timer); }
  static const extended& as_extended(const timer_record& timer) noexcept { return static_cast<const extended&>(timer); }

  void count_dequeued() noexcept FOLIOT_REQUIRES(lock_) { lockless_.count_dequeued(); }

  /// Whether the calling thread runs this shard's timers, in a callback or in the destructor of a capture.
  [[nodiscard]] bool is_own_thread() const noexcept FOLIOT_REQUIRES(lock_) {
    for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
      if (frame->owner == this) return true;
    }
    return thread_.is_caller();
  }

  /// Whether the timer will fire; or would have, if the shard has ended and end() has yet to drop it.
  [[nodiscard]] bool is_pending(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    if (forked_) return false;
    return (r.pending() && !r.word().load().stopped()) || (options_.executor && as_extended(r).posted_);
  }
  [[nodiscard]] bool pending_here(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return phase_ != phase::ended && is_pending(r);
  }
  /// Whether the executor, or the thread that calls it, will use the record again: it must not be freed.
  [[nodiscard]] bool has_job(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return options_.executor && (as_extended(r).job_is_out_ || as_extended(r).being_posted_);
  }

  // References: records, and the thread. While there are some, the shard owns itself.

  void retain() FOLIOT_REQUIRES(lock_) {
    if (references_++ == 0) self_ = owning_pointer();
  }
  /// The last owner, if there are no references any more. To be destroyed after the lock, since the shard goes with it.
  [[nodiscard]] std::shared_ptr<engine> take_unreferenced() noexcept FOLIOT_REQUIRES(lock_) {
    return references_ == 0 ? std::move(self_) : nullptr;
  }

  /// The shard's own, while it has references.
  [[nodiscard]] virtual std::shared_ptr<engine> owning_pointer() noexcept { return this->shared_from_this(); }

  /// The lock, for a function that may free a record: if that was the shard's last reference, the shard is destroyed
  /// once the lock is released.
  class FOLIOT_SCOPED_CAPABILITY parting_lock {
   public:
    explicit parting_lock(shard& left) noexcept FOLIOT_ACQUIRE(left.lock_) : entries_(left.options_), left_(left) {
      left.lock_.lock();
      keep_for_log();
    }
    parting_lock(shard& left, std::adopt_lock_t /*is_held*/) noexcept FOLIOT_REQUIRES(left.lock_)
        : entries_(left.options_), left_(left) {
      keep_for_log();
    }
    [[gnu::always_inline]] ~parting_lock() FOLIOT_RELEASE() FOLIOT_NO_ANALYSIS {
      last_ = left_.take_unreferenced();
      left_.lock_.unlock();
    }
    parting_lock(const parting_lock&) = delete;
    parting_lock& operator=(const parting_lock&) = delete;

    /// Written once the lock is released.
    [[nodiscard]] log_entries& entries() noexcept { return entries_; }

   private:
    void keep_for_log() noexcept {
      if (entries_.wanted()) [[unlikely]]
        kept_ = left_.shared_from_this();
    }

    std::shared_ptr<engine> last_;
    std::shared_ptr<engine> kept_;  // while the log's entries are written
    log_entries entries_;           // written before the two above are destroyed
    shard& left_;
  };

  // ---------------------------------------------------------------- making a timer

 public:
  timer_record* make(timer_callback callback, duration period) override {
    closured* const made = period > duration::zero() || extends_all()
                               ? records_.template make<extended>(lock_, *this, std::move(callback), period, location())
                               : records_.template make<closured>(lock_, *this, std::move(callback));
    const lock held(lock_);
    retain();
    return &static_cast<timer_record&>(*made);  // of a pointer the compiler would ask whether it is null
  }

  void pin([[maybe_unused]] pinned_layout where, [[maybe_unused]] const pinned_operations& closure,
           [[maybe_unused]] const std::optional<instant>& deadline) override {
    refuse_pinned();
    if constexpr (pinned::fits()) {
      pinned& made = *std::construct_at(reinterpret_cast<pinned*>(where.record()), *this, closure, where.to_closure());
      if (deadline) return pin_armed(made, *deadline);
      const lock held(lock_);
      retain();
    }
  }

  void set_location(timer_record& timer, std::source_location location) noexcept override {
    as_extended(timer).armed_at_.store(location, seam::relaxed);
  }

  void set_name(timer_record& timer, std::string_view name) override {
    auto swapped = std::make_shared<const std::string>(name);  // the old name is freed without the lock
    probes::name(&timer, swapped->c_str());
    const lock held(lock_);
    set_name_here(as_record(timer), swapped);
  }

 protected:
  /// Whether timers have room for the location that armed them, and for a name.
  record::location location() const noexcept {
    const bool stored =
        options_.slow_callback.tell || options_.stalls.tell || options_.log || options_.on_exception.wants_location();
    return stored ? record::location::stored : record::location::none;
  }
  /// Whether the records of all timers are extended; else only those of tickers are.
  bool extends_all() const noexcept { return options_.executor || location() == record::location::stored; }
  bool is_extended(const record& r) const noexcept { return r.is_ticker() || extends_all(); }
  /// The size of most records.
  std::size_t record_size() const noexcept { return extends_all() ? sizeof(extended) : sizeof(closured); }

  void set_name_here(record& r, shared_name& name) noexcept FOLIOT_REQUIRES(lock_) { as_extended(r).name_.swap(name); }

  // ---------------------------------------------------------------- start, reset, stop

 public:
  reset_result reset(timer_record& timer, instant deadline) override {
    record& r = as_record(timer);
    const auto done = lockless_.reset(r.word(), deadline, [&r] { return timer_node_access::deadline_seen(r); });
    if (done == lockless_reset::postponed) return reset_result::superseded;
    if (done == lockless_reset::refused) return rearm(r, [deadline] { return deadline; });
    if (done == lockless_reset::started_late) [[unlikely]]
      requeue_earlier(r);
    probes::start(&r, deadline);
    notify_drain_if_closing();
    return reset_result::idle;
  }

  reset_result reset(timer_record& timer, duration delay, duration slack) override {
    record& r = as_record(timer);
    const auto deadline = [this, delay, slack] { return deadline_of(delay, slack); };
    // With an open word the shard computes the deadline under the lock, unless the timer is closed.
    if (const auto is = r.word().load(); !is.armed() && !is.stopped()) return rearm(r, deadline);
    return shard::reset(timer, deadline());
  }

  reset_result restart(timer_record& timer, duration period) override {
    extended& r = as_extended(timer);
    return rearm(r, [this, period] { return options_.time.now() + period; }, [&r, period] { r.begin_grid(period); });
  }

  stop_result stop(timer_record& timer) noexcept override {
    record& r = as_record(timer);
    if (lockless_.stop(r.word())) {
      probes::stop(&r);
      notify_drain_if_closing();
      return stop_result::stopped;
    }
    log_entries entries(options_);  // written without the lock
    const lock held(lock_);
    return stop_here(r, entries);
  }

  bool pending(const timer_record& timer) const noexcept override {
    const record& r = static_cast<const record&>(timer);
    const auto is = r.word().load();
    if ((is.armed() || is.stopped()) && !lockless_.is_closing()) return is.armed();
    const lock held(lock_);
    return pending_here(r);
  }

  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    const lock held(lock_);
    return as_extended(timer).skipped_;
  }

 protected:
  /// What arm() has done.
  struct armed {
    reset_result result;
    timer_thread<typename Design::wait>* to_wake = nullptr;  ///< the caller must wake it, without the lock; null: none
  };

  /// Reads the clock.
  instant deadline_of(duration delay, duration slack) const {
    const instant now = options_.precise ? options_.time.now() : options_.time.now_or_later();
    return coalesced(deadline_after(now, delay), slack);
  }

  /// Arms the timer at `deadline_of()`, which is called only if the timer may be armed; then calls `then()`, under the
  /// lock.
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm(record& r, DeadlineOf deadline_of, Then then = [] {}) {
    log_entries entries(options_);  // written without the lock
    lock held(lock_);
    const armed done = arm(r, deadline_of, then, entries);
    held.leave();
    if (done.to_wake != nullptr) done.to_wake->wake();
    return done.result;
  }

  /// rearm() under the lock.
  template <class DeadlineOf, class Then>
  [[gnu::always_inline]] armed arm(record& r, DeadlineOf deadline_of, Then then, log_entries& entries)
      FOLIOT_REQUIRES(lock_) {
    if (phase_ != phase::running || r.life().closed()) [[unlikely]] {
      if (!try_admit(r)) {
        ++counters_.refused;
        return {reset_result::closed};
      }
      if (phase_ == phase::unstarted) start_thread();
    }
    const instant deadline = deadline_of();
    if constexpr (requires { queue_.forward(deadline); }) queue_.forward(options_.time.now());
    std::optional<instant> queued_until;
    if (entries.wanted() && r.pending()) queued_until = r.deadline();
    const bool superseded = enqueue(r, deadline);
    entries.started(r, queued_until);
    return count_armed(r, deadline, superseded, then);
  }

  /// After the timer was queued.
  template <class Then>
  [[gnu::always_inline]] armed count_armed(record& r, instant deadline, bool superseded, Then then)
      FOLIOT_REQUIRES(lock_) {
    superseded ? probes::reset(&r, deadline) : probes::start(&r, deadline);
    arm_word(r);
    then();
    reset_result result = reset_result::superseded;
    if (superseded) {
      ++counters_.superseded;
    } else {
      ++counters_.started;
      count_peak();
      result = r.running_ ? reset_result::running : reset_result::idle;
    }
    if (!thread_.must_wake_for(deadline)) return {result};
    ++counters_.wake_ups;
    return {result, &thread_};
  }

  void count_peak() noexcept FOLIOT_REQUIRES(lock_) {
    if (queue_.size() > counters_.peak_pending) counters_.peak_pending = queue_.size();
  }

  /// Returns whether the timer was pending. Throws std::bad_alloc, with nothing changed.
  [[gnu::always_inline]] bool enqueue(record& r, instant deadline) FOLIOT_REQUIRES(lock_) {
    const auto was = r.word().take();
    bool superseded = false;
    try {
      superseded = queue_.reset(r, deadline);
    } catch (...) {
      r.word().restore(was);
      throw;
    }
    if (was.stopped()) {
      superseded = false;
      count_dequeued();
    }
    return cancel_posted(r) || superseded;
  }

  /// Cancels the firing of a timer that is posted. Returns whether it was.
  bool cancel_posted(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (!options_.executor || !as_extended(r).posted_) return false;
    unpost(as_extended(r));
    return true;
  }

  /// Cancels the start of a timer, wherever it is pending: in the queue, or posted.
  stop_result cancel(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    const auto was = r.word().take();
    const bool queued = queue_.stop(r) && !was.stopped();
    if (was.stopped()) count_dequeued();
    const bool posted = cancel_posted(r);
    if (phase_ == phase::draining) [[unlikely]]
      done_.notify_all();
    if (phase_ == phase::ended) [[unlikely]] {
      // The end of the service has dropped it. A ticker may have two starts pending: a posted tick and the next one.
      counters_.dropped += (queued ? 1u : 0u) + (posted ? 1u : 0u);
    } else if (queued || posted) {
      probes::stop(&r);
      return stop_result::stopped;
    }
    return r.running_ ? stop_result::running : stop_result::idle;
  }

  stop_result stop_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_) {
    if (phase_ == phase::ended) return stop_after_end(r);
    entries.stopping(r);
    return cancel(r);
  }

  /// Arms the word of a queued timer: from here on stops and later deadlines go without the lock. Not for tickers,
  /// which keep to their grid; nor while the callback runs, since the result of a stop must be `running` then; nor on
  /// virtual time, where equal deadlines fire in the order of their starts, which only the queue knows.
  void arm_word(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if constexpr (lockless) {
      if (r.pending() && !r.is_ticker() && !r.running_ && !r.life().closed() && !options_.on_virtual_time)
        r.word().arm(r.deadline());
    }
  }

  /// A start without the lock has found the timer queued for a later deadline: requeues it, unless another thread has
  /// taken the word since, and has requeued it. Throws std::bad_alloc; the timer is stopped then.
  [[gnu::noinline]] void requeue_earlier(record& r) {
    lock held(lock_);
    if (!requeue_earlier_here(r)) return;
    held.leave();
    thread_.wake();
  }
  /// The same under the lock. Returns whether the caller must wake the thread.
  [[nodiscard]] bool requeue_earlier_here([[maybe_unused]] record& r) FOLIOT_REQUIRES(lock_) {
    if constexpr (lockless) {
      const auto was = r.word().take();
      const bool earlier = was.armed() && was.deadline() < r.deadline();
      if (earlier) {
        try {
          queue_.reset(r, was.deadline());
        } catch (...) {
          queue_.stop(r);
          done_.notify_all();
          throw;
        }
      }
      r.word().restore(was);
      if (!earlier || !thread_.must_wake_for(was.deadline())) return false;
      ++counters_.wake_ups;
      return true;
    }
    return false;
  }

  /// Takes a timer out of the queue that was stopped without the lock.
  void unqueue_if_stopped(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    const auto was = r.word().take();
    if (!was.stopped()) return r.word().restore(was);
    queue_.stop(r);
    count_dequeued();
  }

  /// Whether a timer may be armed under the lock: not if it is closed or the shard has ended, and not if the shard
  /// drains and the timer is not pending.
  [[gnu::noinline]] bool try_admit(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    // The caller may have tried without the lock first: then a start that is refused was counted meanwhile.
    if (phase_ == phase::draining) done_.notify_all();
    if (phase_ == phase::ended) stop_after_end(r);
    if (phase_ == phase::ended || r.life().closed()) return false;
    if (phase_ != phase::draining) return true;
    // Takes the word: a start without the lock, by a thread that has not seen that the shard is closing, has either
    // happened before, and then the timer is pending, or fails.
    unqueue_if_stopped(r);
    return is_pending(r);
  }

  void notify_drain_if_closing() noexcept {
    if (lockless_.is_closing_after_call()) [[unlikely]]
      notify_drain();
  }

  /// The thread that drains the shard counts the pending timers again.
  [[gnu::noinline]] void notify_drain() noexcept {
    const lock held(lock_);
    done_.notify_all();
  }

  // ---------------------------------------------------------------- batches
  //
  // A batch does what as many calls do, one after the other, with a lock that is taken by the first timer that needs
  // it, and kept for the rest of the shard's timers. So the thread is woken at most once: between two of these timers
  // it cannot sleep.

 public:
  void reset_part(reset_batch& batch) noexcept override {
    if constexpr (lockless) {
      batch.deadlines().begin_shard(options_.precise);
      batch_lock held(lock_);
      bool must_wake = false;
      bool started = false;
      std::uint64_t postponed = 0;
      batch.for_each_of(*this, [&](timer_record& timer, std::size_t index) {
        record& r = as_record(timer);
        if (r.has_location()) [[unlikely]]
          set_location(timer, batch.here());
        if (r.word().armed() && lockless_.postpone_uncounted(r.word(), batch_deadline(batch, index))) [[likely]] {
          ++postponed;
          return batch.done(index, reset_result::superseded);
        }
        try {
          batch.done(index, reset_in_batch(r, batch, index, held, started, must_wake));
        } catch (...) {
          batch.failed(index, std::current_exception());
        }
      });
      lockless_.count_postponed(postponed);
      held.leave();
      if (must_wake) thread_.wake();
      if (started) notify_drain_if_closing();
    } else {
      shard_base::reset_part(batch);
    }
  }

  void stop_part(stop_batch& batch) noexcept override {
    if constexpr (lockless) {
      batch_lock held(lock_);
      bool stopped = false;
      batch.for_each_of(*this, [&](timer_record& timer, std::size_t index) {
        record& r = as_record(timer);
        if (lockless_.stop(r.word())) {
          probes::stop(&r);
          stopped = true;
          return batch.done(index, stop_result::stopped);
        }
        held.enter();
        log_entries entries(options_);
        lock_.assert_held();
        batch.done(index, stop_here(r, entries));
      });
      held.leave();
      if (stopped) notify_drain_if_closing();
    } else {
      shard_base::stop_part(batch);
    }
  }

 protected:
  /// The lock, from the first timer of a batch that needs it.
  class batch_lock {
   public:
    explicit batch_lock(mutex& of_shard) noexcept : lock_(of_shard) {}
    batch_lock(const batch_lock&) = delete;
    batch_lock& operator=(const batch_lock&) = delete;
    ~batch_lock() { leave(); }
    void enter() noexcept FOLIOT_NO_ANALYSIS {
      if (!std::exchange(held_, true)) lock_.lock();
    }
    void leave() noexcept FOLIOT_NO_ANALYSIS {
      if (std::exchange(held_, false)) lock_.unlock();
    }

   private:
    mutex& lock_;
    bool held_ = false;
  };

  instant batch_deadline(reset_batch& batch, std::size_t index) const noexcept {
    return batch.deadlines().of(index, options_.time);
  }

  /// Resets a timer that is not just postponed. Throws as reset does; the timer is as it was then, or stopped if
  /// requeue_earlier_here() throws.
  [[gnu::noinline]] reset_result reset_in_batch(record& r, reset_batch& batch, std::size_t index, batch_lock& held,
                                                bool& started, bool& must_wake) {
    const auto deadline = [&] { return batch_deadline(batch, index); };
    if (r.word().load().stopped()) {
      const auto done = lockless_.reset(r.word(), deadline(), [&r] { return timer_node_access::deadline_seen(r); });
      if (done == lockless_reset::postponed) return reset_result::superseded;
      if (done != lockless_reset::refused) {
        started = true;
        if (done == lockless_reset::started_late) [[unlikely]] {
          held.enter();
          lock_.assert_held();
          if (requeue_earlier_here(r)) must_wake = true;
        }
        probes::start(&r, deadline());
        return reset_result::idle;
      }
    }
    held.enter();
    lock_.assert_held();
    log_entries entries(options_);
    const armed done = arm(r, deadline, [] {}, entries);
    if (done.to_wake != nullptr) must_wake = true;
    return done.result;
  }

  // ---------------------------------------------------------------- turns: out of the queue, into the callback

 public:
  // timeline: how a virtual clock drives this shard.

  instant next_deadline() override {
    const lock held(lock_);
    return queue_.next_deadline();
  }
  expiry run_due(instant now, budget limit) override {
    std::shared_ptr<engine> last;
    log_entries entries(options_);
    const lock held(lock_);
    const expiry turn = run_turn(now, limit);
    if (!turn.more) entries.all_fired(queue_.next_deadline());
    last = take_unreferenced();
    return turn;
  }

  std::shared_ptr<watcher> start_watcher() override {
    if (options_.watcher == nullptr) return nullptr;
    const lock held(lock_);
    if (phase_ == phase::unstarted) start_thread();
    return options_.watcher;
  }

  bool runs_on_caller() const noexcept override {
    if (options_.time.moved_by_caller()) return true;
    const lock held(lock_);
    return is_own_thread();
  }

 protected:
  /// How long the thread waits before it retries an operation that failed for lack of memory.
  static constexpr duration wait_for_memory = duration::nanoseconds(1'000'000);

  // Out of line: it is called once, and would make the code of every start longer.
  [[gnu::noinline]] void start_thread() FOLIOT_REQUIRES(lock_) {
    thread_.start(options_, [this] { timerproc(); });
    retain();
    phase_ = phase::running;
  }

  void timerproc() {
    std::shared_ptr<engine> last;
    seam::this_thread().home = index_ + 1;  // timers that callbacks make stay on this shard
    seam::set_timer_slack(duration::nanoseconds(1));
    lock held(lock_);
    thread_.begin_loop();
    while (phase_ != phase::ended) {
      if (const std::optional<instant> until = take_turn()) {
        log_entries entries(options_);
        entries.all_fired(*until);
        thread_.sleep(held, *until, [&entries] { entries.write(); });
      } else {
        thread_.serve_ready(held);
      }
    }
    if (options_.watcher != nullptr) {
      held.leave();
      options_.watcher->close_all();
      held.enter();
    }
    thread_.end_loop();
    --references_;
    last = take_unreferenced();
  }

  /// One turn of the thread. Returns the instant until which the thread may sleep; std::nullopt if it must not sleep,
  /// because the next turn follows at once or the shard has ended.
  std::optional<instant> take_turn() noexcept FOLIOT_REQUIRES(lock_) {
    instant until;
    try {
      const expiry turn = run_turn(options_.time.now(), options_.turn);
      thread_.count_wake_up(counters_, turn, not_due_);
      // Time has passed while callbacks ran: look at the clock again, rather than sleep until a deadline that has
      // passed.
      if (phase_ == phase::ended || turn.fired > 0) return std::nullopt;
      if (turn.more) {
        // The queue has paused, and the lock was held all the time: let other threads have it.
        lock_.unlock();
        lock_.lock();
        return std::nullopt;
      }
      until = queue_.next_deadline();
    } catch (const std::bad_alloc&) {
      // The queue had no memory to move timers. No timer is lost; due timers fire once there is memory.
      lock_.unlock();
      options_.report({.error = std::current_exception()});
      lock_.lock();
      until = options_.time.now() + wait_for_memory;
    }
    if (phase_ == phase::ended) return std::nullopt;
    return until;
  }

  /// Throws std::bad_alloc: some timers may have fired before that, and all others are still pending.
  expiry run_turn(instant now, budget limit) FOLIOT_REQUIRES(lock_) {
    if constexpr (lockless) not_due_ = 0;
    return queue_.expire(now, limit, [this](node_type& node) {
      lock_.assert_held();
      record& r = static_cast<record&>(node);
      if constexpr (lockless) {
        const auto was = r.word().take();
        if (was.stopped()) {
          ++not_due_;
          return count_dequeued();
        }
        if (was.armed() && was.deadline() > r.deadline()) {
          ++not_due_;
          return requeue(r, was.deadline());
        }
        // A start that finds the timer queued_late has an earlier deadline than the queue.
        if (was.armed()) timer_node_access::set_deadline(r, was.deadline());
      }
      fire(r);
    });
  }

  /// Requeues a postponed timer, which has just left the queue at its old deadline.
  void requeue(record& r, instant deadline) noexcept FOLIOT_REQUIRES(lock_) {
    probes::reset(&r, deadline);  // not at the postponement: the probe would cost a tenth of it
    queue_.requeue(r, deadline);
    arm_word(r);
  }

  void fire(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (phase_ == phase::ended) [[unlikely]]
      return drop(r);  // the shard ended while the callback of another timer ran
    // A wall clock may have been set back since it showed that the timer is due.
    firing current{r.deadline(), std::max(r.deadline(), options_.time.now())};
    callback_failure failure;
    shared_name name;
    if (r.kind_ != record::kind::one_shot) [[unlikely]] {
      if (r.is_pinned()) return fire_pinned(as_pinned(r), current);
      failure.error = arm_next_tick(as_extended(r), current);
      if (failure.error != nullptr) [[unlikely]] {  // reported when the record may be gone
        failure.armed_at = r.armed_at();
        name = r.name();
      }
    }
    log_entries entries(options_);
    entries.expired(r, current.deadline);
    if (!options_.executor) {
      ++counters_.fired;
      call(r, current, entries);
    } else {
      post(as_extended(r), current, entries);
    }
    if (failure.error == nullptr && !entries.wanted()) [[likely]]
      return;
    lock_.unlock();
    entries.write();
    if (failure.error != nullptr) {
      failure.name = view_of(name);
      options_.report(failure);
    }
    lock_.lock();
  }

  /// Queues the ticker for the next tick of its grid that is not past; the ticks between are skipped. Returns the
  /// failure if there is no memory: the ticker is idle from now on.
  [[gnu::noinline]] std::exception_ptr arm_next_tick(extended& r, firing& current) noexcept FOLIOT_REQUIRES(lock_) {
    const std::int64_t ticks_passed = current.lateness() / r.period_;
    current.skipped = static_cast<std::uint64_t>(ticks_passed);
    r.skipped_ += current.skipped;
    counters_.skipped += current.skipped;
    if (phase_ == phase::draining) return nullptr;  // this tick was the last
    try {
      queue_.start(r, current.deadline + r.period_ * ticks_passed + r.period_);
      ++next_ticks_;
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Calls the callback without the lock, after it has written the log.
  void call(record& r, const firing& current, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_) {
    entries.calling(r, current.deadline);
    const seam::callback_frame frame{this, seam::this_thread().inside};
    r.life().begin_use(forks_);
    r.running_ = true;
    ++callbacks_running_;
    lock_.unlock();
    seam::this_thread().inside = &frame;
    entries.write();
    seam::perturb(6);
    if (!cancel_if_closed_by_log(r, entries)) {
      meter_ == nullptr ? run(r, current) : run_measured(r, current, [&] { run(r, current); });
    }
    lock_.lock();
    r.running_ = false;
    arm_word(r);  // it may have been started again meanwhile
    settle(r);
    seam::this_thread().inside = frame.outer;
    --callbacks_running_;  // last: settle() may have run the destructors of captures
    done_.notify_all();
  }

  /// If the log has closed the timer, whose callback has not begun: counts it as not fired, and returns true. Without
  /// the lock.
  bool cancel_if_closed_by_log([[maybe_unused]] const record& r, const log_entries& entries) noexcept {
    if (!entries.wanted()) [[likely]]
      return false;
    const lock held(lock_);
    if (r.life().closed()) --counters_.fired;
    return r.life().closed();
  }

  void run(record& r, const firing& current) noexcept {
    const std::source_location armed_at = r.armed_at();  // now: the callback may arm the timer again
    probes::fire(&r, current.deadline, current.now);
    try {
      as_closured(r).callback_(current);
    } catch (...) {
      const shared_name name = name_while_in_use(r);
      options_.report({std::current_exception(), armed_at, view_of(name)});
    }
  }

  /// Calls the callback by `run_it()`, measures it, reports it if it was slow, and lets others report it while it runs.
  /// Without the lock. A pinned timer may be gone afterwards.
  template <class Run>
  [[gnu::noinline]] void run_measured(record& r, const firing& current, Run run_it) noexcept {
    const bool located = r.has_location();
    const std::source_location armed_at = r.armed_at();
    std::optional<running_callback<record>> running;
    if (options_.stalls.tell) {
      running.emplace(r, current, armed_at, options_.stalls.longer_than);
      const lock held(lock_);
      running_.add(*running);
    }
    const instant began = meter_->now();
    run_it();
    const duration took = meter_->now() - began;
    if (const slow_callback_report* const slow = meter_->too_slow_for(took)) {
      const shared_name name = located ? name_while_in_use(r) : nullptr;
      try {
        slow->tell({took, armed_at, current, view_of(name)});
      } catch (...) {
        options_.report({.error = std::current_exception()});
      }
    }
    const lock held(lock_);
    if (running) running_.remove(*running);
    meter_->record(current.lateness(), took);
    if (located && meter_->is_among_slowest(took)) meter_->add_slow(took, armed_at, r.name());
  }

  /// Without the lock; no thread frees a record whose closure the caller uses.
  shared_name name_while_in_use(const record& r) const noexcept {
    if (!r.has_location()) return nullptr;
    const lock held(lock_);
    return r.name();
  }

  // ---------------------------------------------------------------- callbacks on an executor
  //
  //   due ──► posted, job out ──job begins──► running ──► idle
  //              │ stop, reset, end: not posted any more; the job does nothing when it is called
  //
  // A timer has at most one job out. If the timer is due again while its job waits or runs, that job runs the callback
  // once more.
  //
  // A job may outlive the service. The firing and the closure do not: the thread that ends the service drops posted
  // timers as it drops queued ones, and the record stays, without a closure, until the job is gone. Only that thread
  // drops the posted timers of an ended service: a job that is called or destroyed earlier does not change them.

 public:
  void run_posted(timer_record& timer) noexcept override {
    const parting_lock held(*this);
    run_job(as_extended(timer));
  }
  void drop_posted(timer_record& timer) noexcept override {
    const parting_lock held(*this);
    drop_job(as_extended(timer));
  }

 protected:
  /// Gives the executor a job for the timer, unless the timer has one already. A tick is skipped if the callback of the
  /// tick before it has not returned. Precondition: a one-shot timer is not posted, since the start that made it due
  /// has cancelled an earlier firing.
  [[gnu::noinline]] void post(extended& r, const firing& current, log_entries& entries) noexcept
      FOLIOT_REQUIRES(lock_) {
    if (r.is_ticker() && (r.posted_ || r.running_)) {
      ++r.skipped_;
      ++(r.posted_ ? r.posted_firing_.skipped : r.skipped_while_running_);
      ++counters_.skipped;
      --next_ticks_;
      return;
    }
    r.posted_firing_ = current;
    r.posted_firing_.skipped += std::exchange(r.skipped_while_running_, 0);
    r.posted_ = true;
    ++posted_;
    posted_timers_.push_front(r);
    if (r.job_is_out_) return;
    r.job_is_out_ = r.being_posted_ = true;
    lock_.unlock();
    entries.write();  // before the entries of the job, which the executor may call at once
    bool failed = false;
    try {
      options_.executor(posted_callback(r));
    } catch (...) {
      failed = true;
      options_.report({.error = std::current_exception()});
    }
    lock_.lock();
    r.being_posted_ = false;
    if (r.job_is_out_) return;
    // The executor has called the job already, or has destroyed it uncalled, for example because it threw.
    if (failed) {
      r.job_is_out_ = true;
      return run_job(r);
    }
    drop_firing(r);
  }

  /// Makes a posted timer not posted.
  void unpost(extended& r) noexcept FOLIOT_REQUIRES(lock_) {
    r.posted_ = false;
    --posted_;
    posted_timers_.erase(r);
  }

  /// The executor has destroyed the job uncalled.
  void drop_firing(extended& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.posted_ && phase_ != phase::ended) {
      unpost(r);
      ++counters_.dropped;
    }
    settle_after_job(r);
  }

  /// The executor calls the job.
  [[gnu::noinline]] void run_job(extended& r) noexcept FOLIOT_REQUIRES(lock_) {
    while (r.posted_ && phase_ != phase::ended) {
      unpost(r);
      ++counters_.fired;
      log_entries entries(options_);
      firing current = r.posted_firing_;
      current.now = std::max(current.deadline, options_.time.now());  // the job may have waited for long
      call(r, current, entries);
    }
    r.job_is_out_ = false;
    settle_after_job(r);
  }

  /// The executor destroys the job uncalled.
  [[gnu::noinline]] void drop_job(extended& r) noexcept FOLIOT_REQUIRES(lock_) {
    r.job_is_out_ = false;
    if (!r.being_posted_) drop_firing(r);  // otherwise post() does so after the executor's call
  }

  /// The job is gone: frees a record that stayed only for it.
  void settle_after_job(extended& r) noexcept FOLIOT_REQUIRES(lock_) {
    done_.notify_all();
    if (r.life().orphaned() && !r.life().in_use() && !is_pending(r) && !has_job(r)) retire(r);
  }

  // ---------------------------------------------------------------- the end of a timer

 public:
  stop_result stop_and_wait(timer_record& timer) noexcept override {
    parting_lock held(*this);
    return stop_and_wait_here(as_record(timer), held.entries());
  }
  void destroy(timer_record* timer) noexcept override {
    parting_lock held(*this);
    destroy_here(as_record(*timer), held.entries());
  }
  void detach(timer_record* timer) noexcept override {
    const parting_lock held(*this);
    detach_here(as_record(*timer));
  }

 protected:
  stop_result stop_and_wait_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_) {
    entries.ending(r);
    const stop_result result = cancel(r);
    r.life().close();
    if (wait_for_closure(r)) retire(r);
    return result;
  }

  void destroy_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_) {
    entries.ending(r);
    cancel(r);
    r.life().close();
    const bool unused = wait_for_closure(r);
    r.life().orphan();  // not before: the closure's user would free the record, and this thread waits on it
    if (unused) retire_closured(r);
  }

  void detach_here(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    forked_ ? static_cast<void>(cancel(r)) : unqueue_if_stopped(r);
    r.life().orphan();
    if (!is_pending(r) && !r.life().in_use()) retire_closured(r);
  }

  /// Waits until no thread uses the closure. Returns false if the caller is inside the callback or the closure's
  /// destructor: settle() then completes the end, after that has returned.
  bool wait_for_closure(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    running_.wait(lock_, done_, stall_kind::end_waits, &r, instant::never(), [this, &r] {
      lock_.assert_held();
      if (!forks_.empty()) [[unlikely]]  // a report may have forked, too
        abandon_if_used_in_parent(r);
      return !r.life().in_use() || r.life().in_use_by_caller();
    });
    return !r.life().in_use();
  }

  /// In the child of a fork.
  [[gnu::noinline]] void abandon_if_used_in_parent(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (!r.life().used_in_parent(forks_)) return;
    if (r.is_pinned()) {
      as_pinned(r).slot_.operations_ = nullptr;
    } else {
      std::construct_at(&as_closured(r).callback_);
    }
    r.life().forget_user();
  }

  /// Ends a record that is not pending and whose closure no thread uses.
  void retire(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    r.is_pinned() ? retire_pinned(as_pinned(r)) : retire_closured(r);
  }
  void retire_closured(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    r.life().begin_use(forks_);
    r.life().close();
    settle(r);
  }

  /// The caller, until now the closure's user, is done with it: destroys the closure if the timer has ended, and frees
  /// the record if no handle has it.
  void settle(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.life().closed() || (r.life().orphaned() && !is_pending(r))) {
      lock_.unlock();
      as_closured(r).callback_.reset();  // a captures' destructor may call the shard, and even destroy the last handle
      lock_.lock();
    }
    r.life().end_use(done_);
    if (!r.life().orphaned() || is_pending(r)) return;
    if (has_job(r)) return end_sleep_before_job(r);
    if (forked_) cancel(r);  // in the child no thread empties the queue in time
    free_record(r);
  }

  /// The last thread that uses the record frees it. The record of a sleep wakes its thread instead.
  void free_record(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.is_sleep_) [[unlikely]]
      return end_sleep(static_cast<sleeping&>(r));
    is_extended(r) ? records_.free(lock_, as_extended(r)) : records_.free(lock_, as_closured(r));
    --references_;
  }

  // ---------------------------------------------------------------- pinned timers
  //
  // The record of a pinned timer lies in the user's object, with its closure: pinned_layout.hpp. It is that of a
  // handle's timer in all that start, reset and stop do. What differs is the use of the closure, since the user may
  // destroy the object meanwhile: the use lies on the user's stack, and says whether the object is gone.
  //
  //   a callback or a capture's destructor destroys the object     unpin() finds the use, and marks it: the user gives
  //                                                                the record's reference back, and touches nothing
  //   any other thread destroys it                                 unpin() waits until the use is over

 public:
  bool unpin(timer_record& timer) noexcept override {
    std::shared_ptr<engine> last;
    const lock held(lock_);
    const bool has_closure = unpin_here(as_pinned(timer));
    if (references_ == 0) [[unlikely]]
      last = take_unreferenced();
    return has_closure;
  }

 protected:
  /// Throws std::invalid_argument if the shard cannot have pinned timers.
  void refuse_pinned() const {
    if (options_.executor || options_.log) [[unlikely]]
      refuse_pinned_timer("a service with an executor or a log uses its timers after their end: make a foliot::timer");
    if constexpr (!pinned::fits()) {
      refuse_pinned_timer(
          "the timers of this engine are too large: choose the engine 'foliot', or make a foliot::timer");
    }
  }

  /// Arms a pinned timer that no thread but the caller knows. If that fails, there is no timer.
  void pin_armed(pinned& made, instant deadline) {
    lock held(lock_);
    bool must_wake = false;
    try {
      must_wake = arm_new(made, deadline);
    } catch (...) {
      std::destroy_at(&made);
      throw;
    }
    retain();
    held.leave();
    if (must_wake) [[unlikely]]
      thread_.wake();
  }

  /// As arm(), for a timer that is idle, with an open word that no other thread can change, in a shard without executor
  /// and log. Returns whether the caller must wake the thread.
  [[gnu::always_inline]] bool arm_new(pinned& made, instant deadline) FOLIOT_REQUIRES(lock_) {
    if (phase_ != phase::running) [[unlikely]]
      return arm_new_slowly(made, deadline);
    if constexpr (requires { queue_.forward(deadline); }) queue_.forward(options_.time.now());
    queue_.reset(made, deadline);  // not start(): then all other starts would call it out of line
    probes::start(&made, deadline);
    if constexpr (lockless) {
      if (!options_.on_virtual_time) made.word().arm(deadline);  // as arm_word()
    }
    ++counters_.started;
    count_peak();
    if (!thread_.must_wake_for(deadline)) return false;
    ++counters_.wake_ups;
    return true;
  }
  /// The same in a shard whose thread has not started, that drains or that has ended.
  [[gnu::noinline]] bool arm_new_slowly(pinned& made, instant deadline) FOLIOT_REQUIRES(lock_) {
    log_entries none(options_);
    return arm(made, [deadline] { return deadline; }, [] {}, none).to_wake != nullptr;
  }

  /// Returns whether the closure is still in the object.
  //
  // If no thread uses the closure, no other thread knows the timer: by the contract no other call is under way. So its
  // word is read, and not taken, and nothing need say that the timer is closed.
  [[gnu::always_inline]] bool unpin_here(pinned& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.life().in_use() || phase_ != phase::running) [[unlikely]]
      return unpin_slowly(r);
    const bool was_stopped = r.word().load().stopped();
    const bool was_queued = queue_.stop(r);
    if (was_stopped) [[unlikely]] {
      count_dequeued();
    } else if (was_queued) {
      probes::stop(&r);
    }
    return end_pinned(r);
  }
  /// The same while a thread uses the closure, or in a shard that drains or has ended.
  [[gnu::noinline]] bool unpin_slowly(pinned& r) noexcept FOLIOT_REQUIRES(lock_) {
    cancel(r);
    r.life().close();
    if (wait_for_closure(r)) return end_pinned(r);
    lose_object(r);
    return false;
  }
  bool end_pinned(pinned& r) noexcept FOLIOT_REQUIRES(lock_) {
    const bool has_closure = r.slot_.operations_ != nullptr;
    --references_;
    std::destroy_at(&r);
    return has_closure;
  }

  /// The user of the closure, which is the caller, destroys the object.
  [[gnu::noinline]] void lose_object(pinned& r) noexcept FOLIOT_REQUIRES(lock_) {
    pinned_use& use = *r.slot_.use_;
    running_.forget_timer(r);
    use.lose_object();
    if (!use.is_out() && use.closure() != nullptr && use.closure()->destroy != nullptr) {
      void* const closure = r.closure();
      lock_.unlock();
      use.closure()->destroy(closure, use);
      lock_.lock();
    }
    std::destroy_at(&r);
  }

  [[gnu::noinline]] void fire_pinned(pinned& r, const firing& current) noexcept FOLIOT_REQUIRES(lock_) {
    ++counters_.fired;
    pinned_use use(r.slot_.operations_);
    const seam::callback_frame frame{this, seam::this_thread().inside};
    begin_use(r, use);
    r.running_ = true;
    ++callbacks_running_;
    lock_.unlock();
    seam::this_thread().inside = &frame;
    seam::perturb(6);
    const auto run = [&] { run_pinned(r, current, use); };
    meter_ == nullptr ? run() : run_measured(r, current, run);
    lock_.lock();
    if (!use.object_is_gone()) {
      r.running_ = false;
      arm_word(r);  // it may have been started again meanwhile
    }
    settle_pinned(r, use);
    seam::this_thread().inside = frame.outer;
    --callbacks_running_;  // last: settle_pinned() may have run the destructors of captures
    done_.notify_all();
  }

  void run_pinned(pinned& r, const firing& current, pinned_use& use) noexcept {
    probes::fire(&r, current.deadline, current.now);
    try {
      use.closure()->run(r.closure(), current, use);
    } catch (...) {
      options_.report({.error = std::current_exception()});
    }
  }

  /// Destroys the closure. The object may be gone afterwards.
  void retire_pinned(pinned& r) noexcept FOLIOT_REQUIRES(lock_) {
    pinned_use use(r.slot_.operations_);
    begin_use(r, use);
    r.life().close();
    settle_pinned(r, use);
  }

  void begin_use(pinned& r, pinned_use& use) noexcept FOLIOT_REQUIRES(lock_) {
    r.life().begin_use(forks_);
    r.slot_.use_ = &use;
  }

  /// As settle(): the caller ends its use, and destroys the closure before if the timer has ended.
  void settle_pinned(pinned& r, pinned_use& use) noexcept FOLIOT_REQUIRES(lock_) {
    if (!use.object_is_gone() && r.life().closed() && use.closure() != nullptr) {
      if (use.closure()->destroy != nullptr) {
        void* const closure = r.closure();
        lock_.unlock();
        use.closure()->destroy(closure, use);
        lock_.lock();
      }
      use.forget_closure();
    }
    if (use.object_is_gone()) {
      --references_;
      return;
    }
    r.slot_.operations_ = use.closure();
    r.life().end_use(done_);
  }

  // ---------------------------------------------------------------- sleeping threads
  //
  // The timer of a sleep lies on the stack of the sleeping thread, as Go's lay in the goroutine's descriptor, so a
  // sleep allocates nothing. It has no handle from the start: once it has fired, or its start was dropped, the last
  // thread that uses it calls free_record(), which wakes the sleeping thread as its very last act; no thread touches
  // the timer after that.
  //
  // With an executor this is impossible: the executor may keep the job of a timer for any time, also when the service
  // has ended and the sleep with it. There the shard allocates the timer, and keeps it for the next sleep.
  //
  // In the child of a fork the other threads that slept do not exist, and their stacks may become those of new threads:
  // their timers leave the queue before any thread can use it.

 public:
  bool sleep_until(instant deadline, std::source_location here) override {
    one_sleep own;
    if (!options_.executor) {
      sleeping one(*this, own, location(), here);
      if (start_sleep(one, deadline)) own.woken.sleep_until(instant::never());
      return own.fired;
    }
    std::unique_ptr<sleeping> one = take_spare_sleep(own, here);
    if (!start_sleep(*one, deadline)) return false;
    static_cast<void>(one.release());  // end_sleep() gives it to the shard
    own.woken.sleep_until(instant::never());
    return own.fired;
  }

 protected:
  /// False if the start is refused. Then, and if it throws, no other thread has seen the timer.
  bool start_sleep(sleeping& one, instant deadline) {
    // The timer may fire before the shard's thread is woken; if the service ends then, nothing else keeps the shard.
    const std::shared_ptr<engine> keep = this->shared_from_this();
    one.life().orphan();
    const auto keep_sleep = [this, &one] {
      lock_.assert_held();
      retain();
      asleep_.push_front(one);
    };
    return rearm(one, [deadline] { return deadline; }, keep_sleep) != reset_result::closed;
  }

  /// A record that an earlier sleep has left, or a new one. Throws std::bad_alloc.
  std::unique_ptr<sleeping> take_spare_sleep(one_sleep& own, std::source_location here) {
    std::unique_ptr<sleeping> spare;
    {
      const lock held(lock_);
      spare.reset(spare_sleeps_.pop_front());
    }
    if (spare == nullptr) return std::make_unique<sleeping>(*this, own, location(), here);
    sleeping* const again = spare.release();
    std::destroy_at(again);
    return std::unique_ptr<sleeping>(std::construct_at(again, *this, own, location(), here));
  }

  /// The sleep is over, and no thread but the sleeping one uses its timer any more.
  [[gnu::noinline]] void end_sleep(sleeping& one) noexcept FOLIOT_REQUIRES(lock_) {
    asleep_.erase(one);
    one_sleep* const sleep = std::exchange(one.sleep_, nullptr);
    if (options_.executor) spare_sleeps_.push_front(one);
    if (sleep != nullptr) wake_sleeping_thread(*sleep);
    --references_;  // last: the shard must exist as long as wake_sleeping_thread() uses its lock
  }

  /// If the record is that of a sleep and the service has ended while its job is out: the sleep ends, and the record
  /// waits for the job.
  [[gnu::noinline]] void end_sleep_before_job(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (!r.is_sleep_ || phase_ != phase::ended) return;
    if (one_sleep* const sleep = std::exchange(static_cast<sleeping&>(r).sleep_, nullptr)) wake_sleeping_thread(*sleep);
  }

  /// Releases the lock meanwhile: the system call would delay other threads.
  void wake_sleeping_thread(one_sleep& sleep) noexcept FOLIOT_REQUIRES(lock_) {
    lock_.unlock();
    sleep.woken.wake();
    lock_.lock();
  }

  /// In the child of a fork.
  void forget_sleeping_threads() noexcept FOLIOT_REQUIRES(lock_) {
    auto parents = std::move(asleep_);
    while (sleeping* const each = parents.pop_front()) {
      each->sleep_ = nullptr;
      const bool is_callers = each->life().in_use_by_caller();  // the caller is inside its callback, and frees it later
      if (!options_.executor && !is_callers) {
        cancel(*each);
        --references_;
        continue;
      }
      if (is_callers) {
        each->life().close();
      } else {
        // The callback wrote to the stack of a thread that is gone.
        std::construct_at(&each->callback_, [](const firing&) noexcept {});
        each->life().forget_user();
      }
      asleep_.push_front(*each);
    }
  }

  void free_spare_sleeps() noexcept FOLIOT_NO_ANALYSIS {
    while (sleeping* const spare = spare_sleeps_.pop_front()) delete spare;
  }

  // ---------------------------------------------------------------- the drain, and the end of the shard

 public:
  void begin_to_drain() noexcept override {
    const lock held(lock_);
    if (phase_ != phase::ended) close(phase::draining);
  }

  void wait_until_drained(instant until) noexcept override {
    const lock held(lock_);
    running_.wait(lock_, done_, stall_kind::service_waits, nullptr, until, [this] {
      lock_.assert_held();
      return phase_ != phase::draining || try_finish_drain();
    });
  }

  std::size_t end() noexcept override {
    const std::shared_ptr<engine> keep = this->shared_from_this();  // a closure may own the service
    if (options_.watcher != nullptr) options_.watcher->end();
    std::shared_ptr<engine> last;
    const lock held(lock_);
    const bool has_ended = phase_ == phase::ended;
    close(phase::ended);
    done_.notify_all();  // a thread that drains the service waits for nothing any more
    if (thread_.must_wake()) thread_.wake();
    const std::uint64_t dropped_before = counters_.dropped;
    drop_pending();
    last = take_unreferenced();
    return has_ended ? 0 : counters_.dropped - dropped_before;
  }

  void wait_for_end() noexcept override {
    const std::shared_ptr<engine> keep = this->shared_from_this();
    lock held(lock_);
    running_.wait(lock_, done_, stall_kind::service_waits, nullptr, instant::never(), [this] {
      lock_.assert_held();
      return callbacks_running_ == 0;
    });
    seam::thread thread = thread_.release();
    held.leave();
    if (thread.joinable()) thread.join();
  }

 protected:
  /// Nothing is started from now on. Calls without the lock that are under way either see this, or are counted by the
  /// caller.
  void close(phase to) noexcept FOLIOT_REQUIRES(lock_) {
    phase_ = to;
    lockless_.close();
  }

  /// Ends the drain if nothing is pending and no callback runs, and returns whether it did; it stays ended.
  ///
  /// A stopped timer that is still queued could yet be started by a thread that has not seen that the shard is closing.
  /// So stopped timers leave the queue: their words are open then, and such a start takes the lock, which refuses it.
  /// If a timer has been started in time, the thread that started it notifies this one (lockless_path.hpp).
  bool try_finish_drain() noexcept FOLIOT_REQUIRES(lock_) {
    if (count_pending() > 0 || callbacks_running_ > 0) return false;
    if constexpr (lockless) {
      while (node_type* const node = queue_.any()) {
        record& r = static_cast<record&>(*node);
        const auto was = r.word().take();
        if (!was.stopped()) {
          r.word().restore(was);
          return false;
        }
        queue_.stop(r);
        count_dequeued();
      }
    }
    return true;
  }

  /// Drops all pending timers, wherever they are. The lock is released for each closure: other threads may end timers
  /// meanwhile.
  [[gnu::noinline]] void drop_pending() noexcept FOLIOT_REQUIRES(lock_) {
    for (;;) {
      if (extended* const posted = posted_timers_.front(); posted != nullptr) {
        unpost(*posted);
        drop(*posted);
        continue;
      }
      node_type* const node = queue_.pop_any();
      if (node == nullptr) break;
      record& r = static_cast<record&>(*node);
      r.word().take().stopped() ? count_dequeued() : drop(r);
    }
  }

  /// Drops one start of a timer that was pending when the shard ended. It has just left the queue, or the list of
  /// posted timers. A ticker may have another start pending.
  void drop(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    ++counters_.dropped;
    r.life().close();
    if (!r.life().in_use()) retire(r);  // else the closure's user settles it
  }

  /// The shard has ended: a pending timer stays for drop_pending() to find, with its closure.
  stop_result stop_after_end(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (r.word().take().stopped()) {  // with an open word no thread postpones or stops it any more
      queue_.stop(r);
      count_dequeued();
    }
    return r.running_ ? stop_result::running : stop_result::idle;
  }

  // ---------------------------------------------------------------- forks

  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  /// Only the thread that forked exists here. The locks are free again, and nothing waits for the other threads.
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS {
    running_.forget_other_threads();
    forks_.add();
    // On virtual time the shard goes on: the thread that advances the clock is the one that forked.
    if (!options_.on_virtual_time) {
      forked_ = true;
      phase_ = phase::ended;
      lockless_.close_in_child();
      if (thread_.forget_in_child()) --references_;
    }
    callbacks_running_ = 0;
    for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
      if (frame->owner == this) ++callbacks_running_;
    }
    forget_sleeping_threads();
    lock_.unlock_beside_others();
  }

 public:
  // The rank is that of the first lock.
  void lock_with_others(bool is_highest) noexcept override FOLIOT_NO_ANALYSIS {
    is_highest ? lock_.lock() : lock_.lock_beside_others();
  }
  void unlock_with_others(bool is_highest) noexcept override FOLIOT_NO_ANALYSIS {
    is_highest ? lock_.unlock() : lock_.unlock_beside_others();
  }

  // ---------------------------------------------------------------- counters, reports, and room in the queue

  instant report_stalls(const bool& is_over) noexcept override {
    const lock held(lock_);
    return running_.report_overdue(lock_, is_over);
  }

  service_counters counters(const shard_list& of_service) const noexcept override {
    service_counters sum;
    for (const auto& each : of_service) sum += static_cast<const shard&>(*each).counters_now();
    return sum;
  }

  void add_to(service_statistics& sum) const noexcept override {
    ++sum.shards;
    if (meter_ != nullptr) meter_->add_to(sum);
  }

  void add_to(slowest_callbacks& all) const noexcept override {
    const lock held(lock_);
    if (meter_ != nullptr) all.add(meter_->slowest());
  }

  callable<void()> room_for(std::size_t count) override {
    lock_.assert_held();
    refuse_impossible(count);
    if (!options_.on_virtual_time) count += lockless_.most_stopped;
    if constexpr (requires { records_.room_for(lock_, count); }) {
      return [this, room = queue_.room_for(count), cells = records_.room_for(lock_, count)]() mutable {
        lock_.assert_held();
        queue_.take(std::move(room));
        records_.take(lock_, std::move(cells));
      };
    } else if constexpr (requires { queue_.take(queue_.room_for(count)); }) {
      return [this, room = queue_.room_for(count)]() mutable {
        lock_.assert_held();
        queue_.take(std::move(room));
      };
    } else {
      queue_.reserve(count);  // a queue without the two steps allocates nothing
      return [] {};
    }
  }

 protected:
  /// How many timers are pending, or were stopped and are still queued.
  std::size_t count_queued() const noexcept FOLIOT_REQUIRES(lock_) { return queue_.size() + posted_; }

  std::size_t count_pending() const noexcept FOLIOT_REQUIRES(lock_) {
    return count_queued() - lockless_.sum().stopped_but_queued(count_queued());
  }

  service_counters counters_now() const noexcept {
    const lock held(lock_);
    return counters_here();
  }
  service_counters counters_here() const noexcept FOLIOT_REQUIRES(lock_) {
    service_counters now = counters_;
    const auto without_lock = lockless_.sum();
    now.pending = count_queued() - without_lock.stopped_but_queued(count_queued());
    now.superseded += without_lock.postponed;
    now.started += without_lock.starts;
    if (options_.watcher != nullptr) now.refused += options_.watcher->refused();
    // Once the shard has ended, timers that are still there count as dropped.
    if (phase_ == phase::ended) now.dropped += std::exchange(now.pending, 0);
    // Each start has one outcome: the starts that are neither fired, pending nor dropped were stopped.
    now.stopped = now.started + next_ticks_ - now.fired - now.pending - now.dropped;
    return now;
  }

  // ---------------------------------------------------------------- fields

  const shard_options options_;
  const std::size_t index_;
  const std::unique_ptr<callback_meter> meter_;  // null: callbacks are not measured
  mutable mutex lock_{lock_rank::engine};
  queue_type queue_ FOLIOT_GUARDED_BY(lock_);
  /// All but `pending` and `stopped`, which follow from the others, so that a start and a stop write as little as
  /// possible.
  service_counters counters_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t next_ticks_ FOLIOT_GUARDED_BY(lock_) = 0;  // the starts that tickers made for their next tick
  phase phase_ FOLIOT_GUARDED_BY(lock_);
  std::size_t references_ FOLIOT_GUARDED_BY(lock_) = 0;  // records and the thread; 64 bits: it cannot overflow
  std::shared_ptr<engine> self_ FOLIOT_GUARDED_BY(lock_);
  std::size_t callbacks_running_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// With a stall report: the callbacks themselves.
  running_callbacks<record> running_ FOLIOT_GUARDED_BY(lock_);
  /// The timers that are with the executor, and whose callbacks have not begun.
  std::size_t posted_ FOLIOT_GUARDED_BY(lock_) = 0;
  intrusive_list<extended, &extended::posted_links_> posted_timers_ FOLIOT_GUARDED_BY(lock_);
  /// The timers of sleeping threads and, with an executor, those that are kept for the next sleep.
  sleep_list asleep_ FOLIOT_GUARDED_BY(lock_);
  sleep_list spare_sleeps_ FOLIOT_GUARDED_BY(lock_);
  /// Notified when a closure is not in use any more, a callback has returned, or the shard may have drained or has
  /// ended.
  condition done_ FOLIOT_GUARDED_BY(lock_);

  /// This process is the child of a fork, and not on virtual time: the shard's thread may not exist here.
  bool forked_ FOLIOT_GUARDED_BY(lock_) = false;
  fork_history forks_ FOLIOT_GUARDED_BY(lock_);
  /// How many of the timers that the queue returned in this turn were postponed or stopped.
  std::size_t not_due_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// Under the lock, except for the sleep itself and waking.
  timer_thread<typename Design::wait> thread_;
  /// Takes the lock itself, to make a record. The lock guards the rest of it, which its functions require.
  [[no_unique_address]] typename Design::records records_;
  [[no_unique_address]] std::conditional_t<lockless, lockless_path, no_lockless_path> lockless_;
};

}  // namespace foliot::detail
