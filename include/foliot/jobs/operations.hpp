// What can be asked of a job store, and its answers. Plain values: a store executes them in batches (job_store.hpp).
#pragma once

#include <foliot/core/language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/once.hpp>

namespace foliot::jobs {

/// A job's name from the client's side: its tube and its key.
struct job_key {
  std::string tube;
  std::string key;

  friend auto operator<=>(const job_key&, const job_key&) = default;
};

/// Which job is meant.
using job_name = std::variant<job_id, job_key>;

/// When a job becomes ready: a delay from the store's time at the execution, rounded up to the next millisecond, or a
/// time. What has passed, and a delay of zero, means at once.
using due_at = std::variant<milliseconds, utc_time>;

/// What a put does where its tube has a job with its key.
enum class on_existing : std::uint8_t {
  keep,  ///< the old job stays as it is: the same put twice makes one job
  /// The new job takes the old one's key, and the old one is gone. Refused while the old one is reserved, except by its
  /// reservation: put::holder.
  replace,
  refuse,  ///< nothing is put
};

/// Stores a new job.
struct put {
  std::string tube;
  std::string key = {};  ///< empty: none
  std::string body;
  jobs::priority priority = 0;
  due_at due = milliseconds(0);
  milliseconds ttr = std::chrono::minutes(1);
  on_existing existing = on_existing::keep;
  /// What the job has besides its body; it never changes.
  job_fields fields = {};
  /// For programs that move a job from one store to another: what has become of it there. A new job has none.
  job_fields history = {};
  /// Not 0: only if a job with this key is there and has this version. Then there must be a key, and `existing` must be
  /// `replace`.
  job_version expected = 0;
  /// Not none: only if a job with this key is there, and this is its reservation, which ends with it: so a worker
  /// replaces the job that it has, and no other worker gets the old or the new one in between. To the old job, and to
  /// what counts jobs, it is the end that any replaced job has: it is not finished. Then there must be a key,
  /// `existing` must be `replace`, nothing else may be expected, and neither the put nor its put_all may have a `once`.
  std::optional<reservation> holder = std::nullopt;
  /// Not empty: it happens once, and its answer is kept if it was inserted, kept or replaced. The memory of it moves
  /// with its tube from one database to another. In a put_all it must be empty.
  jobs::once once = {};

  friend bool operator==(const put&, const put&) = default;
};

/// The most puts of one put_all, and the most bytes that several of them bring (content_bytes()).
inline constexpr std::size_t most_put_together = 1000;
inline constexpr std::size_t most_bytes_put_together = std::size_t{16} << 20;

/// Stores new jobs, all of them or none: if one of the puts would be refused by itself, nothing is put. One that keeps
/// an old job is not refused. No two of the puts have the same key of the same tube. The jobs get their ids in the
/// order of the puts, and become visible together.
struct put_all {
  std::vector<put> puts;  ///< 1 to most_put_together
  /// Not empty: they are put once, and the answer is kept if it is `done`.
  jobs::once once = {};

  friend bool operator==(const put_all&, const put_all&) = default;
};

/// Reserves up to `count` ready jobs of these tubes for one worker: the best (priority, id) of all that are not paused.
struct claim {
  std::vector<std::string> tubes;
  /// At least 1 by validate(). A store executes one of 0, too, which other stores ask for: it claims nothing, and its
  /// answer has what an earlier claim with the same `once` has got, if there was one.
  std::uint32_t count = 1;
  /// Once the bounded claims of a batch have brought so many bytes (content_bytes() of the jobs), they bring no further
  /// job: the answer is cut short. So the first job of a batch is always brought, and the last one may exceed the
  /// bound. Claims with the greatest number as their bound have none. With several databases each has this bound by
  /// itself.
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  /// Not empty: it claims once. The same claim again gets the same reservations, those that have not ended: none when
  /// all have. One that got no job is not remembered. A store whose reservations end with it forgets the claim with
  /// them. Where several nodes share the store, the reservations are those of the node that was sent the claim last.
  jobs::once once = {};
  /// Whether the reservations last: they end with their TTR, or by an operation with their token, and not with the node
  /// that has made them. Only a store that other nodes share tells the difference: every reservation of another one
  /// ends with the store.
  bool lasting = false;

