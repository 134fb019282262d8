// The broker: it lets many tasks share one job store.
//
//   foliot::task<> serve(jobs::job_store& store) {
//     jobs::broker broker(store);
//     auto running = spawn(broker.run(), "broker");       // jobs become ready while it runs
//     …
//     jobs::client worker(broker);                        // a connection, or a worker of the program
//     worker.watch("mail");
//     auto got = co_await worker.reserve(10s);            // waits without polling
//     if (got.job) co_await worker.finish(got.job->token.id);
//     …
//     broker.close();                                     // after the clients have gone, run() returns
//     co_await running.join();                            // throws store_failure if the store has failed
//   }
//
// Group commit: the operations that tasks ask for while one batch is being executed form the next batch, so that many
// tasks share the cost of one sync. No thread hands them over. The task that awaits an operation while no task executes
// batches becomes the leader: it takes everything that is queued, executes it as one batch on its own thread, and wakes
// the tasks whose answers it has. If more was queued meanwhile, it passes the lead to run() and goes on with its own
// answer. So a single connection pays for no switch between tasks, and no connection works for others for longer than
// one batch. On a single processor run() leads all batches, so that other tasks can add to them; and so it does on
// several processors while many ask a store that syncs (broker_limits::commit_delay is not zero).
//
// Waiting reserves: a job that becomes ready goes to the client that has waited longest for its tube; a client that
// waits for several tubes gets the best (priority, id) of them. One batch reserves jobs for many waiting clients, and
// for a bounded number of them, so that a burst in one tube does not delay the clients of another. The bodies of these
// jobs have at most 16 MiB and one body more.
//
// Reservations belong to clients. When a client is destroyed, its reservations are given back, and so is a job that was
// reserved for it and that it has not received: in the next batch, or in pieces if they are many, so that the other
// clients are served in between. Until then their jobs count as reserved, and no other client gets them. A client may
// part with reservations (client::part_with()), which then belong to their tokens.
//
// Shared stores. If the store has other nodes (other_nodes.hpp), run() alone executes batches, on a thread that may
// block, so that no processor waits for the store: operations wait until a task is in run(). A client that waits hears
// of jobs that other nodes have made ready, at the latest after other_nodes::scan_every(); and the other nodes hear of
// the jobs that the clients here leave. A batch that the store refuses ends its operations with store_unavailable,
// which may be in doubt for those that change something; then the broker executes nothing for 250 ms and tries again,
// with the operations queued meanwhile. Pending releases are retained. If a claim is in doubt, no client has its job
// until its TTR or the store ends the reservation. A reservation with an end or a touch in doubt counts as held.
// Clients go on waiting; if their timeout ends before the store has told whether there is a job, reserve() throws
// store_unavailable.
//
// Tubes: a tube lives while it has a job, a user or a watcher. The pause of a tube ends with the tube;
// in a shared store it lasts its time.
//
// Events: what batches do to jobs is told to the readers of events() (event_buffer.hpp); without a reader nothing is
// noted. With one, a batch looks at each job that it ends by an id or a token.
//
// Bounds: at a limit of broker_limits the newcomer gets broker_full, and nothing else changes. Failure: after a
// store_failure every operation in flight and every later one throws it; none is acknowledged.
//
// Thread safety: any task of one runtime may use a broker; a client is used by one task at a time. The clocks of the
// store must be those of the runtime. Lifetime: the store must outlive the broker, and the broker its clients and all
// tasks that use it: also those that the end of the run destroys.
// Complexity: O(log n) for each operation besides the store's own, n being the tubes in use and the reserved jobs.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/detail/broker_event.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/time_histogram.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::jobs {

class broker;
class client;
class event_buffer;

