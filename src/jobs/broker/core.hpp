// The inside of a broker: which task executes the next batch, what is in the batch, and which tasks get the answers.
// Parts that have a state of their own:
//   request_queue      requests that wait for a batch
//   commit_delay       how long they wait for others
//   tube_registry      the tubes that clients use or watch
//   held_jobs          reservations, and those that are to be given back
//   parted_jobs        reservations that clients have parted with, as far as they are known
//   waiting_clients    clients that wait for a job
//   claims             the claims of the present batch
//   tube_pauses        pauses that end with their tube
//   node_news          what nodes that share the store tell each other
//   availability       what such a store has refused
//   batch_events       what the present batch does to jobs, for those that look on
//   flow_counter       what all batches have done to jobs, and how long that took
//
// Leaders. `led_` means that a task executes a batch, or is about to: only that task uses the store, so the store needs
// no lock of its own. A task becomes the leader when it awaits a request, or begins to wait for a job, and no task
// leads. The leader forms a batch under the lock, executes it without the lock, and hands out the answers under the
// lock. Then it ends its lead. If there is more to do by then, it wakes the task of run(), which leads from then on,
// batch after batch, and yields in between; any task that comes in one of the gaps may lead as well, but for the cases
// below in which run() leads alone. While no task is
// in run() the leader itself goes on until nothing is left.
//
// On a single processor nothing can be queued while a batch executes, so that each task would lead a batch of its own.
// There run() alone leads: it lets the tasks that can run go first, and takes the operations that they have queued as
// one batch.
//
// While many ask a store that syncs (broker_limits::commit_delay is not zero), run() alone leads as well: while its
// batches answer three requests and waiting clients or more, in a moving mean. A task that leads does so for the first
// operation that it queues; those that its processor would have queued right behind it then wait for that batch and its
// sync, and so do the tasks that have their answers and could have asked for more. So a crowd shares fewer and larger
// batches, although no operation waits for others that have not come.
//
// Requests may wait for others (broker_limits::commit_delay), if nothing else is to be done. Then no task leads, and
// run() does when the time is over; a request that does not wait leads at once, with all others, unless run() leads
// alone.
//
// Over a store that other nodes share run() alone leads, too, and executes each batch on a thread that may block. While
// it does, `led_` is true, and the requests form the next batch. Nothing is executed while no task is in run().
//
// One lock guards everything but the store. It is held for short times only: never while the store executes. Its rank
// is that of an object that tasks wait for; tasks are made ready under it, as by a channel.
//
// Invariants:
//   1. While no task leads and a task is in run(), there is work only if run() is awake or about to wake, or if the
//      request was queued by a task that has not awaited it yet, or if requests wait for others and run() is to wake
//      when their time is over.
//   2. Each request is in the queue, in the batch that is being executed, or done.
//   3. A client is in its tubes' lists if and only if it waits.
//   4. A job that the broker has claimed is held by a client, or is to be given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/detail/broker_event.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/task.hpp>

#include "availability.hpp"
#include "batch_events.hpp"
#include "claims.hpp"
#include "client_state.hpp"
#include "commit_delay.hpp"
#include "flow_counter.hpp"
#include "held_jobs.hpp"
#include "node_news.hpp"
#include "parted_jobs.hpp"
#include "request_queue.hpp"
#include "tube_pauses.hpp"
#include "tube_registry.hpp"
#include "waiting_clients.hpp"

namespace foliot::jobs::detail {

class broker_core {
 public:
  broker_core(job_store& store, const broker_limits& limits, event_buffer& events);
  ~broker_core();
  broker_core(const broker_core&) = delete;
  broker_core& operator=(const broker_core&) = delete;

  [[nodiscard]] mutex& guard() noexcept { return lock_; }
  [[nodiscard]] broker_event& failed_event() noexcept { return failed_event_; }
  [[nodiscard]] bool has_other_nodes() const noexcept { return news_.has_others(); }

  // Requests, for broker_request (broker.hpp).

  void submit(broker_request& one) FOLIOT_EXCLUDES(lock_);
  /// Returns whether the request is done; leads a batch first if no task leads.
  [[nodiscard]] bool settle(broker_request& one) FOLIOT_EXCLUDES(lock_);
  void begin_wait(broker_request& one) noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] answer take(broker_request& one) FOLIOT_EXCLUDES(lock_);
  void withdraw(broker_request& one) noexcept FOLIOT_EXCLUDES(lock_);

  // Clients.