  friend bool operator==(const claim&, const claim&) = default;
};

/// Whether the claim has a bound of bytes.
[[nodiscard]] constexpr bool is_bounded(const claim& what) noexcept {
  return what.bytes != std::numeric_limits<std::uint64_t>::max();
}

/// Reserves this job, whether it is ready, delayed or buried, and whether its tube is paused or not.
struct claim_job {
  job_id id = 0;

  friend bool operator==(const claim_job&, const claim_job&) = default;
};

/// Ends a reserved job: it is done.
struct finish {
  reservation token;

  friend bool operator==(const finish&, const finish&) = default;
};

/// Gives a reserved job back.
struct release {
  reservation token;
  /// None: as before.
  std::optional<jobs::priority> priority = std::nullopt;
  due_at due = milliseconds(0);
  /// Replaces the job's history as a whole; none: as before.
  std::optional<job_fields> history = std::nullopt;

  friend bool operator==(const release&, const release&) = default;
};

/// Gives a reserved job back because its worker has gone: it is ready at once, and no counter changes. Where several
/// nodes share the store, this is for the node that has the reservation: it has made it, or has repeated the claim that
/// happens once. To others it is not held.
struct abandon {
  reservation token;

  friend bool operator==(const abandon&, const abandon&) = default;
};

/// Sets a reserved job aside, behind those of its tube that were buried before.
struct bury {
  reservation token;
  std::optional<jobs::priority> priority = std::nullopt;  ///< none: as before
  /// Replaces the job's history as a whole; none: as before.
  std::optional<job_fields> history = std::nullopt;

  friend bool operator==(const bury&, const bury&) = default;
};

/// Begins the TTR of a reserved job again.
struct touch {
  reservation token;

  friend bool operator==(const touch&, const touch&) = default;
};

/// Makes up to `count` jobs of a tube ready: the buried ones in the order in which they were buried; if the tube has
/// none, the delayed ones, soonest first.
struct kick {
  std::string tube;
  std::uint64_t count = 1;
  /// Only jobs in this state, which is buried or delayed; none: as above.
  std::optional<job_state> only = std::nullopt;

  friend bool operator==(const kick&, const kick&) = default;
};

/// Makes a buried or delayed job ready.
struct kick_job {
  job_id id = 0;
  job_version expected = 0;  ///< not 0: only if the job has this version

  friend bool operator==(const kick_job&, const kick_job&) = default;
};

/// Ends a job that no worker has.
struct cancel {
  job_name name;
  job_version expected = 0;  ///< not 0: only if the job has this version

  friend bool operator==(const cancel&, const cancel&) = default;
};

/// Gives a job that no worker has a new due time. A buried one is buried no more.
struct reschedule {
  job_name name;
  due_at due;
  job_version expected = 0;  ///< not 0: only if the job has this version

  friend bool operator==(const reschedule&, const reschedule&) = default;
};

/// Makes a job that no worker has ready at once. A ready one stays as it is.
struct fire_now {
  job_name name;
  job_version expected = 0;  ///< not 0: only if the job has this version

  friend bool operator==(const fire_now&, const fire_now&) = default;
};

/// Lets no claim of this tube succeed for so long; zero ends a pause. A `claim_job` is not held up.
struct pause {
  std::string tube;
  milliseconds length{};

  friend bool operator==(const pause&, const pause&) = default;
};

/// Shows a job, whatever state it is in.
struct peek {
  job_name name;
  /// Whether the answer has the job's body; else that is empty there. It has the fields and the history in any case.
  bool with_body = true;

  friend bool operator==(const peek&, const peek&) = default;
};

/// Shows the first job of a tube in this state: the ready one that is claimed next, the delayed one that is due first,
/// the one that was buried first. `state` must not be reserved.
struct peek_first {
  std::string tube;
  job_state state = job_state::ready;

  friend bool operator==(const peek_first&, const peek_first&) = default;
};

/// Counts the jobs of a tube.
struct count_tube {
  std::string tube;