/// The limits of a broker.
struct broker_limits {
  std::size_t operations = 65'536;                    ///< operations that are queued
  std::size_t queued_bytes = std::size_t{256} << 20;  ///< that they bring; one operation is queued in any case
  std::size_t clients = 65'536;
  std::size_t tubes = 65'536;    ///< tubes that a client uses or watches
  std::size_t waiting = 65'536;  ///< clients that wait for a job
  job_limits job{};
  /// Over a store that other nodes share: for how long after a batch the next one waits for the operations of those
  /// that it has answered. Not for jobs that become ready, and not if many operations are there. Zero: it does not
  /// wait.
  duration gathering = std::chrono::milliseconds(1);
  /// Over any other store: the longest time for which a request waits for others, so that one sync of the disk is for
  /// all of them. It waits at most for a hundredth of the time since its client has asked before, and only if others
  /// are expected meanwhile. Zero: it does not wait, which is right where a batch costs little.
  duration commit_delay = duration::zero();
  /// job_flow leaves out the jobs of the tubes whose names begin with this: those that a program has for itself. Empty:
  /// it leaves out none. The text must outlive the broker.
  std::string_view uncounted = {};
  /// The limits of an operation that puts a job into one of those tubes, alone or with others. Nothing: those of `job`.
  std::optional<job_limits> uncounted_job = {};
};

/// A limit of broker_limits is reached. The text names it.
class FOLIOT_EXPORT broker_full : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The broker is being closed, and accepts nothing more.
class FOLIOT_EXPORT broker_closed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The answer to client::reserve().
struct reserve_answer {
  /// How the reserve has ended.
  enum class kind : std::uint8_t {
    reserved,       ///< `job` is there
    timed_out,      ///< no job was ready in time
    deadline_soon,  ///< a reservation of this client ends within deadline_margin, and no job was ready
  };
  kind what = kind::timed_out;
  std::optional<claimed_job> job = std::nullopt;
};

/// How long before the end of a reservation its client stops waiting for another job.
inline constexpr duration deadline_margin = duration::nanoseconds(1'000'000'000);

/// The counters of a broker: since its beginning, and at present.
struct broker_counters {
  std::uint64_t batches = 0;      ///< calls of the store
  std::uint64_t operations = 0;   ///< operations in them
  std::uint64_t unavailable = 0;  ///< batches that a shared store refused, see store_unavailable
  std::uint64_t refused = 0;      ///< operations that it refused beside others: passed_over_answer, unavailable_answer
  std::uint64_t expired = 0;      ///< reservations whose time was over, as job_flow has them
  bool is_unavailable = false;    ///< whether a shared store has refused the latest batch
  std::uint64_t no_space = 0;     ///< operations for which the store had no room
  bool lacks_room = false;        ///< whether another job had no room behind the latest batch, see execution::has_room
  std::size_t queued = 0;         ///< operations that wait for the next batch
  std::size_t queued_bytes = 0;   ///< that they bring: bodies, fields and histories
  std::size_t clients = 0;
  std::size_t waiting = 0;       ///< clients that wait for a job
  std::size_t reservations = 0;  ///< jobs that clients hold
  std::size_t tubes = 0;         ///< tubes that a client uses or watches
};

/// What has become of jobs by a broker, since its beginning, and how long that has taken. Without those of
/// broker_limits::uncounted, except where the broker does not know the job of a reservation that has ended.
struct job_flow {
  std::uint64_t put = 0;       ///< new jobs, also those that have replaced another one
  std::uint64_t reserved = 0;  ///< by clients of this broker
  std::uint64_t finished = 0;
  std::uint64_t released = 0;
  std::uint64_t buried = 0;
  std::uint64_t expired = 0;  ///< reservations whose time was over; over a shared store those that this broker ended
  /// From the due time of a job to its reservation, by the wall clock; from its put, if that came later. Without jobs
  /// that have ever come back by the end of a TTR, or because a client had gone: that sets no new due time.
  time_histogram::counts lateness;
  /// From the reservation of a job to its finish: of those reservations that the broker still knew.
  time_histogram::counts work;

  /// Adds what has become of jobs by another broker.
  job_flow& operator+=(const job_flow& other) noexcept {
    put += other.put;
    reserved += other.reserved;
    finished += other.finished;
    released += other.released;
    buried += other.buried;
    expired += other.expired;
    lateness += other.lateness;
    work += other.work;
    return *this;
  }
};

/// The clients of one tube.
struct tube_clients {
  std::size_t users = 0;
  std::size_t watchers = 0;
  std::size_t waiting = 0;
};

namespace detail {

class broker_core;
class request_queue;
struct client_state;

/// The part of an in_flight that does not depend on the operation's type: one operation on its way through a broker, a
/// node of the broker's queue, in the frame of the task that asked for it.
///
///   queued ──a leader puts it into a batch──► in batch ──the store has executed it──► done
///      └── the owner destroys it: it is never executed
///
/// A request that is destroyed while it is in a batch is executed, and its answer is dropped; a job that the operation
/// reserved is given back.
///
/// An awaiter: the waiting task is not interrupted, because a batch ends soon and its answer must not be lost. Thread
/// safety: the lock of the broker guards everything but the wait itself, which is the task's.
class FOLIOT_EXPORT broker_request : public runtime::detail::task_awaiter {
 public:
  broker_request(const broker_request&) = delete;
  broker_request& operator=(const broker_request&) = delete;

  /// If no task executes batches, the calling task becomes the leader and executes the next batch here.
  [[nodiscard]] bool await_ready();
  template <class Promise>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    begin_wait();
    return wait_.park(runtime::detail::wait_point::interrupts::deferred);
  }

 protected:
  /// Queues the operation. `by` is the client that will hold the jobs that the operation reserves, or null. Throws
  /// std::invalid_argument, broker_full, and broker_closed.
  broker_request(broker_core& core, client_state* by, operation what);
  /// A request that was answered without the store.
  broker_request(broker_core& core, answer known) noexcept;
  ~broker_request();

  /// After the wait: the answer, moved out. Throws store_failure and store_unavailable.
  [[nodiscard]] answer take();

 private:
  friend class broker_core;
  friend class request_queue;

  enum class state : std::uint8_t { queued, in_batch, done };
  /// Why there is no answer.
  enum class refusal : std::uint8_t { none, store_failed, not_executed, in_doubt };

  void begin_wait() noexcept;

  broker_core& core_;
  client_state* const client_;
  operation operation_;
  answer answer_;
  state state_ = state::queued;
  refusal refusal_ = refusal::none;
  bool is_taken_ = false;
  /// The reservation that the operation names, if it names one.
  reservation token_;
  bool touches_ = false;
  bool only_looks_ = false;
  std::size_t index_ = 0;  // in the batch
  list_links<broker_request> links_;
  broker_event done_;
  runtime::detail::wait_point wait_;
};

}  // namespace detail

