// A shard: a queue, a lock, and a thread that fires what is due. An engine is one of them, or several.
//
// Life of the thread. It is made by the first start. It runs what is due, each callback with the lock
// released; then it sleeps until the earliest deadline (`sleeping`), or for good if there is none
// (`rescheduling`). A start or reset wakes it only if its deadline comes before the thread would look by
// itself; a stop never does. On a virtual clock there is no thread: whoever advances the clock calls
// run_due.
//
// A design says what a shard is made of: `queue`, any model of timer_queue; `wait`, how the thread sleeps (waits.hpp);
// `word`, timer_word where stops, and resets to a later deadline, go without the lock, else no_word; `home`,
// moving_home where a start moves the timer to the shard of the calling thread (shard_moves.hpp), else fixed_home; and
// `padding`, cache_lines where no two shards share a cache line, else no_padding. With the 4-ary heap, a note, no word,
// fixed homes and no padding this is `global-heap`, the timers of Go up to 1.9: docs/engines/global-heap.md.
//
// Thread safety: everything below is guarded by `lock_`, which is never held while a user's code runs:
// callbacks, the destruction of closures, the exception handler. The words guard themselves. A record is guarded by
// the lock of the shard that has it.
//
// Invariants:
//   1. A record that is closed is not pending.
//   2. `user_` of a record is the thread that uses its closure with the lock released; nobody else
//      touches the closure meanwhile, and the record is not destroyed.
//   3. The thread does not sleep past the queue's next deadline, or it has been, or is about to be, woken by
//      whoever made it so.
//   4. A record whose word is armed is pending, one whose word is stopped is not: both are in the queue, the former
//      at the word's deadline or earlier (timer_word.hpp). With an open word it is pending if it is in the queue,
//      awaiting requeue or posted. The posted records are the list at first_posted_, and posted_ is their number.
//   5. The shard owns itself while it has records or its thread lives; where timers move, it owns all shards of its
//      service.
//   6. From the moment at which it ends nothing fires any more. Each timer that is pending is dropped, at the latest
//      when the thread in end() takes it out of the queue, or out of the list of posted timers, and every answer under
//      the lock says so before.
//
// Complexity: the queue's, and one uncontended lock a call; without the lock one compare-and-swap.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <foliot/core/seam/fork.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/slack.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/timer_queue.hpp>
#include <foliot/service/executor.hpp>

