// A shard: a queue, a lock, and a thread that fires due timers. A service is one shard, or several.
//
// The thread. The first start makes it. It runs due callbacks, each with the lock released; then it sleeps until the
// earliest deadline (`sleeping`), or without end if nothing is pending (`rescheduling`). A start or reset wakes it only
// if the new deadline comes before the thread would wake by itself; a stop never does. On a virtual clock there is no
// thread: the thread that advances the clock calls run_due.
//
// The design. A shard is made of
//   queue      any model of timer_queue
//   wait       how the thread sleeps: waits.hpp, poll_wait.hpp
//   word       timer_word, where stops and resets may go without the lock; else no_word
//   home       moving_home, where a start moves the timer to the shard of the calling thread; else fixed_home
//   padding    cache_lines, where no two shards share a cache line; else no_padding
// The 4-ary heap with a note, no word, fixed homes and no padding is `global-heap`, the timers of Go up to 1.9:
// docs/engines/global-heap.md.
//
// The parts. A closure's use and end are closure_life.hpp; the calls without the lock, lockless_path.hpp; the thread's
// life and sleep, timer_thread.hpp. The rest joins these and the queue under one lock; it is in this file and in
//   shard_arming.hpp     reset and stop: into the queue, and out of it
//   shard_turns.hpp      the thread's loop: out of the queue, and into the callback
//   shard_end.hpp        the end of a timer, of a drain and of the shard; forks
//   shard_records.hpp    records and their memory
//   shard_posting.hpp    executors
//   shard_sleeps.hpp     sleeping threads
//   shard_moves.hpp      timers that move between shards
//   shard_stalls.hpp     reports of callbacks that do not end, and waits for callbacks
//   shard_counts.hpp, shard_log.hpp
// docs/decisions/0009-the-shard.md says why.
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
//   5. The shard owns itself while it has records or its thread runs; where timers move, it owns all shards of its
//      service.
//   6. Once the shard has ended nothing fires. The thread in end() drops each pending timer, at the latest when it
//      takes the timer out of the queue or of the list of posted timers; every call that takes the lock before that
//      finds the timer dropped.
//
// Complexity: the queue's, and one uncontended lock a call; without the lock one compare-and-swap.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
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

#include "callback_meter.hpp"
#include "core/seam/perturb.hpp"
#include "core/seam/probes.hpp"
#include "lockless_path.hpp"
#include "log_entries.hpp"
#include "record_pool.hpp"
#include "running_callbacks.hpp"
#include "shard_base.hpp"
#include "shard_options.hpp"
#include "shard_record.hpp"
#include "timer_thread.hpp"