/// An operation that is queued or being executed. A task must await it, once: the result is the store's answer.
///
///   auto first = broker.execute(put_one);     // both are queued
///   auto second = broker.execute(put_two);
///   co_await first;                           // and executed, as one batch
///   co_await second;
///
/// The operations of a task are executed in the order in which it made them. Nothing is executed for sure before the
/// task awaits. An operation that is destroyed before that may have been executed or not. The wait throws
/// store_failure or store_unavailable, and is not ended by a stop or a timeout of the task. Neither copied nor moved.
/// Must not outlive the broker, nor the client that it was made for.
template <class Operation>
class [[nodiscard("co_await it")]] in_flight : public detail::broker_request {
 public:
  /// As broker::execute().
  in_flight(broker& by, Operation what);
  /// As broker::execute(), but the jobs that the operation reserves belong to `by`.
  in_flight(client& by, Operation what);

  answer_of<Operation> await_resume() { return std::get<answer_of<Operation>>(take()); }

 private:
  friend class client;
  in_flight(detail::broker_core& core, answer_of<Operation> known) noexcept
      : broker_request(core, answer(std::move(known))) {}
};

/// Neither copied nor moved.
class FOLIOT_EXPORT broker {
 public:
  /// A broker for this store. Its events are told to `events`, which must outlive it and which other brokers may have;
  /// null: it has its own.
  explicit broker(job_store& store, const broker_limits& limits = {}, event_buffer* events = nullptr);
  /// All clients must be gone.
  ~broker();
  broker(const broker&) = delete;
  broker& operator=(const broker&) = delete;

  /// Executes a batch whenever a job (in a shared store: if the broker was ever used) or the end of a reservation is
  /// due, and leads when another leader has passed on the lead. Jobs become ready and reservations end only while this
  /// runs. Spawn it once. Returns when close() was called, all clients have gone, and the queue is empty; and nothing
  /// is to be given back, unless a shared store has just been unavailable. Throws store_failure when the store fails,
  /// std::logic_error if it runs already. A stop ends it after the batch that is being executed.
  [[nodiscard]] task<> run();