  friend bool operator==(const count_tube&, const count_tube&) = default;
};

/// Counts the jobs of the store.
struct count_all {
  friend bool operator==(const count_all&, const count_all&) = default;
};

/// The most nodes that list_nodes lists.
inline constexpr std::uint32_t most_listed_nodes = 1000;

/// Lists the nodes that use the store, by name: up to most_listed_nodes. Those that were silent for long are listed
/// until another node has ended their reservations. A store that one process alone uses has none. O(nodes).
struct list_nodes {
  friend bool operator==(const list_nodes&, const list_nodes&) = default;
};

/// The most tubes, or jobs, on a page of list_tubes or list_jobs.
inline constexpr std::uint32_t most_listed = 1000;

/// How many tubes without jobs, or how many jobs, a store reads at most for a page. What is not read then is on the
/// next page: so a page may have few entries, or none, though it is not the last one.
inline constexpr std::uint32_t most_searched = 10'000;

/// Lists the tubes that have a job in any state, by name: those whose names begin with `prefix` and come behind
/// `after`. A page has up to `count` tubes, and costs O(log n + count); in PostgreSQL a search in each state of each
/// tube besides, and a bounded number of rows for the counts. So these may be cut short there.
struct list_tubes {
  std::string prefix = {};  ///< empty: all tubes
  std::string after = {};   ///< tubes_answer::next of the page before; empty: from the first one on
  /// up to most_listed; 0: all tubes of the store, at a cost of O(n), without `prefix`, `after` and `with_counts`
  std::uint32_t count = 0;
  bool with_counts = false;  ///< whether the answer has what count_tube says of each; only on pages

  friend bool operator==(const list_tubes&, const list_tubes&) = default;
};

/// The most jobs on a page of list_due.
inline constexpr std::uint32_t most_listed_due = 1000;

/// Lists what is due next: the delayed jobs of all tubes whose names begin with `prefix`, the soonest first, and of
/// equal times the one with the lowest id. The page begins behind the time `from` and the id `after`, and has up to
/// `count` jobs. The next page begins behind the last job of this one: so no job is on two pages, or on none, while it
/// stays as it is.
///
/// A job that is reserved, ready or buried is not due later, so it is on no page. A pause of its tube delays the claims
/// of a job, and not the job. While a tube moves from one database to another, its jobs may be missing.
/// In a memory_store and in PostgreSQL, O(log n + count) without a prefix. Else a search for each tube whose name
/// begins with the prefix, of up to `count` jobs in the worst case; in an embedded store only for those that may be on
/// the page. docs/decisions/0017-the-table-of-operations.md has the details.
struct list_due {
  std::string prefix = {};  ///< empty: all tubes
  utc_time from{};
  job_id after = 0;           ///< of the jobs that are due at `from`, those with a greater id; 0: all of them
  std::uint32_t count = 100;  ///< 1 to most_listed_due

  friend bool operator==(const list_due&, const list_due&) = default;
};

/// The place of a job in a list: see list_jobs.
struct job_place {
  std::uint64_t rank = 0;
  job_id id = 0;

  friend auto operator<=>(const job_place&, const job_place&) noexcept = default;
};

/// Lists jobs in pages, without their bodies, fields and histories:
///
///   which      order                                        of
///   none       by id                                        a tube, all tubes, or those with one of these prefixes
///   reserved   by id                                        the same
///   ready      as they are claimed                          a tube
///   delayed    as they become due                           a tube
///   buried     as they are kicked                           a tube
///
/// A page begins behind the place `after`. The place of a job is its id, with the priority, the due time in
/// milliseconds since 1970 or the number of the burial as its rank where these have the order. The next page begins at
/// jobs_answer::next. So no job is on two pages, or on none, while it keeps its place in the list.
///
/// Of the lists by id a page reads up to most_searched jobs, of which those of other tubes are not on it. Else it reads
/// the jobs that are on it, O(log n + count), and in an embedded store the reserved ones between ready ones, up to
/// most_searched in all. While a tube moves from one database to another, its jobs may be missing,
/// or listed twice.
struct list_jobs {
  std::string tube = {};                          ///< empty: all tubes
  std::vector<std::string> prefixes = {""};       ///< of all tubes, those whose names begin with one of these
  std::optional<job_state> which = std::nullopt;  ///< none: in any state
  job_place after = {};
  std::uint32_t count = 100;  ///< 1 to most_listed