namespace foliot::detail {

template <class Design>
class shard final : public shard_base,
                    private seam::fork_witness,
                    public std::enable_shared_from_this<shard<Design>>,
                    private Design::padding {
  using queue_type = typename Design::queue;
  using node_type = typename queue_type::node_type;
  using word = typename Design::word;
  using home_type = typename Design::home;
  using record = shard_record<queue_type, word, home_type>;
  using extended = extended_record<queue_type, word, home_type>;
  using sleeping = sleeping_record<queue_type, word, home_type>;
  using sleep_list = intrusive_list<sleeping, &sleeping::sleep_links_>;
  static constexpr bool lockless = std::same_as<word, timer_word>;
  static constexpr bool pools_records = requires { requires Design::pools_records; };
  static constexpr bool keeps_log = requires { requires Design::keeps_log; };
  using log_entries = std::conditional_t<keeps_log, detail::log_entries, no_log_entries>;

 public:
  /// Whether a start moves a timer to the shard of the calling thread.
  static constexpr bool moves = std::same_as<home_type, moving_home>;
  static_assert(!(lockless && moves), "a call without the lock does not know which shard has the timer");
  static_assert(!(keeps_log && moves), "the log is that of one shard");

  explicit shard(shard_options options, std::size_t index)
      : options_(std::move(options)),
        index_(index),
        meter_(callback_meter::wanted_by(options_)),
        queue_(empty_queue(options_)),
        phase_(options_.on_virtual_time ? phase::running : phase::unstarted),
        thread_(options_),
        pool_(pooled_size(), options_.free_list) {
    witness_forks();
  }
  ~shard() override {
    forget_forks();
    free_spare_sleeps();
  }

  /// Where timers move: all shards of the service, by their indexes. Before the shard is used.
  void set_siblings(const std::shared_ptr<const shard_list>& all) noexcept { siblings_ = {all.get(), all}; }

  timer_record* make(timer_callback callback, duration period) override;
  void set_location(timer_record& timer, std::source_location location) noexcept override;
  void set_name(timer_record& timer, std::string_view name) override;

  reset_result reset(timer_record& timer, instant deadline) override;
  reset_result reset(timer_record& timer, duration delay, duration slack) override;
  reset_result restart(timer_record& timer, duration period) override;
  stop_result stop(timer_record& timer) noexcept override;
  stop_result stop_and_wait(timer_record& timer) noexcept override {
    return at_home_then_release<&shard::stop_and_wait_here>(as_record(timer));
  }
  void destroy(timer_record* timer) noexcept override { at_home_then_release<&shard::destroy_here>(as_record(*timer)); }
  void detach(timer_record* timer) noexcept override { at_home_then_release<&shard::detach_here>(as_record(*timer)); }
  bool sleep_until(instant deadline, std::source_location here) override;
  void run_posted(timer_record& timer) noexcept override { at_home_then_release<&shard::run_job>(as_record(timer)); }
  void drop_posted(timer_record& timer) noexcept override { at_home_then_release<&shard::drop_job>(as_record(timer)); }

  bool pending(const timer_record& timer) const noexcept override;
  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    return at_home<&shard::skipped_here>(*this, static_cast<const record&>(timer));
  }

  std::shared_ptr<watcher> start_watcher() override;

  void begin_to_drain() noexcept override;
  void wait_until_drained(instant until) noexcept override;
  std::size_t end() noexcept override;
  void wait_for_end() noexcept override;

  // As two_locks: the rank is that of the first lock.
  void lock_with_others(bool is_highest) noexcept override FOLIOT_NO_ANALYSIS {
    is_highest ? lock_.lock() : lock_.lock_beside_others();
  }
  void unlock_with_others(bool is_highest) noexcept override FOLIOT_NO_ANALYSIS {
    is_highest ? lock_.unlock() : lock_.unlock_beside_others();
  }
  callable<void()> room_for(std::size_t count) override;
  service_counters counters(const shard_list& of_service) const noexcept override;
  void add_to(service_statistics& sum) const noexcept override;
  void add_to(slowest_callbacks& all) const noexcept override;
  const clock& time() const noexcept override { return options_.time; }
  bool runs_on_caller() const noexcept override;
  instant report_stalls(const bool& is_over) noexcept override;

  // timeline: how a virtual clock drives this shard.

  instant next_deadline() override {
    const lock held(lock_);
    return queue_.next_deadline();
  }
  expiry run_due(instant now, budget limit) override;

 private:
  enum class phase : std::uint8_t {
    unstarted,  // no thread runs timers yet: the first start makes it
    running,    // the shard's thread, or the thread that advances the virtual clock, runs timers
    draining,   // the same, but nothing new is started
    ended,      // nothing fires any more
  };

  /// How long the thread waits before it retries an operation that failed for lack of memory.
  static constexpr duration wait_for_memory = duration::nanoseconds(1'000'000);

  [[nodiscard]] static queue_type empty_queue([[maybe_unused]] const shard_options& options) {
    if constexpr (std::constructible_from<queue_type, wheel_shape>) {
      return queue_type(options.wheel);
    } else {
      return queue_type();
    }
  }