  /// Queues an operation for the next batch; await the result. The jobs that a claim reserves belong to the caller,
  /// which must end them by their tokens. Throws std::invalid_argument if validate() refuses it, broker_full,
  /// broker_closed. A failure of the store is thrown by the await.
  template <class Operation>
  [[nodiscard]] in_flight<Operation> execute(Operation what) {
    return in_flight<Operation>(*this, std::move(what));
  }

  /// Refuses new operations, clients and reserves from now on; waiting reserves throw broker_closed. Queued
  /// operations are executed. Clients may still end their reservations, and give back the rest when they are destroyed.
  /// Any task.
  void close() noexcept;

  /// Await the result, or make it a case of a select: completes when the store has failed. One task at a time.
  [[nodiscard]] runtime::detail::operation_awaiter<detail::event_wait> failed() noexcept;
  /// The text of the store's failure; empty while it has not failed.
  [[nodiscard]] std::string failure() const;

  /// Whether other nodes use the store, too: see the file head.
  [[nodiscard]] bool has_other_nodes() const noexcept;
  /// What happens to jobs by this broker, and by the others that share these events.
  [[nodiscard]] event_buffer& events() const noexcept;
  /// The present counters. O(1).
  [[nodiscard]] broker_counters counters() const noexcept;
  /// What has become of jobs so far. O(1).
  [[nodiscard]] job_flow flow() const noexcept;
  /// The clients of a tube; all zero if there are none. O(log n).
  [[nodiscard]] tube_clients clients_of(std::string_view tube) const;
  /// The name of the client (client::set_name()) that has reserved a job, `reserves` being the number of that
  /// reservation (job_counters). Empty if the reservation has ended, was not made by a client of this broker, or by one
  /// without a name, or is one of too many that clients have parted with: this broker knows those 100,000 that end
  /// last. After an end through another broker it may still be known here until its TTR ends. O(log n).
  [[nodiscard]] std::string holder_of(job_id id, std::uint32_t reserves) const;
  /// The tubes that a client uses or watches, by name. O(n).
  [[nodiscard]] std::vector<std::string> tubes_in_use() const;
  /// The first invariant that does not hold, if any. O(everything).
  [[nodiscard]] check_result check() const;

 private:
  friend class client;
  template <class Operation>
  friend class in_flight;

  std::unique_ptr<event_buffer> own_events_;  // null: it has others
  event_buffer* const events_;
  std::unique_ptr<detail::broker_core> core_;
};

/// A connection, or a worker of the program: it holds reservations, uses a tube, and watches tubes. One task at a time
/// may use it. Move-only; a client must not be moved while one of its operations is in flight or it waits.
class FOLIOT_EXPORT client {
 public:
  /// A client that uses and watches no tube. Throws broker_full, broker_closed, store_failure.
  explicit client(broker& with);
  client(client&& other) noexcept;
  client& operator=(client&& other) noexcept;
  /// Gives back all its reservations with the next batches, which the broker executes at once. Its operations must be
  /// gone. O(watched tubes), whatever it holds.
  ~client();

  /// Sets the name that broker::holder_of() returns for the jobs that this client holds, and for those that it parts
  /// with from now on. Empty at first. Throws std::bad_alloc.
  void set_name(std::string_view name);

  /// From now on the client counts as a user of this tube, and of no other; empty: of none. Throws broker_full, and
  /// std::invalid_argument for a name that is too long; then it uses the same tube as before.
  void use(std::string_view tube);
  /// Adds a tube to those from which reserve() takes jobs; does nothing if it is among them. Returns how many there
  /// are. Throws as use() does, and std::logic_error while the client waits.
  std::size_t watch(std::string_view tube);
  /// Removes a tube from them; does nothing if it is not among them. Returns how many there are. Throws
  /// std::logic_error while the client waits.
  std::size_t ignore(std::string_view tube);
  /// The tube that it uses; empty if none.
  [[nodiscard]] const std::string& used() const noexcept;
  /// The watched tubes, in the order of watch().
  [[nodiscard]] std::vector<std::string> watched() const;