  friend bool operator==(const list_jobs&, const list_jobs&) = default;
};

/// Ends up to `count` jobs of a tube that no worker has: the ready ones, the best first; then the delayed ones, the
/// soonest first; then the buried ones, in the order in which they were buried.
struct clear_tube {
  std::string tube;
  std::uint64_t count = 1000;

  friend bool operator==(const clear_tube&, const clear_tube&) = default;
};

/// The answer to a put.
struct put_answer {
  /// What became of the put.
  enum class kind : std::uint8_t {
    inserted,  ///< `id` is the new job's
    kept,      ///< a job with that key is there, and stays as it was: `id` is its id
    replaced,  ///< `id` is the new job's; the one that had the key is gone
    exists,    ///< a job with that key is there, so nothing was put: `id` is its id
    /// The job with that key, `id`, has another reservation than put::holder, so it was not replaced. In a shared store
    /// it may be one of a node that was taken for dead, which the store has yet to end.
    reserved,
    no_space,  ///< the store has no room for more jobs, or to remember this put (once): nothing was put
    /// The job with that key does not have the expected version, or is not reserved though put::holder is set, or no
    /// job has the key: nothing was put. `id` is its id, or 0.
    other_version,
    other_request,  ///< put::once has this key with another request: nothing was put
  };
  kind what = kind::inserted;
  job_id id = 0;
  /// With `other_version`, the version of the job with that key, or 0 if there is none; else 0.
  job_version version = 0;
  bool is_replayed = false;  ///< whether it is the answer of an earlier put with the same `once`

  friend bool operator==(const put_answer&, const put_answer&) noexcept = default;
};

/// Whether a put with this answer was refused.
[[nodiscard]] constexpr bool is_refused(const put_answer& it) noexcept {
  using enum put_answer::kind;
  return it.what != inserted && it.what != kept && it.what != replaced;
}

/// The answer to put_all.
struct put_all_answer {
  /// What became of the puts.
  enum class kind : std::uint8_t {
    done,               ///< none was refused: `puts` has their answers, in their order
    refused,            ///< nothing was put, because the put at `place` would have been refused with `why`
    several_databases,  ///< nothing was put, because the tubes are in several databases, as `tubes` has them
    other_request,      ///< put_all::once has this key with another request: nothing was put
  };
  kind what = kind::done;
  bool is_replayed = false;  ///< whether it is the answer of an earlier put_all with the same `once`
  std::vector<put_answer> puts = {};
  std::size_t place = 0;  ///< that of the first put that was refused
  put_answer why = {};
  std::vector<std::vector<std::string>> tubes = {};  ///< one list for each database

  friend bool operator==(const put_all_answer&, const put_all_answer&) = default;
};

/// The answer to claim and claim_job: the jobs, the first in order first; none if none could be claimed.
struct claim_answer {
  /// What has ended the claim.
  enum class kind : std::uint8_t {
    done,           ///< it has all that it asked for, or all that there are
    cut_short,      ///< `claim::bytes`: more jobs are ready
    no_space,       ///< a claim_job, or one with `once`: the store has no room to write it down, nothing has changed
    other_request,  ///< claim::once has this key with another request: nothing was claimed
  };
  std::vector<claimed_job> jobs;
  kind what = kind::done;
  bool is_replayed = false;  ///< whether these are the jobs of an earlier claim with the same `once`

  friend bool operator==(const claim_answer&, const claim_answer&) = default;
};

/// The answer to finish, release, abandon, bury and touch.
struct holder_answer {
  /// What became of the request.
  enum class kind : std::uint8_t {
    done,
    not_held,  ///< the reservation has ended: nothing has changed
    no_space,  ///< the store has no room to write that down: nothing has changed
  };
  kind what = kind::done;
  /// After a touch, and else never(): when the reservation ends now, by the store's monotonic clock.
  instant expires = instant::never();

