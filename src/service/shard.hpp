// A shard: a queue, a lock, and a thread that fires what is due. An engine is one of them, or several.
//
// Life of the thread. It is made by the first start. It runs what is due, each callback with the lock
// released; then it sleeps until the earliest deadline (`sleeping`), or for good if there is none
// (`rescheduling`). A start or reset wakes it only if its deadline comes before the thread would look by
// itself; a stop never does. On a virtual clock there is no thread: whoever advances the clock calls
// run_due.
//
// A design says what a shard is made of: `queue`, any model of timer_queue; `wait`, how the thread sleeps (waits.hpp);
// `word`, timer_word where a reset to a later deadline goes without the lock, else no_word. With the 4-ary
// heap, a note and no word this is `global-heap`, the timers of Go up to 1.9: docs/engines/global-heap.md.
//
// Thread safety: everything below is guarded by `lock_`, which is never held while a user's code runs:
// callbacks, the destruction of closures, the exception handler. The words guard themselves.
//
// Invariants:
//   1. A record that is closed is not pending.
//   2. `user_` of a record is the thread that uses its closure with the lock released; nobody else
//      touches the closure meanwhile, and the record is not destroyed.
//   3. The thread does not sleep past the queue's next deadline, or it has been, or is about to be, woken by
//      whoever made it so.
//   4. A record whose word is armed is in the queue at the word's deadline or earlier, or is `homeless_`.
//   5. The shard owns itself while it has records or its thread lives.
//   6. From the moment at which it ends all that is pending counts as dropped: nothing fires any more, and every
//      answer says so, also while the records are taken out of the queue one by one.
//
// Complexity: the queue's, and one uncontended lock a call; a put-off is one compare-and-swap.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/slack.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/engine.hpp>
#include <foliot/service/executor.hpp>

#include "../core/seam/probes.hpp"
#include "callback_watch.hpp"
#include "shard_options.hpp"
#include "shard_record.hpp"
#include "sleeper.hpp"
#include "thread_counts.hpp"

namespace foliot::inline service {

template <class Design>
class shard final : public engine, private seam::fork_witness, public std::enable_shared_from_this<shard<Design>> {
  using queue_type = typename Design::queue;
  using node_type = typename queue_type::node_type;
  using word = typename Design::word;
  using record = detail::shard_record<queue_type, word>;
  using ticking_record = detail::ticking_record<queue_type, word>;
  using posting_record = detail::posting_record<queue_type, word>;
  using placed_record = detail::placed_record<queue_type, word>;
  static constexpr bool puts_off = std::same_as<word, detail::timer_word>;

 public:
  explicit shard(shard_options options, std::size_t index)
      : options_(std::move(options)),
        index_(index),
        watch_(detail::callback_watch::wanted_by(options_)),
        phase_(options_.by_hand ? phase::running : phase::unstarted),
        sleeper_(options_.time, options_.precise) {
    if (!options_.by_hand) witness_forks();
  }

  timer_record* make(timer_callback callback, duration period) override;
  void arms_at(timer_record& timer, std::source_location place) noexcept override;

  reset_result reset(timer_record& timer, instant deadline) override {
    record& r = as_record(timer);
    if (put_off(r, deadline)) return reset_result::superseded;
    return rearm(r, [deadline] { return deadline; });
  }

  reset_result reset(timer_record& timer, duration delay, duration slack) override {
    record& r = as_record(timer);
    const auto deadline = [this, delay, slack] {
      return coalesced(deadline_after(options_.precise ? options_.time.now() : options_.time.now_or_later(), delay),
                       slack);
    };
    if (r.word().armed() && put_off(r, deadline())) return reset_result::superseded;
    return rearm(r, deadline);
  }

  reset_result restart(timer_record& timer, duration period) override {
    ticking_record& r = as_ticking(timer);
    return rearm(r, [this, period] { return options_.time.now() + period; }, [&r, period] { r.period_ = period; });
  }

  stop_result stop(timer_record& timer) noexcept override {
    const lock held(lock_);
    return take_back(as_record(timer));
  }

  stop_result stop_and_wait(timer_record& timer) noexcept override {
    record& r = as_record(timer);
    std::shared_ptr<engine> last;  // outlives the lock below; the closure may own the last handle
    const lock held(lock_);
    const stop_result result = take_back(r);
    r.closed_ = true;
    if (wait_for_closure(r)) retire(r);
    last = farewell();
    return result;
  }