  /// Reserves the best ready job of the watched tubes. If there is none, waits: at most for `timeout` (none: for ever;
  /// zero: not at all), and until deadline_margin before the end of a reservation of this client. The wait costs
  /// nothing. A task must await it. Throws `cancelled` if the task is asked to stop; then nothing stays reserved.
  /// Throws std::logic_error if no tube is watched or the client waits already, broker_full, broker_closed,
  /// store_failure; store_unavailable, never in doubt, if the timeout ends while it is not known whether there is a
  /// job.
  [[nodiscard]] task<reserve_answer> reserve(std::optional<duration> timeout = std::nullopt);
  /// The same, with the job at the end of a vector, which must outlive the task: it takes less memory while it waits.
  /// `lasting`: as claim::lasting, for a client that parts with the reservation.
  [[nodiscard]] task<> reserve_into(std::vector<claimed_job>& into, std::optional<duration> timeout = std::nullopt,
                                    bool lasting = false);
  /// As reserve(), but with a claim of the client's own, which may be for many jobs and may have a `once`: no other
  /// client shares it. It is from the watched tubes, which replace `what.tubes`; it brings about 16 MiB at most. Ends
  /// as soon as the answer has a job, is replayed, or tells that the claim was refused (`other_request`, `no_space`).
  /// Behind the timeout, and where reserve() answers `deadline_soon`, the answer is `done`, without a job and not
  /// replayed. The client holds the jobs; if another client of this broker has held those of a replay, it does not hold
  /// them any more. Throws as reserve() does, and std::invalid_argument if validate() refuses the claim.
  [[nodiscard]] task<claim_answer> reserve(jobs::claim what, std::optional<duration> timeout = std::nullopt);
  /// Reserves this job for the client, in whatever state it waits.
  [[nodiscard]] in_flight<claim_job> reserve_job(job_id id);

  // Each of the next four is answered `not_held` if the client does not hold the job. It holds a job from the moment in
  // which the task that reserved the job has the answer.

  /// Ends a job that the client holds: it is done.
  [[nodiscard]] in_flight<jobs::finish> finish(job_id id);
  /// Gives back a job that the client holds. Without an urgency its priority stays as it is, and without a history its
  /// history does.
  [[nodiscard]] in_flight<jobs::release> release(job_id id, std::optional<priority> urgency = std::nullopt,
                                                 due_at due = milliseconds(0),
                                                 std::optional<job_fields> history = std::nullopt);
  /// Sets aside a job that the client holds. Without an urgency its priority stays as it is, and without a history its
  /// history does.
  [[nodiscard]] in_flight<jobs::bury> bury(job_id id, std::optional<priority> urgency = std::nullopt,
                                           std::optional<job_fields> history = std::nullopt);
  /// Begins the TTR of a job that the client holds again.
  [[nodiscard]] in_flight<jobs::touch> touch(job_id id);
  /// Ends a job: finishes it if this client holds it, cancels it if no client does.
  [[nodiscard]] task<change_answer> remove(job_id id);

  /// Executes an operation for this client: the jobs that it reserves belong to the client. As broker::execute().
  template <class Operation>
  [[nodiscard]] in_flight<Operation> execute(Operation what) {
    return in_flight<Operation>(*this, std::move(what));
  }

  /// The reservation of a job that this client holds, if it does. O(1).
  [[nodiscard]] std::optional<reservation> held(job_id id) const;
  /// Parts with a reservation: from now on any client, or broker::execute(), may end it by its token, and it lasts
  /// until its TTR ends, whatever becomes of this client; and of this node of a shared store, if it was claimed so
  /// (claim::lasting). Returns false if the client does not hold it.
  bool part_with(const reservation& token) noexcept;
  /// How many jobs the client holds.
  [[nodiscard]] std::size_t reservations() const noexcept;
  /// When the first of its reservations ends; never(): it has none.
  [[nodiscard]] instant next_deadline() const noexcept;

 private:
  template <class Operation>
  friend class in_flight;

  template <class Operation>
  [[nodiscard]] in_flight<Operation> by_holder(job_id id, Operation what);

  detail::broker_core* core_;
  std::unique_ptr<detail::client_state> state_;
};

template <class Operation>
in_flight<Operation>::in_flight(broker& by, Operation what)
    : broker_request(*by.core_, nullptr, operation(std::move(what))) {}
template <class Operation>
in_flight<Operation>::in_flight(client& by, Operation what)
    : broker_request(*by.core_, by.state_.get(), operation(std::move(what))) {}

}  // namespace foliot::jobs