  friend bool operator==(const holder_answer&, const holder_answer&) noexcept = default;
};

/// The answer to cancel, reschedule, fire_now and kick_job: what the store found when it executed the operation. If two
/// operations race for a job, one is answered with `done`, and the other's answer agrees with that.
struct change_answer {
  /// What became of the request.
  enum class kind : std::uint8_t {
    done,           ///< it has happened
    reserved,       ///< a worker has the job: nothing has changed
    refused,        ///< the job is in a state to which this does not apply: nothing has changed
    gone,           ///< there is no such job: it has ended, or never was
    no_space,       ///< the store has no room to write that down: nothing has changed
    other_version,  ///< the job does not have the expected version: nothing has changed
  };
  kind what = kind::done;
  /// The job that was meant; 0 if it is gone.
  job_id id = 0;
  /// With `other_version`, the version of the job; else 0.
  job_version version = 0;

  friend bool operator==(const change_answer&, const change_answer&) noexcept = default;
};

/// The answer to kick and clear_tube: how many jobs it has changed.
struct bulk_answer {
  /// What has ended the request.
  enum class kind : std::uint8_t {
    done,      ///< it has changed as many jobs as it was asked for, or all that there are
    no_space,  ///< a kick: the store has no room to write it down, no job has changed
  };
  std::uint64_t changed = 0;
  kind what = kind::done;

  friend bool operator==(const bulk_answer&, const bulk_answer&) noexcept = default;
};

/// The answer to pause.
struct pause_answer {
  friend bool operator==(const pause_answer&, const pause_answer&) noexcept = default;
};

/// The answer to peek and peek_first.
struct peek_answer {
  std::optional<jobs::job> job;
  /// Where there is a job: the store's time at the look. The job's times are of the same clock.
  utc_time now{};
  /// Where there is a job: its version.
  job_version version = 0;

  friend bool operator==(const peek_answer&, const peek_answer&) = default;
};

/// The answer to count_tube and count_all.
struct count_answer {
  /// What has ended the count.
  enum class kind : std::uint8_t {
    done,       ///< it has counted all jobs
    cut_short,  ///< it has taken long, and there are at least so many: only a store that is not in this process says so
  };
  job_counts counts;
  /// Of a tube that is paused: when the pause ends, by the store's monotonic clock; else never().
  instant paused_until = instant::never();
  kind what = kind::done;

  friend bool operator==(const count_answer&, const count_answer&) noexcept = default;
};

/// The answer to list_tubes.
struct tubes_answer {
  std::vector<std::string> tubes;
  /// If they were asked for: what a count of each tube answers, in the order of the tubes.
  std::vector<count_answer> counts = {};
  /// The next page begins behind this name. Empty: this is the last page.
  std::string next = {};

  friend bool operator==(const tubes_answer&, const tubes_answer&) = default;
};

/// A job on a page of list_due.
struct due_job {
  job_id id = 0;
  std::string tube;
  job_state state = job_state::delayed;  ///< that of all of them
  utc_time due{};

  friend bool operator==(const due_job&, const due_job&) = default;
};

/// The answer to list_due. A page with fewer jobs than were asked for is the last one.
struct due_answer {
  std::vector<due_job> jobs;

  friend bool operator==(const due_answer&, const due_answer&) = default;
};

/// A job on a page of list_jobs.
struct listed_job {
  job_place place;
  jobs::job job;  ///< without its body, its fields and its history
  job_version version = 0;
  /// Of a reserved job in a store that several nodes share: the name of the node that has reserved it; else empty.
  std::string node = {};

  friend bool operator==(const listed_job&, const listed_job&) = default;
};

/// The answer to list_jobs.
struct jobs_answer {
  std::vector<listed_job> jobs;
  /// The next page begins behind this place. None: this is the last page.
  std::optional<job_place> next = std::nullopt;
  utc_time now{};  ///< the store's time at the look

  friend bool operator==(const jobs_answer&, const jobs_answer&) = default;
};

/// A node that uses the store.
struct listed_node {
  std::string name;
  utc_time since{};  ///< without a long silence from then on
  utc_time heard{};  ///< its last heartbeat; of several databases, the one that hears least of it has both times