  void enter() FOLIOT_EXCLUDES(lock_);
  void leave(std::unique_ptr<client_state> client) noexcept FOLIOT_EXCLUDES(lock_);
  void set_name(client_state& client, std::string_view name) FOLIOT_EXCLUDES(lock_);
  void use(client_state& client, std::string_view tube) FOLIOT_EXCLUDES(lock_);
  void watch(client_state& client, std::string_view tube) FOLIOT_EXCLUDES(lock_);
  void ignore(client_state& client, std::string_view tube) FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] std::optional<reservation> held(const client_state& client, job_id id) const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] bool part_with(const client_state& client, const reservation& token) noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] std::size_t reservations(const client_state& client) const noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] instant next_deadline(const client_state& client) const noexcept FOLIOT_EXCLUDES(lock_);

  // Waiting for a job.

  /// Adds the client to the lists of its tubes, and leads a batch if no task leads. `own` and `lasting`: see
  /// client_state; `own` must live until the wait has ended.
  void begin_waiting(client_state& client, const claim* own = nullptr, bool lasting = false) FOLIOT_EXCLUDES(lock_);
  /// The state of a wait.
  struct outlook {
    bool is_served = false;
    /// Whether a claim has shown that there is no job at present.
    bool has_to_wait = false;
    /// Whether there may be a job, and the store is unavailable.
    bool is_unknown = false;
    /// When the first reservation of the client ends.
    instant deadline = instant::never();
  };
  [[nodiscard]] outlook look(client_state& client) FOLIOT_EXCLUDES(lock_);
  /// Ends the wait, if the client still waits. Returns its job if it was served.
  [[nodiscard]] std::optional<claimed_job> end_waiting(client_state& client) FOLIOT_EXCLUDES(lock_);
  /// The same for a client with a claim of its own: what the claim has brought.
  [[nodiscard]] claim_answer end_own_waiting(client_state& client) FOLIOT_EXCLUDES(lock_);
  /// Throws store_unavailable for a wait whose timeout has ended.
  [[noreturn]] void throw_unavailable() const FOLIOT_EXCLUDES(lock_);
  /// Ends the wait of a client whose task does not want a job any more: one that it was served is given back.
  void cancel_waiting(client_state& client) noexcept FOLIOT_EXCLUDES(lock_);

  // The broker's own.

  [[nodiscard]] task<> run();
  /// run(), while the store has not failed.
  [[nodiscard]] task<> run_until_end();
  /// run() has thrown this: without it the broker would leave its clients waiting, so it fails.
  void fail_with_run(const std::exception& why) noexcept FOLIOT_EXCLUDES(lock_);
  /// The next step of run().
  enum class step : std::uint8_t { let_others_run, wait, wait_for_leader, execute, hold_back, end };
  /// Leads a batch if there is work or something is due. `is_single`: there is one processor. `has_yielded`: the other
  /// tasks have just run. `next` is until when to wait. Throws store_failure.
  [[nodiscard]] step run_once(bool is_single, bool has_yielded, next_change& next) FOLIOT_EXCLUDES(lock_);
  void close() noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] std::string failure() const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] broker_counters counters() const noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] job_flow flow() const noexcept FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] tube_clients clients_of(std::string_view tube) const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] std::string holder_of(job_id id, std::uint32_t reserves) const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] std::vector<std::string> tubes_in_use() const FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] check_result check() const FOLIOT_EXCLUDES(lock_);

 private:
  class runner;

  /// What a call of the store has brought.
  struct outcome {
    execution done;
    next_change next;
    std::exception_ptr failure;
  };
  /// A request of the present batch.
  struct entry {
    broker_request* request = nullptr;  // null: destroyed meanwhile
    reservation token;
    bool touches = false;
    std::vector<std::pair<std::size_t, reservation>> holders;  // of puts, with their places in a put_all
    std::vector<std::size_t> uncounted;  // the places of the puts that job_flow leaves out, ascending
  };
  [[nodiscard]] bool has_work() const noexcept FOLIOT_REQUIRES(lock_) {
    return !failed_ && (!queue_.empty() || has_own_work());
  }
  /// Whether there is work besides the requests.
  [[nodiscard]] bool has_own_work() const noexcept FOLIOT_REQUIRES(lock_) {
    return held_.has_to_give_back() || tubes_.has_tube_to_serve() || pauses_.has_work();
  }
  /// Whether the only work are requests that wait for others (commit_delay).
  [[nodiscard]] bool waits_for_others() const noexcept FOLIOT_REQUIRES(lock_);
  /// Whether the store wants a batch.
  [[nodiscard]] bool is_due() const noexcept FOLIOT_REQUIRES(lock_);
  /// Throws broker_closed if the broker is being closed.
  void check_open() const FOLIOT_REQUIRES(lock_);

  /// There is work. Leads a batch if no task leads and the caller should; wakes run() if that leads alone.
  void lead_if_free() noexcept FOLIOT_REQUIRES(lock_);
  void lead() noexcept FOLIOT_REQUIRES(lock_);
  void execute_batch() noexcept FOLIOT_REQUIRES(lock_);
  /// The store has answered a batch, or not: notes whether many ask. Clients that wait count if they get a job.
  void note_crowd(std::span<const answer> all) noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] bool form_batch() noexcept FOLIOT_REQUIRES(lock_);
  /// Executes the batch. Called by the leader, or for it by a thread that may block.
  [[nodiscard]] outcome call_store() noexcept FOLIOT_EXCLUDES(lock_);
  void conclude_batch(outcome& brought) noexcept FOLIOT_REQUIRES(lock_);
  void gather_reservations_to_give_back() FOLIOT_REQUIRES(lock_);
  void gather_requests() FOLIOT_REQUIRES(lock_);
  void hand_out(execution& done) FOLIOT_REQUIRES(lock_);
  /// Whether job_flow has the jobs of this tube; the puts of the operation that it leaves out; and whether it has the
  /// job of this reservation, which it has if that is not known.
  [[nodiscard]] bool counts_tube(std::string_view tube) const noexcept {
    return limits_.uncounted.empty() || !tube.starts_with(limits_.uncounted);
  }
  [[nodiscard]] std::vector<std::size_t> uncounted_puts_of(const operation& it) const;
  /// The limits of this operation. O(puts).
  [[nodiscard]] const job_limits& limits_of(const operation& it) const noexcept;
  [[nodiscard]] bool counts(const reservation& token) const noexcept FOLIOT_REQUIRES(lock_);
  void count_puts(const entry& of, const answer& got) noexcept FOLIOT_REQUIRES(lock_);
  /// Counts what the batch has done to jobs.
  void count(const execution& done) noexcept FOLIOT_REQUIRES(lock_);
  /// When this reservation has begun; never() if that is not known.
  [[nodiscard]] instant beginning_of(const reservation& token) const noexcept FOLIOT_REQUIRES(lock_);
  /// Notes what the batch has done to jobs.
  [[gnu::cold]] void note_events(const execution& done) noexcept FOLIOT_REQUIRES(lock_);
  /// Tells it, without the lock: readers are woken.
  [[gnu::cold]] void tell_events() noexcept FOLIOT_REQUIRES(lock_);
  void conclude(const entry& of, answer& brought) FOLIOT_REQUIRES(lock_);
  void serve(const claims::grant& by, claim_answer& brought) FOLIOT_REQUIRES(lock_);
  void serve_own(client_state* client, claim_answer& brought) FOLIOT_REQUIRES(lock_);
  void note_served(client_state& client) noexcept FOLIOT_REQUIRES(lock_);
  void note_refused(const claims::grant& by, const answer& brought) FOLIOT_REQUIRES(lock_);
  void end_claims() noexcept FOLIOT_REQUIRES(lock_);
  void fail(const char* text, store_failure::remedies remedy = store_failure::remedies::open_again) noexcept
      FOLIOT_REQUIRES(lock_);
  static constexpr std::size_t room_for_failure = 200;
  static constexpr const char* lacks_memory = "there is not enough memory to execute a batch";
  static void refuse(broker_request& one, broker_request::refusal why) noexcept;
  /// Gives back a job that a claim has brought, and that no client takes.
  void give_back(const claimed_job& unwanted) noexcept FOLIOT_REQUIRES(lock_);
  /// The store has ended this reservation, or has told that it is over.
  void note_end(const reservation& token) noexcept FOLIOT_REQUIRES(lock_);

  // Shared stores.

  [[nodiscard]] task<> run_shared() FOLIOT_EXCLUDES(lock_);
  /// The next step of run(). If that is `execute`, the batch is formed and `led_` is true. Throws store_failure.
  [[nodiscard]] step next_step(bool has_yielded, next_change& until) FOLIOT_EXCLUDES(lock_);
  void end_lead(outcome& brought) noexcept FOLIOT_EXCLUDES(lock_);
  void hear_others() FOLIOT_EXCLUDES(lock_);
  void tell_others() noexcept FOLIOT_EXCLUDES(lock_);
  /// The store has refused the batch at this time.
  void refuse_batch(store_unavailable::kind known, const char* text, instant when) noexcept FOLIOT_REQUIRES(lock_);
  /// run() ends: a batch that it has left is in doubt.
  void drop_batch() noexcept FOLIOT_REQUIRES(lock_);
  /// Lets tasks that have their answers queue their next operations.
  [[nodiscard]] task<> gather() FOLIOT_EXCLUDES(lock_);
  [[nodiscard]] bool has_enough() const noexcept FOLIOT_EXCLUDES(lock_);
  /// Whether there is a batch to execute that should wait until more is queued.
  [[nodiscard]] bool waits_for_more() const noexcept FOLIOT_EXCLUDES(lock_);

  /// There may be a job in this tube for clients that wait.
  void note_news(tube_record& tube) noexcept FOLIOT_REQUIRES(lock_);
  void unlink(client_state& waiting) noexcept FOLIOT_REQUIRES(lock_);
  void wake_runner_for_work() noexcept FOLIOT_REQUIRES(lock_);
  void unwatch(client_state& client, watching& one) noexcept FOLIOT_REQUIRES(lock_);
  void unuse(client_state& client) noexcept FOLIOT_REQUIRES(lock_);
  void forget_if_unused(tube_record& tube) noexcept FOLIOT_REQUIRES(lock_);
  [[nodiscard]] tube_record& tube_for(std::string_view name) FOLIOT_REQUIRES(lock_);

  job_store& store_;
  const broker_limits limits_;
  mutable mutex lock_{lock_rank::object};

  bool led_ FOLIOT_GUARDED_BY(lock_) = false;
  bool closing_ FOLIOT_GUARDED_BY(lock_) = false;
  bool failed_ FOLIOT_GUARDED_BY(lock_) = false;
  std::string failure_ FOLIOT_GUARDED_BY(lock_);
  store_failure::remedies remedy_ FOLIOT_GUARDED_BY(lock_) = store_failure::remedies::open_again;  // of the failure
  broker_event failed_event_;

  request_queue queue_ FOLIOT_GUARDED_BY(lock_);
  commit_delay delay_ FOLIOT_GUARDED_BY(lock_);
  tube_registry tubes_ FOLIOT_GUARDED_BY(lock_);
  held_jobs held_ FOLIOT_GUARDED_BY(lock_);
  parted_jobs parted_ FOLIOT_GUARDED_BY(lock_);
  waiting_clients waiting_ FOLIOT_GUARDED_BY(lock_);
  claims claims_ FOLIOT_GUARDED_BY(lock_);
  tube_pauses pauses_ FOLIOT_GUARDED_BY(lock_);
  node_news news_;  // hears and tells without the lock, which guards the rest of it
  availability availability_ FOLIOT_GUARDED_BY(lock_);
  std::size_t clients_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool is_used_ FOLIOT_GUARDED_BY(lock_) = false;  // there was a client or a request

  // The present batch: reservations given back and pauses that end, the requests, checks of pauses, and claims. Kept,
  // so that a batch allocates little. The leader alone reads the operations, without the lock while the store executes
  // them.
  std::vector<operation> batch_;
  batch_events events_;                                          // the leader alone uses it
  std::vector<given_back> given_back_ FOLIOT_GUARDED_BY(lock_);  // by the ids of the jobs
  std::size_t first_entry_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::vector<entry> entries_ FOLIOT_GUARDED_BY(lock_);

  // For run(): when the store wants the next batch, and until when run() waits while it waits.
  bool runs_ FOLIOT_GUARDED_BY(lock_) = false;
  next_change next_ FOLIOT_GUARDED_BY(lock_);
  std::optional<next_change> armed_ FOLIOT_GUARDED_BY(lock_);
  bool runner_leads_alone_ FOLIOT_GUARDED_BY(lock_) = false;
  bool is_crowded_ FOLIOT_GUARDED_BY(lock_) = false;         // many ask: run() leads alone, while there is one
  std::int64_t mean_answered_ FOLIOT_GUARDED_BY(lock_) = 0;  // how many a batch answers: see note_crowd()
  bool runner_wants_lead_ FOLIOT_GUARDED_BY(lock_) = false;
  broker_event runner_event_;

  // Of a shared store: how many requests and clients the latest batch was for, and when it ended; whether there may be
  // jobs since for clients that wait.
  std::size_t served_ FOLIOT_GUARDED_BY(lock_) = 0;
  instant ended_at_ FOLIOT_GUARDED_BY(lock_) = instant::earliest();
  bool has_news_ FOLIOT_GUARDED_BY(lock_) = false;

  std::uint64_t batches_ FOLIOT_GUARDED_BY(lock_) = 0;
  flow_counter flow_ FOLIOT_GUARDED_BY(lock_);
  std::uint64_t operations_ FOLIOT_GUARDED_BY(lock_) = 0;
};

}  // namespace foliot::jobs::detail