#include "../core/seam/probes.hpp"
#include "callback_meter.hpp"
#include "lockless_counts.hpp"
#include "log_entries.hpp"
#include "record_pool.hpp"
#include "shard_base.hpp"
#include "shard_options.hpp"
#include "shard_record.hpp"
#include "sleeper.hpp"

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
  static constexpr bool lockless = std::same_as<word, timer_word>;
  static constexpr bool pools_records = requires { requires Design::pools_records; };
  static constexpr bool keeps_log = requires { requires Design::keeps_log; };
  using log_entries = std::conditional_t<keeps_log, detail::log_entries, no_log_entries>;

 public:
  /// Whether a start moves a timer to the shard of the calling thread.
  static constexpr bool moves = std::same_as<home_type, moving_home>;
  static_assert(!(lockless && moves), "what goes without the lock does not ask which shard has the timer");
  static_assert(!(keeps_log && moves), "a log tells of one shard");

  explicit shard(shard_options options, std::size_t index)
      : options_(std::move(options)),
        index_(index),
        watch_(callback_meter::wanted_by(options_)),
        queue_(empty_queue(options_)),
        phase_(options_.by_hand ? phase::running : phase::unstarted),
        sleeper_(options_.time, options_.precise),
        pool_(pooled_size()) {
    witness_forks();
  }

  /// Where timers move: these are the shards of the service, by their indexes, this one among them. Before it is used.
  void meet(const std::shared_ptr<const shard_list>& all) noexcept { siblings_ = {all.get(), all}; }

  timer_record* make(timer_callback callback, duration period) override;
  void set_location(timer_record& timer, std::source_location location) noexcept override;
  void set_name(timer_record& timer, std::string_view name) override;

  reset_result reset(timer_record& timer, instant deadline) override {
    record& r = as_record(timer);
    if (const auto done = reset_lockless(r, deadline)) return *done;
    return rearm(r, [deadline] { return deadline; });
  }

  reset_result reset(timer_record& timer, duration delay, duration slack) override {
    record& r = as_record(timer);
    const auto deadline = [this, delay, slack] {
      return coalesced(deadline_after(options_.precise ? options_.time.now() : options_.time.now_or_later(), delay),
                       slack);
    };
    if (const auto is = r.word().now(); !is.armed() && !is.stopped()) return rearm(r, deadline);
    return reset(timer, deadline());
  }

  reset_result restart(timer_record& timer, duration period) override {
    extended& r = as_extended(timer);
    return rearm(r, [this, period] { return options_.time.now() + period; }, [&r, period] { r.period_ = period; });
  }

  stop_result stop(timer_record& timer) noexcept override {
    record& r = as_record(timer);
    if (stop_lockless(r)) return stop_result::stopped;
    log_entries entries(options_);  // written without the lock
    return at_home<&shard::stop_here>(*this, r, entries);
  }

  stop_result stop_and_wait(timer_record& timer) noexcept override;
  void destroy(timer_record* timer) noexcept override;
  void detach(timer_record* timer) noexcept override;
  bool sleep_until(instant deadline) override;
  void run_posted(timer_record& timer) noexcept override;
  void drop_posted(timer_record& timer) noexcept override;

  bool pending(const timer_record& timer) const noexcept override {
    const record& r = static_cast<const record&>(timer);
    const auto is = r.word().now();
    if ((is.armed() || is.stopped()) && !closing_.load(seam::relaxed)) return is.armed();
    return at_home<&shard::pending_here>(*this, r);
  }

  std::uint64_t skipped(const timer_record& timer) const noexcept override {
    return at_home<&shard::skipped_here>(*this, static_cast<const record&>(timer));
  }

  std::shared_ptr<watcher> watches() override;

  void begin_to_drain() noexcept override {
    const lock held(lock_);
    if (phase_ != phase::ended) close(phase::draining);
  }

  void wait_until_drained(instant until) noexcept override {
    const lock held(lock_);
    while (phase_ == phase::draining && !finish_drain() && seam::monotonic_now() < until)
      done_.wait_until(lock_, until);
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
    forget_forks();
    delete_spare_alarms();
    if (thread_.joinable()) thread_.detach();  // it has ended, or this is its last act
  }

  callable<void()> room_for(std::size_t count) override;
  service_counters counters(const shard_list& of_service) const noexcept override;

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

  expiry run_due(instant now, budget limit) override;

 private:
  enum class phase : std::uint8_t {
    unstarted,  // nobody runs timers yet: the first start makes the thread
    running,    // the thread does, or whoever advances the virtual clock
    draining,   // the same, but nothing new is started
    ended,      // shut down
  };

  /// How long the thread waits before it tries again what it had no memory for.
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
  static const void* self() noexcept { return &seam::this_thread(); }

  /// Whether the caller is who runs this engine's timers, in a callback or in the destructor of a closure.
  [[nodiscard]] bool is_own_thread() const noexcept FOLIOT_REQUIRES(lock_) {
    for (const seam::callback_frame* frame = seam::this_thread().inside; frame != nullptr; frame = frame->outer) {
      if (frame->owner == this) return true;
    }
    return timer_thread_ == self();
  }

  // How many there are: shard_counts.hpp.
  service_counters counters_here() const noexcept FOLIOT_REQUIRES(lock_);
  std::size_t count_queued() const noexcept FOLIOT_REQUIRES(lock_);
  std::size_t count_pending() const noexcept FOLIOT_REQUIRES(lock_);
  lockless_counts::sums count_lockless() const noexcept;
  void count_dequeued() noexcept FOLIOT_REQUIRES(lock_);

  void before_fork() noexcept override { lock_.lock_beside_others(); }
  void after_fork_in_parent() noexcept override { lock_.unlock_beside_others(); }
  void after_fork_in_child() noexcept override FOLIOT_NO_ANALYSIS;

  /// Whether it will fire; or would have, and the end of the service has yet to take it out of the queue.
  [[nodiscard]] bool is_pending(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    if (forked_) return false;
    return (r.pending() && !r.word().now().stopped()) || awaiting_requeue_ == &r ||
           (options_.executor != nullptr && as_extended(r).posted_);
  }

  /// Whether the executor, or who calls it, will look at the record again: it stays.
  [[nodiscard]] bool is_out(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return options_.executor != nullptr && (as_extended(r).job_is_out_ || as_extended(r).being_posted_);
  }

  void hold() FOLIOT_REQUIRES(lock_) {
    if (holders_++ == 0) self_ = all_that_it_needs();
  }
  /// To be destroyed after the lock: when nothing holds the shard any more, it goes with it.
  [[nodiscard]] std::shared_ptr<engine> farewell() noexcept FOLIOT_REQUIRES(lock_) {
    return holders_ == 0 ? std::move(self_) : nullptr;
  }
  // Records, and what is logged of them: shard_records.hpp, shard_log.hpp.
  template <class Record, class... Arguments>
  Record* new_record(timer_callback callback, Arguments... arguments);
  template <class Record>
  void delete_record(Record& r) noexcept FOLIOT_REQUIRES(lock_);
  /// Whether timers have room for the location that armed them, and for a name.
  record::location location() const noexcept {
    const bool stored = options_.slow_callback != nullptr || options_.log != nullptr;
    return stored ? record::location::stored : record::location::none;
  }
  /// Whether the records of all timers are extended; else only those of tickers are.
  bool extends_all() const noexcept { return options_.executor != nullptr || location() == record::location::stored; }
  bool is_extended(const record& r) const noexcept { return r.ticks_ || extends_all(); }
  std::size_t pooled_size() const noexcept { return extends_all() ? sizeof(extended) : sizeof(record); }
  void forget(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void name_here(record& r, shared_name& name) noexcept FOLIOT_REQUIRES(lock_);
  shared_name name_of(record& r) const noexcept FOLIOT_REQUIRES(lock_);
  void log_start(log_entries& to, record& r, bool was_queued, instant was_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_stop(log_entries& to, record& r, bool tells_if_not_there) noexcept FOLIOT_REQUIRES(lock_);
  void log_expiry(log_entries& to, record& r, instant was_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_call(log_entries& to, record& r, instant was_until) noexcept FOLIOT_REQUIRES(lock_);
  void log_alarm(log_entries& to, instant until) noexcept FOLIOT_REQUIRES(lock_);

  // Without the lock: shard_lockless.hpp.
  std::optional<reset_result> reset_lockless(record& r, instant deadline);
  std::optional<reset_result> start_where_it_lies(record& r, instant deadline);
  bool stop_lockless(record& r) noexcept;
  void file_earlier(record& r);
  void tell_those_who_wait() noexcept;
  bool finish_drain() noexcept FOLIOT_REQUIRES(lock_);
  void end_turn() noexcept FOLIOT_REQUIRES(lock_);
  void close(phase to) noexcept FOLIOT_REQUIRES(lock_);
  void release_lockless(record& r) noexcept FOLIOT_REQUIRES(lock_);
  bool admit_start(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void unfile_if_stopped(record& r) noexcept FOLIOT_REQUIRES(lock_);
  stop_result leave_to_the_end(record& r) noexcept FOLIOT_REQUIRES(lock_);

  // Where timers move: shard_moves.hpp.
  struct siblings;
  struct two_locks;
  template <class Record>
  [[nodiscard]] static bool has(const shard& it, const Record& r) noexcept;
  template <auto Here, class Self, class Record, class... More>
  static auto at_home(Self& self, Record& r, More&... more) noexcept;
  template <auto Here>
  auto leave_home(record& r) noexcept;
  [[nodiscard]] std::shared_ptr<engine> all_that_it_needs() noexcept;
  [[nodiscard]] bool may_leave(const record& r, const shard& to) const noexcept FOLIOT_NO_ANALYSIS;
  template <class DeadlineOf, class Then>
  reset_result rearm_at_caller(record& r, DeadlineOf deadline_of, Then then);

  // How a timer is armed, and taken back: shard_arming.hpp.
  template <class DeadlineOf, class Then = void (*)()>
  reset_result rearm(record& r, DeadlineOf deadline_of, Then then = [] {});
  template <class DeadlineOf, class Then>
  reset_result arm(record& r, DeadlineOf deadline_of, Then then, bool& wake, log_entries& entries)
      FOLIOT_REQUIRES(lock_);
  template <class Then>
  reset_result count_armed(record& r, instant deadline, bool superseded, Then then, bool& wake) FOLIOT_REQUIRES(lock_);
  void start_thread() FOLIOT_REQUIRES(lock_);
  bool file(record& r, instant deadline) FOLIOT_REQUIRES(lock_);
  bool take_back_outside(record& r) noexcept FOLIOT_REQUIRES(lock_);
  stop_result take_back(record& r) noexcept FOLIOT_REQUIRES(lock_);
  stop_result stop_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool pending_here(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return phase_ != phase::ended && is_pending(r);
  }
  [[nodiscard]] std::uint64_t skipped_here(const record& r) const noexcept FOLIOT_REQUIRES(lock_) {
    return as_extended(r).skipped_;
  }

  // The end of a timer: shard_lifetime.hpp.
  stop_result stop_and_wait_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void destroy_here(record& r, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void detach_here(record& r) noexcept FOLIOT_REQUIRES(lock_);
  bool wait_for_closure(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void retire(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void settle(record& r) noexcept FOLIOT_REQUIRES(lock_);

  // Threads that sleep: shard_sleeps.hpp.
  bool fall_asleep(sleeping& alarm, instant deadline);
  std::unique_ptr<sleeping> take_spare_alarm(one_sleep& own);
  void forget_alarm(sleeping& alarm) noexcept FOLIOT_REQUIRES(lock_);
  void leave_alarm_to_its_job(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void wake_sleeper(one_sleep& sleep) noexcept FOLIOT_REQUIRES(lock_);
  void forget_sleepers() noexcept FOLIOT_REQUIRES(lock_);
  void delete_spare_alarms() noexcept;

  // The thread's part: shard_thread.hpp, the executor's: shard_posting.hpp, and the records': shard_records.hpp.
  void timerproc();
  bool fire_what_is_due(instant& until) noexcept FOLIOT_REQUIRES(lock_);
  expiry run_turn(instant now, budget limit) FOLIOT_REQUIRES(lock_);
  void requeue(record& r, instant deadline) FOLIOT_REQUIRES(lock_);
  void fire(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void call(record& r, const firing& now, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  bool ended_in_the_log(const record& r, const log_entries& entries) noexcept;
  void run(record& r, const firing& now) noexcept;
  void run_watched(record& r, const firing& now) noexcept;
  void post(extended& r, const firing& now, log_entries& entries) noexcept FOLIOT_REQUIRES(lock_);
  void take_back_posted(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  void drop_start(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  void run_all_posted(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  void run_posted_here(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void drop_posted_here(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void come_back(extended& r) noexcept FOLIOT_REQUIRES(lock_);
  std::exception_ptr arm_next_beat(extended& r, firing& now) noexcept FOLIOT_REQUIRES(lock_);
  void drop_pending() noexcept FOLIOT_REQUIRES(lock_);
  void drop(record& r) noexcept FOLIOT_REQUIRES(lock_);
  void report(std::exception_ptr failure) noexcept;

  /// The shard drains or has ended. Written under the lock, read without it. It lies in the first cache line, which is
  /// otherwise constant: on the lock's line, each lock would take the line away from the threads that read this.
  seam::atomic<bool> closing_{false};
  const shard_options options_;
  const std::size_t index_;
  const std::unique_ptr<callback_meter> watch_;  // null: callbacks are not measured
  mutable mutex lock_{lock_rank::engine};
  queue_type queue_ FOLIOT_GUARDED_BY(lock_);
  /// A timer that is pending, and that waits until the shard's thread files it again: the queue had no memory for it,
  /// or finish_drain() has taken it out. Null nearly always.
  record* awaiting_requeue_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  instant awaiting_requeue_until_ FOLIOT_GUARDED_BY(lock_);
  /// The shard's thread is inside of a turn of the queue, which lets go of the lock while it calls somebody.
  bool in_turn_ FOLIOT_GUARDED_BY(lock_) = false;
  /// All but `pending` and `stopped`, which follow from the rest: a start and a stop write as little as
  /// they can.
  service_counters counters_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t beats_ FOLIOT_GUARDED_BY(lock_) = 0;  // starts that tickers made for their next beat
  phase phase_ FOLIOT_GUARDED_BY(lock_);
  std::size_t holders_ FOLIOT_GUARDED_BY(lock_) = 0;  // records, and the thread
  std::shared_ptr<engine> self_ FOLIOT_GUARDED_BY(lock_);
  std::size_t callbacks_running_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// Timers that are with the executor, and whose callback has not begun: how many, and their list.
  std::size_t posted_ FOLIOT_GUARDED_BY(lock_) = 0;
  extended* first_posted_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// The timers of threads that sleep, and, with an executor, those that wait for the next sleep.
  sleeping* first_asleep_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  sleeping* first_spare_alarm_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// For those who wait until a closure is not used any more, no callback runs, or the service has drained or ended.
  condition done_ FOLIOT_GUARDED_BY(lock_);

  /// This process is the child of a fork: what the shard's thread was, is not here.
  bool forked_ FOLIOT_GUARDED_BY(lock_) = false;
  seam::thread thread_ FOLIOT_GUARDED_BY(lock_);
  /// The thread as it knows itself, while it lives.
  const void* timer_thread_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  /// How many of those that came out of the queue in this turn were postponed or stopped.
  std::size_t not_due_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// It has woken, and not yet looked whether something is due.
  bool just_woke_ FOLIOT_GUARDED_BY(lock_) = false;
  /// Under the lock, but for the sleep itself and waking.
  sleeper<typename Design::wait> sleeper_;
  using record_pool = std::conditional_t<pools_records, detail::record_pool, no_record_pool>;
  [[no_unique_address]] record_pool pool_ FOLIOT_GUARDED_BY(lock_);
  struct no_lockless_counts {};
  [[no_unique_address]] std::conditional_t<lockless, lockless_counts, no_lockless_counts> lockless_;
  struct no_siblings {};
  [[no_unique_address]] std::conditional_t<moves, siblings, no_siblings> siblings_;
};

}  // namespace foliot::detail

#include "shard_arming.hpp"
#include "shard_counts.hpp"
#include "shard_lifetime.hpp"
#include "shard_lockless.hpp"
#include "shard_log.hpp"
#include "shard_moves.hpp"
#include "shard_posting.hpp"
#include "shard_records.hpp"
#include "shard_sleeps.hpp"
#include "shard_thread.hpp"