  friend bool operator==(const listed_node&, const listed_node&) = default;
};

/// The answer to list_nodes. The times are those of the store's clock.
struct nodes_answer {
  std::vector<listed_node> nodes;
  utc_time now{};  ///< the store's time at the look

  friend bool operator==(const nodes_answer&, const nodes_answer&) = default;
};

/// The answer to an operation that did not get its locks in time, because another program holds the job, its key or its
/// tube in the database, or the job is on its way to another database. Nothing has changed, and the same operation may
/// succeed later. Only a store that is not in this process gives it.
struct passed_over_answer {
  friend bool operator==(const passed_over_answer&, const passed_over_answer&) noexcept = default;
};

/// The answer to an operation whose database cannot be reached at present, where a store has several databases and
/// others have executed the rest of the batch; or which the database has refused by itself: a list of very many tubes,
/// a pause for which there is no room, or what meets a damaged row.
struct unavailable_answer {
  /// Whether it may have been executed.
  bool is_in_doubt = false;
  /// A sentence for people.
  std::string why;

  friend bool operator==(const unavailable_answer&, const unavailable_answer&) = default;
};

/// One answer of a store: of the kind that the operation names, or one of the last two.
using answer = std::variant<put_answer, claim_answer, holder_answer, change_answer, bulk_answer, pause_answer,
                            peek_answer, count_answer, tubes_answer, due_answer, jobs_answer, nodes_answer,
                            put_all_answer, passed_over_answer, unavailable_answer>;

/// Whether an operation may change something.
enum class operation_effect : std::uint8_t { looks, changes };

/// By what an operation names the jobs that it is about: its member of this name.
enum class operation_target : std::uint8_t {
  by_tube,   ///< `tube`
  by_tubes,  ///< `tubes`
  by_puts,   ///< `puts`, each of which has a tube
  by_job,    ///< `id`, or `name`
  by_token,  ///< `token`
  by_store,  ///< none: all jobs of the store
};

/// How the answers of several databases make one, where the jobs are spread over them.
enum class operation_spread : std::uint8_t {
  taken,     ///< one database after the other: the first one that takes it has the answer
  found,     ///< one after the other: the first one that finds the job has it
  filled,    ///< one after the other until there is enough
  together,  ///< all of them
};

/// What an operation needs on a full disk. Without it the answer is `no_space`, and nothing has changed.
enum class operation_room : std::uint8_t {
  none,           ///< nothing: it is executed
  for_a_change,   ///< room in the reserve that a store keeps for changes
  for_a_new_job,  ///< room beside that reserve
};

/// What a client must be allowed to do for an operation, where a program limits that.
enum class operation_scope : std::uint8_t {
  put,         ///< put jobs
  reserve,     ///< reserve jobs, and end the reservations
  look,        ///< see jobs and tubes
  change,      ///< change and end jobs that no worker has
  administer,  ///< change what concerns all jobs of a tube
};

/// What the table says of an operation.
struct operation_facts {
  std::string_view name;
  operation_effect effect;
  operation_target target;
  operation_spread spread;
  operation_room room;
  operation_scope scope;
  /// Whether the answer may have the bodies of jobs that no bound of bytes limits.
  bool brings_body = false;
};

namespace detail {

/// A row of the table.
template <class Operation, class Answer>
struct operation_row {
  operation_facts facts;
};
template <class Operation, class Answer, class... Facts>
constexpr operation_row<Operation, Answer> row(Facts... facts) {
  return {operation_facts{facts...}};
}

template <class... Row>
class operation_table;
template <class... Operation, class... Answer>
class operation_table<operation_row<Operation, Answer>...> {
 public:
  using operation = std::variant<Operation...>;
  /// The place of an operation in the table, and in the variant.
  template <class Wanted>
  [[nodiscard]] static constexpr std::size_t place_of() noexcept {
    std::size_t place = 0;
    static_cast<void>(((std::is_same_v<Wanted, Operation> || (++place, false)) || ...));
    return place;
  }
  template <class Wanted>
  using answer_of = std::tuple_element_t<place_of<Wanted>(), std::tuple<Answer...>>;