  static record& as_record(timer_record& timer) noexcept { return static_cast<record&>(timer); }
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
  [[nodiscard]] std::uint64_t skipped_here(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return as_extended(r).skipped_;
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
  [[nodiscard]] std::shared_ptr<engine> owning_pointer() noexcept;

  // shard_arming.hpp

  /// What arm() has done.
  struct armed {
    reset_result result;
    timer_thread<typename Design::wait>* to_wake = nullptr;  ///< the caller must wake it, without the lock; null: none
  };
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm(record& r, DeadlineOf deadline_of, Then then = [] {});
  template <class DeadlineOf, class Then>
  armed arm(record& r, DeadlineOf deadline_of, Then then, log_entries& entries) FOLIOT_REQUIRES(lock_);
  template <class Then>
  armed count_armed(record& r, instant deadline, bool superseded, Then then) FOLIOT_REQUIRES(lock_);
  bool enqueue(record& r, instant deadline) FOLIOT_REQUIRES(lock_);
  bool cancel_posted(record& r) noexcept FOLIOT_REQUIRES(lock_);
  stop_result cancel(record& r) noexcept FOLIOT_REQUIRES(lock_);
  stop_result stop_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void arm_word(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void requeue_earlier(record& r);
  void unqueue_if_stopped(record& r) noexcept FOLIOT_REQUIRES(lock_);
  bool try_admit(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void notify_drain_if_closing() noexcept {
    if (lockless_.is_closing_after_call()) [[unlikely]]
      notify_drain();
  }
  void notify_drain() noexcept;

  // shard_turns.hpp

  void start_thread() FOLIOT_REQUIRES(lock_);
  void timerproc();
  std::optional<instant> take_turn() noexcept FOLIOT_REQUIRES(lock_);
  expiry run_turn(instant now, budget limit) FOLIOT_REQUIRES(lock_);
  void requeue(record& r, instant deadline) noexcept FOLIOT_REQUIRES(lock_);
  void fire(record& r) noexcept FOLIOT_REQUIRES(lock_);
  std::exception_ptr arm_next_tick(extended& r, firing& current) noexcept FOLIOT_REQUIRES(lock_);
  void call(record& r, const firing& current, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  bool cancel_if_closed_by_log(const record& r, const log_entries& entries) noexcept;
  void run(record& r, const firing& current) noexcept;
  void run_measured(record& r, const firing& current) noexcept;
  shared_name name_while_in_use(const record& r) const noexcept;
  void report(const callback_failure& failure) noexcept;

  // shard_stalls.hpp

  template <class IsOver>
  void wait_for_callbacks(stall_kind kind, const record* of, instant until, IsOver is_over) noexcept
      FOLIOT_REQUIRES(lock_);
  void tell_stall(stall_kind kind, const running_callback& one, instant now, duration waited) noexcept
      FOLIOT_REQUIRES(lock_);

  // shard_end.hpp

  stop_result stop_and_wait_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void destroy_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void detach_here(record& r) noexcept FOLIOT_REQUIRES(lock_);
  bool wait_for_closure(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void retire(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void settle(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void close(phase to) noexcept FOLIOT_REQUIRES(lock_);
  bool try_finish_drain() noexcept FOLIOT_REQUIRES(lock_);
  stop_result stop_after_end(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void drop_pending() noexcept FOLIOT_REQUIRES(lock_);
  void drop(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS;

  // shard_records.hpp

  template <class Record, class... Arguments>
  Record* new_record(timer_callback&& callback, Arguments... arguments);
  template <class Record>
  void delete_record(Record& r) noexcept FOLIOT_REQUIRES(lock_);
  void free_record(record& r) noexcept FOLIOT_REQUIRES(lock_);
  /// Whether timers have room for the location that armed them, and for a name.
  record::location location() const noexcept {
    const bool stored =
        options_.slow_callback.tell || options_.stalls.tell || options_.log || options_.on_exception.wants_location();
    return stored ? record::location::stored : record::location::none;
  }
  /// Whether the records of all timers are extended; else only those of tickers are.
  bool extends_all() const noexcept { return options_.executor || location() == record::location::stored; }
  bool is_extended(const record& r) const noexcept { return r.is_ticker_ || extends_all(); }
  /// The size of the records that the pool is for.
  std::size_t pooled_size() const noexcept { return extends_all() ? sizeof(extended) : sizeof(record); }
  void set_name_here(record& r, shared_name& name) noexcept FOLIOT_REQUIRES(lock_);
  shared_name name_of(const record& r) const noexcept FOLIOT_REQUIRES(lock_);
  /// Where the timer was made or armed last; line 0 where that is not stored. By any thread.
  static std::source_location location_of(const record& r) noexcept {
    return r.has_location() ? as_extended(r).armed_at_.load(seam::relaxed) : std::source_location();
  }

  // shard_posting.hpp

  void post(extended& r, const firing& current, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void unpost(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  void drop_firing(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  void run_job(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void drop_job(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void settle_after_job(extended& r) noexcept FOLIOT_REQUIRES(lock_);

  // shard_sleeps.hpp

  bool start_sleep(sleeping& one, instant deadline);
  std::unique_ptr<sleeping> take_spare_sleep(one_sleep& own, std::source_location here);
  void end_sleep(sleeping& one) noexcept FOLIOT_REQUIRES(lock_);
  void end_sleep_before_job(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void wake_sleeping_thread(one_sleep& sleep) noexcept FOLIOT_REQUIRES(lock_);
  void forget_sleeping_threads() noexcept FOLIOT_REQUIRES(lock_);
  void free_spare_sleeps() noexcept;

  // shard_moves.hpp

  struct siblings;
  struct two_locks;
  template <class Record>
  [[nodiscard]] static bool is_home_of(const shard& it, const Record& r) noexcept;
  template <auto Here, class Self, class Record, class... More>
  static auto at_home(Self& self, Record& r, More&... more) noexcept;
  template <auto Here>
  auto at_home_then_release(record& r) noexcept;
  [[nodiscard]] bool may_leave(const record& r, const shard& to) const noexcept FOLIOT_NO_ANALYSIS;
  template <class DeadlineOf, class Then>
  reset_result rearm_at_caller(record& r, DeadlineOf deadline_of, Then then);

  // shard_counts.hpp, shard_log.hpp

  service_counters counters_here() const noexcept FOLIOT_REQUIRES(lock_);
  std::size_t count_queued() const noexcept FOLIOT_REQUIRES(lock_);
  std::size_t count_pending() const noexcept FOLIOT_REQUIRES(lock_);
  void log_start(log_entries& to, record& r, std::optional<instant> queued_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_stop(log_entries& to, record& r) noexcept FOLIOT_REQUIRES(lock_);
  void log_end(log_entries& to, record& r) noexcept FOLIOT_REQUIRES(lock_);
  void log_expiry(log_entries& to, record& r, instant was_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_call(log_entries& to, record& r, instant was_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_alarm(log_entries& to, instant until) noexcept FOLIOT_REQUIRES(lock_);

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
  running_callbacks running_ FOLIOT_GUARDED_BY(lock_);
  /// The timers that are with the executor, and whose callbacks have not begun.
  std::size_t posted_ FOLIOT_GUARDED_BY(lock_) = 0;
  intrusive_list<extended, &extended::posted_links_> posted_timers_ FOLIOT_GUARDED_BY(lock_);
  /// The timers of sleeping threads and, with an executor, those that are kept for the next sleep.
  sleep_list asleep_ FOLIOT_GUARDED_BY(lock_);
  sleep_list spare_sleeps_ FOLIOT_GUARDED_BY(lock_);
  /// Notified when a closure is not in use any more, a callback has returned, or the shard may have drained or has
  /// ended.
  condition done_ FOLIOT_GUARDED_BY(lock_);

  /// This process is the child of a fork: the shard's thread may not exist here.
  bool forked_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint8_t forks_ FOLIOT_GUARDED_BY(lock_) = 0;  // how many forks led here, modulo 256
  /// How many of the timers that the queue returned in this turn were postponed or stopped.
  std::size_t not_due_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// Under the lock, except for the sleep itself and waking.
  timer_thread<typename Design::wait> thread_;
  using record_pool = std::conditional_t<pools_records, detail::record_pool, no_record_pool>;
  [[no_unique_address]] record_pool pool_ FOLIOT_GUARDED_BY(lock_);
  [[no_unique_address]] std::conditional_t<lockless, lockless_path, no_lockless_path> lockless_;
  struct no_siblings {};
  [[no_unique_address]] std::conditional_t<moves, siblings, no_siblings> siblings_;
};

}  // namespace foliot::detail

#include "shard_arming.hpp"
#include "shard_counts.hpp"
#include "shard_end.hpp"
#include "shard_log.hpp"
#include "shard_moves.hpp"
#include "shard_posting.hpp"
#include "shard_records.hpp"
#include "shard_sleeps.hpp"
#include "shard_stalls.hpp"
#include "shard_turns.hpp"