  void destroy(timer_record* timer) noexcept override {
    record& r = as_record(*timer);
    std::shared_ptr<engine> last;
    const lock held(lock_);
    take_back(r);
    r.closed_ = true;
    const bool mine = wait_for_closure(r);
    r.orphaned_ = true;
    if (mine) retire(r);
    last = farewell();
  }

  void detach(timer_record* timer) noexcept override {
    record& r = as_record(*timer);
    std::shared_ptr<engine> last;
    const lock held(lock_);
    r.orphaned_ = true;
    if (!is_pending(r) && r.user_ == nullptr) retire(r);
    last = farewell();
  }

  void run_posted(timer_record& timer) noexcept override;
  void drop_posted(timer_record& timer) noexcept override;

  bool pending(const timer_record& timer) const noexcept override {
    const record& r = static_cast<const record&>(timer);
    if (r.word().armed()) return true;
    const lock held(lock_);
    return phase_ != phase::ended && is_pending(r);
  }

  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    const lock held(lock_);
    return static_cast<const ticking_record&>(timer).skipped_;
  }

  std::shared_ptr<detail::watcher> watches() override;

  void begin_to_drain() noexcept override {
    const lock held(lock_);
    if (phase_ != phase::ended) phase_ = phase::draining;
  }

  void wait_until_drained(instant until) noexcept override {
    const lock held(lock_);
    while (phase_ == phase::draining && (count_pending() > 0 || callbacks_running_ > 0)) {
      const duration left = until - options_.time.now();
      if (left <= duration::zero()) break;
      done_.wait_until(lock_, seam::monotonic_now() + left);
    }
  }

  std::size_t end() noexcept override;
  void wait_for_end() noexcept override {
    const std::shared_ptr<engine> keep = this->shared_from_this();
    lock held(lock_);
    while (callbacks_running_ > 0) done_.wait(lock_);
    seam::thread thread = std::move(thread_);
    held.leave();
    if (thread.joinable()) thread.join();
  }

  ~shard() override {
    if (!options_.by_hand) forget_forks();
    if (thread_.joinable()) thread_.detach();  // it has ended, or this is its last act
  }

  void reserve(std::size_t count) override {
    const lock held(lock_);
    queue_.reserve(count);
  }

  service_counters counters() const noexcept override {
    const lock held(lock_);
    service_counters now = counters_;
    now.pending = phase_ == phase::ended ? 0 : count_pending();
    if constexpr (puts_off) now.superseded += put_offs_.sum();
    // Each start ends once: what did not fire and is not there any more was stopped.
    now.stopped = now.started + beats_ - now.fired - now.pending - now.dropped;
    return now;
  }

  void add_to(service_statistics& sum) const noexcept override {
    ++sum.shards;
    if (watch_ != nullptr) watch_->add_to(sum);
  }

  const clock& time() const noexcept override { return options_.time; }

  bool runs_on_caller() const noexcept override {
    if (options_.time.moved_by_caller()) return true;
    const lock held(lock_);
    return is_own_thread();
  }

  // timeline: how a virtual clock drives this engine.

  instant next_deadline() override {
    const lock held(lock_);
    return queue_.next_deadline();
  }

  expiry run_due(instant now, budget limit) override {
    std::shared_ptr<engine> last;
    const lock held(lock_);
    const expiry turn = run_turn(now, limit);
    last = farewell();
    return turn;
  }

 private:
  enum class phase : std::uint8_t {
    unstarted,  // nobody runs timers yet: the first start makes the thread
    running,    // the thread does, or whoever advances the virtual clock
    draining,   // the same, but nothing new is started
    ended,      // shut down
  };

  /// How long the thread waits before it tries again what it had no memory for.
  static constexpr duration wait_for_memory = duration::nanoseconds(1'000'000);

  static record& as_record(timer_record& timer) noexcept { return static_cast<record&>(timer); }
  static posting_record& as_posting(record& r) noexcept { return static_cast<posting_record&>(r); }
  static const posting_record& as_posting(const record& r) noexcept { return static_cast<const posting_record&>(r); }
  static ticking_record& as_ticking(timer_record& timer) noexcept { return static_cast<ticking_record&>(timer); }
  static const void* self() noexcept { return &seam::this_thread(); }