  constexpr explicit operation_table(operation_row<Operation, Answer>... rows) : facts_{rows.facts...} {}
  [[nodiscard]] constexpr const operation_facts& at(std::size_t place) const noexcept { return facts_[place]; }

 private:
  std::array<operation_facts, sizeof...(Operation)> facts_;
};
template <class... Row>
operation_table(Row...) -> operation_table<Row...>;

namespace table {

using enum operation_effect;
using enum operation_target;
using enum operation_spread;
using enum operation_room;
using may = operation_scope;
inline constexpr bool unbounded_body = true;

/// The table of operations. An operation is its struct, its row here, and its implementation in each store. Calls,
/// limits, the broker, the routing to several databases and the server's check of rights go by the row.
inline constexpr operation_table operations(
    row<put, put_answer>("put", changes, by_tube, taken, for_a_new_job, may::put),
    row<claim, claim_answer>("claim", changes, by_tubes, filled, none, may::reserve),
    row<claim_job, claim_answer>("claim_job", changes, by_job, found, for_a_change, may::reserve, unbounded_body),
    row<finish, holder_answer>("finish", changes, by_token, found, none, may::reserve),
    row<release, holder_answer>("release", changes, by_token, found, for_a_change, may::reserve),
    row<abandon, holder_answer>("abandon", changes, by_token, found, none, may::reserve),
    row<bury, holder_answer>("bury", changes, by_token, found, for_a_change, may::reserve),
    row<touch, holder_answer>("touch", changes, by_token, found, none, may::reserve),
    row<kick, bulk_answer>("kick", changes, by_tube, filled, for_a_change, may::change),
    row<kick_job, change_answer>("kick_job", changes, by_job, found, for_a_change, may::change),
    row<cancel, change_answer>("cancel", changes, by_job, found, none, may::change),
    row<reschedule, change_answer>("reschedule", changes, by_job, found, for_a_change, may::change),
    row<fire_now, change_answer>("fire_now", changes, by_job, found, for_a_change, may::change),
    row<pause, pause_answer>("pause", changes, by_tube, together, none, may::administer),
    row<peek, peek_answer>("peek", looks, by_job, found, none, may::look, unbounded_body),
    row<peek_first, peek_answer>("peek_first", looks, by_tube, filled, none, may::look, unbounded_body),
    row<count_tube, count_answer>("count_tube", looks, by_tube, together, none, may::look),
    row<count_all, count_answer>("count_all", looks, by_store, together, none, may::look),
    row<list_tubes, tubes_answer>("list_tubes", looks, by_store, together, none, may::look),
    row<list_due, due_answer>("list_due", looks, by_store, together, none, may::look),
    row<clear_tube, bulk_answer>("clear_tube", changes, by_tube, filled, none, may::administer),
    row<list_jobs, jobs_answer>("list_jobs", looks, by_store, together, none, may::look),
    row<put_all, put_all_answer>("put_all", changes, by_puts, taken, for_a_new_job, may::put),
    row<list_nodes, nodes_answer>("list_nodes", looks, by_store, together, none, may::look));

}  // namespace table

using operation_rows = decltype(table::operations);

}  // namespace detail

/// One request to a store.
using operation = detail::operation_rows::operation;

/// The type that answers an operation: `answer_of<claim>` is claim_answer.
template <class Operation>
using answer_of = detail::operation_rows::answer_of<Operation>;

/// What the table says of an operation. Constant time.
[[nodiscard]] constexpr const operation_facts& facts_of(const operation& what) noexcept {
  return detail::table::operations.at(what.index());
}
template <class Operation>
[[nodiscard]] constexpr const operation_facts& facts_of() noexcept {
  return detail::table::operations.at(detail::operation_rows::place_of<Operation>());
}

/// The scope of an operation. Constant time.
template <class Operation>
[[nodiscard]] constexpr operation_scope scope_of() noexcept {
  return facts_of<Operation>().scope;
}

}  // namespace foliot::jobs