  /// Whether the caller is who runs this engine's timers, in a callback or in the destructor of a closure.
  [[nodiscard]] bool is_own_thread() const noexcept FOLIOT_REQUIRES(lock_) {
    for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
      if (frame->engine == this) return true;
    }
    return timer_thread_ == self();
  }

  [[nodiscard]] std::size_t count_pending() const noexcept FOLIOT_REQUIRES(lock_) {
    return queue_.size() + (homeless_ == nullptr ? 0 : 1) + posted_;
  }

  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS;

  /// Whether it will fire; or would have, and the end of the service has yet to take it out of the queue.
  [[nodiscard]] bool is_pending(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    if (forked_) return false;
    return r.pending() || homeless_ == &r ||
           (options_.executor != nullptr && phase_ != phase::ended && as_posting(r).posted_);
  }

  /// Whether the executor, or who calls it, will look at the record again: it stays.
  [[nodiscard]] bool is_out(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return options_.executor != nullptr && (as_posting(r).job_is_out_ || as_posting(r).being_posted_);
  }

  void hold() FOLIOT_REQUIRES(lock_) {
    if (holders_++ == 0) self_ = this->shared_from_this();
  }
  /// To be destroyed after the lock: when nothing holds the shard any more, it goes with it.
  [[nodiscard]] std::shared_ptr<engine> farewell() noexcept FOLIOT_REQUIRES(lock_) {
    return holders_ == 0 ? std::move(self_) : nullptr;
  }
  void forget(record& r) noexcept FOLIOT_REQUIRES(lock_);

  /// Without the lock: a later deadline for a timer that is pending, and no ticker.
  bool put_off(record& r, [[maybe_unused]] instant deadline) noexcept {
    if constexpr (puts_off) {
      if (!r.word().put_off(deadline)) return false;
      put_offs_.add_one();
      return true;
    } else {
      return false;
    }
  }

  /// Arms the record for what `deadline_of` says, which is asked only if the record may be armed; `then`
  /// runs under the lock when it has been.
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm(record& r, DeadlineOf deadline_of, Then then = [] {}) {
    lock held(lock_);
    if (phase_ != phase::running || r.closed_) [[unlikely]] {
      const bool no_more = phase_ == phase::ended || (phase_ == phase::draining && !is_pending(r));
      if (no_more || r.closed_) {
        r.word().disarm();  // where it has been dropped, and is still to be taken out: no put-off comes after this
        return reset_result::closed;
      }
      if (phase_ == phase::unstarted) start_thread();
    }
    const instant deadline = deadline_of();
    if constexpr (requires { queue_.forward(deadline); }) queue_.forward(options_.time.now());
    bool superseded = queue_.reset(r, deadline);
    superseded = take_back_outside(r) || superseded;
    detail::probes::armed(&r, deadline, superseded);  // here, where it holds up nothing
    // On virtual time all go by the queue, and equal deadlines in the order of their starts.
    if (!r.ticks_ && !options_.by_hand) r.word().arm(deadline);
    then();
    reset_result result = reset_result::superseded;
    if (superseded) {
      ++counters_.superseded;
    } else {
      ++counters_.started;
      if (queue_.size() > counters_.peak_pending) counters_.peak_pending = queue_.size();
      result = r.running_ ? reset_result::running : reset_result::idle;
    }
    const bool wake = sleeper_.must_wake_for(deadline);
    if (wake) ++counters_.wake_ups;
    held.leave();
    // Outside the lock, which the woken thread takes first thing. The wake-up is not forgotten.
    if (wake) sleeper_.wake();
    return result;
  }

  void start_thread() FOLIOT_REQUIRES(lock_);

  /// Of a timer that is pending outside the queue: without memory there, or with the executor.
  bool take_back_outside(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    if (homeless_ == &r) [[unlikely]] {
      homeless_ = nullptr;
      return true;
    }
    if (options_.executor == nullptr || !as_posting(r).posted_) return false;
    as_posting(r).posted_ = false;
    if (phase_ == phase::ended) return false;  // which has dropped it
    --posted_;
    return true;
  }

  stop_result take_back(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    bool stopped = queue_.stop(r);
    stopped = take_back_outside(r) || stopped;
    r.word().disarm();
    if (phase_ == phase::draining) [[unlikely]]
      done_.notify_all();
    if (stopped && phase_ != phase::ended) {
      detail::probes::stop(&r);
      return stop_result::stopped;
    }
    return r.running_ ? stop_result::running : stop_result::idle;
  }

  /// Waits until nobody uses the closure. False if that is the caller itself, from inside the callback
  /// or the closure's destructor: then settle(), further up the stack, does what is left to do.
  bool wait_for_closure(record& r) noexcept FOLIOT_REQUIRES(lock_) {
    while (r.user_ != nullptr) {
      if (r.user_ == self()) return false;
      if (forked_) [[unlikely]] {
        // Its thread is not in this process: what that was in the middle of is nobody's any more.
        std::construct_at(&r.callback_);
        r.user_ = nullptr;
        break;
      }
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
    if (r.closed_ || (r.orphaned_ && !is_pending(r))) {
      lock_.unlock();
      r.callback_.reset();  // a user's code: it may look back here, and even destroy the last handle
      lock_.lock();
    }
    r.user_ = nullptr;
    done_.notify_all();
    if (r.orphaned_ && !is_pending(r) && !is_out(r)) forget(r);
  }

  // The thread's part: shard_thread.hpp, the executor's: shard_posting.hpp, and the records': shard_records.hpp.
  void timerproc();
  bool fire_what_is_due(instant& until) noexcept FOLIOT_REQUIRES(lock_);
  expiry run_turn(instant now, budget limit) FOLIOT_REQUIRES(lock_);
  void file_again(record& r, instant deadline) FOLIOT_REQUIRES(lock_);
  void fire(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void call(record& r, const firing& now) noexcept FOLIOT_REQUIRES(lock_);
  void run(record& r, const firing& now) noexcept;
  void run_watched(record& r, const firing& now) noexcept;
  void post(posting_record& r, const firing& now) noexcept FOLIOT_REQUIRES(lock_);
  void run_all_posted(posting_record& r) noexcept FOLIOT_REQUIRES(lock_);
  void come_back(posting_record& r) noexcept FOLIOT_REQUIRES(lock_);
  std::exception_ptr arm_next_beat(ticking_record& r, firing& now) noexcept FOLIOT_REQUIRES(lock_);
  void drop_pending() noexcept FOLIOT_REQUIRES(lock_);
  void drop(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void report(std::exception_ptr failure) noexcept;

  const shard_options options_;
  const std::size_t index_;
  const std::unique_ptr<detail::callback_watch> watch_;  // null: callbacks are not measured

  mutable mutex lock_{lock_rank::engine};
  queue_type queue_ FOLIOT_GUARDED_BY(lock_);
  /// A timer that is pending, and that the queue had no memory for; null nearly always.
  record* homeless_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// All but `pending` and `stopped`, which follow from the rest: a start and a stop write as little as
  /// they can.
  service_counters counters_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t beats_ FOLIOT_GUARDED_BY(lock_) = 0;  // starts that tickers made for their next beat
  phase phase_ FOLIOT_GUARDED_BY(lock_);
  std::size_t holders_ FOLIOT_GUARDED_BY(lock_) = 0;  // records, and the thread
  std::shared_ptr<engine> self_ FOLIOT_GUARDED_BY(lock_);
  std::size_t callbacks_running_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// Timers that are with the executor, and whose callback has not begun.
  std::size_t posted_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// For those who wait until a closure is not used any more, or no callback runs.
  condition done_ FOLIOT_GUARDED_BY(lock_);

  /// This process is the child of a fork: what the shard's thread was, is not here.
  bool forked_ FOLIOT_GUARDED_BY(lock_) = false;
  seam::thread thread_ FOLIOT_GUARDED_BY(lock_);
  /// The thread as it knows itself, while it lives.
  const void* timer_thread_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// It has woken, and not yet looked whether something is due.
  bool just_woke_ FOLIOT_GUARDED_BY(lock_) = false;
  /// Under the lock, but for the sleep itself and waking.
  detail::sleeper<typename Design::wait> sleeper_;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<puts_off, detail::thread_counts, nothing> put_offs_;
};

}  // namespace foliot::inline service

#include "shard_posting.hpp"
#include "shard_records.hpp"
#include "shard_thread.hpp"
