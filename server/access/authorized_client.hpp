// The one place in which the rights of a client are checked: between a protocol and the broker. A protocol has no
// client of the broker but this one, so it has no operation that could be forgotten.
//
//   authorized_client client(broker, holder);
//   auto putting = client.execute(jobs::put{.tube = "mail", .body = "hello"});   // or throws access_refused
//   const jobs::put_answer put = co_await putting;
//
// An operation is allowed by its scope, which stands in the table of operations, and by its tubes:
//   - one that names tubes, or a job by tube and key, is refused if one of them is out of the rights;
//   - one that names a job by its id, or by the token of a reservation, is answered as if there were no such job if
//     that is in another tube. The tube of a job never changes, so a look before the operation is enough;
//   - one that is about the whole store has an answer about the tubes that are in, or is refused to a client that has
//     not all tubes.
//
// The tubes of the server itself (server_tubes.hpp) are out for everybody, with all rights, too: as tubes and jobs that
// do not exist, but that naming one is refused.
//
// Tubes that have a target (delivered_tubes.hpp) give no job to any client, with all rights, too: a claim that names
// one is refused; a client that watches several tubes gets the jobs of the others, and is refused if there are no
// others; a claim of one job by its id finds none. A wait that began before the tube had its target may bring a job of
// it nevertheless: give_back_delivered().
//
// What a client holds it may end, for it got the job by its rights. When the rights end, every operation is refused
// from then on; the owner of the holder closes the connection.
//
// Operators, which are the clients that may administer, see who has reserved a job. Any other client that may look at
// the job sees the holder only if the holder has the same id as itself.
//
// Changes by operators are told to the authority, which has a line of the log for each: those of a whole tube, such as
// a pause or a kick, and those of single jobs by clients that may administer. A program that cancels the jobs that it
// has put, without that scope, is no operator. Each is told before the store gets it: so no change is without its line,
// while a line may be about one that the store then refuses.
//
// Thread safety: as jobs::client, which it has. Cost: a comparison, and with limits on tubes a search in the prefixes;
// for a job that is named by its id a look at the job, in a batch before. Without limits on tubes only a change by the
// id needs that look, and only while there may be jobs of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/event_buffer.hpp>
#include <foliot/runtime/task.hpp>

#include "authority.hpp"
#include "rights.hpp"
#include "server_tubes.hpp"

namespace foliot::program {

/// The rights of a client do not allow an operation. Nothing has changed.
class access_refused : public std::runtime_error {
 public:
  enum class reason : std::uint8_t {
    ended,      ///< the rights have ended, or were revoked
    no_scope,   ///< they lack the scope of the operation
    no_tube,    ///< they lack a tube that it names, or all tubes
    delivered,  ///< not a matter of rights: the tube has a target, to which the server delivers its jobs
  };

  access_refused(reason what, const std::string& sentence) : std::runtime_error(sentence), why_(what) {}
  [[nodiscard]] reason why() const noexcept { return why_; }

 private:
  reason why_;
};

/// The tubes whose events a client wants to see: one, or all whose names begin with the prefix.
struct event_filter {
  std::optional<std::string> tube;
  std::string prefix;
};

namespace detail {

/// Whether an operation names a job in a way that does not tell its tube.
template <class Operation>
inline constexpr bool names_a_job = jobs::facts_of<Operation>().target == jobs::operation_target::by_job ||
                                    jobs::facts_of<Operation>().target == jobs::operation_target::by_token;

/// Whether an operation about the whole store has an answer about the tubes that a client may see.
template <class Operation>
inline constexpr bool is_answered_within_rights =
    std::is_same_v<Operation, jobs::list_tubes> || std::is_same_v<Operation, jobs::list_due> ||
    std::is_same_v<Operation, jobs::list_jobs>;

/// Whether an operation changes what its client has neither put nor reserved.
template <class Operation>
inline constexpr bool may_be_told = jobs::facts_of<Operation>().effect == jobs::operation_effect::changes &&
                                    (jobs::scope_of<Operation>() == jobs::operation_scope::administer ||
                                     jobs::scope_of<Operation>() == jobs::operation_scope::change);

/// Whether an operation may change a job by its id alone, without a reservation.
template <class Operation>
inline constexpr bool changes_by_id = jobs::facts_of<Operation>().target == jobs::operation_target::by_job &&
                                      jobs::facts_of<Operation>().effect == jobs::operation_effect::changes;

/// The answer to an operation about a job that does not exist.
template <class Answer>
Answer answer_of_no_job() {
  Answer none{};
  if constexpr (requires { Answer::kind::gone; }) none.what = Answer::kind::gone;
  if constexpr (requires { Answer::kind::not_held; }) none.what = Answer::kind::not_held;
  return none;
}

}  // namespace detail

class authorized_client {
 public:
  /// All must outlive it. `known`: whether there may be jobs of the server; null: there are none. Throws broker_full,
  /// broker_closed, store_failure.
  authorized_client(jobs::broker& with, const rights_holder& by, const server_jobs* known = nullptr)
      : by_(&by), server_jobs_(known), events_(with.events()), client_(with) {}
  authorized_client(const authorized_client&) = delete;
  authorized_client& operator=(const authorized_client&) = delete;

  [[nodiscard]] const rights& allowed() const noexcept { return by_->held(); }
  /// Whether the rights include this tube.
  [[nodiscard]] bool includes(std::string_view tube) const noexcept {
    return !is_of_server(tube) && allowed().has_tube(tube);
  }
  /// Whether the client may see that the one with this name has reserved a job at which it may look.
  [[nodiscard]] bool may_see_holder(std::string_view name) const noexcept {
    return allowed().may(scope::administer) || (!name.empty() && name == allowed().id());
  }
  /// Uses the rights of another holder from now on, as HTTP does for each request. The holder must outlive that use.
  /// Precondition: no operation is in flight, and no tube is watched.
  void act_by(const rights_holder& other) noexcept { by_ = &other; }

  /// Throws access_refused if the rights lack the scope, or have ended.
  void check_scope(scope wanted) const { expect_scope(wanted); }
  /// Throws access_refused if the operation is refused. execute() does the same.
  template <class Operation>
  void check(const Operation& what) const {
    using enum jobs::operation_target;
    constexpr jobs::operation_target target = jobs::facts_of<Operation>().target;
    expect_scope(jobs::scope_of<Operation>());
    if constexpr (std::is_same_v<Operation, jobs::put>) expect_holder(what);
    if constexpr (target == by_tube) {
      expect_tube(what.tube);
    } else if constexpr (target == by_tubes) {
      for (const std::string& each : what.tubes) expect_tube(each);
    } else if constexpr (target == by_puts) {
      for (const jobs::put& each : what.puts) {
        expect_tube(each.tube);
        expect_holder(each);
      }
    } else if constexpr (target == by_job && requires { what.name; }) {
      if (const auto* const key = std::get_if<jobs::job_key>(&what.name)) expect_tube(key->tube);
    } else if constexpr (target == by_store && !detail::is_answered_within_rights<Operation>) {
      expect_all_tubes();
    } else if constexpr (requires { what.tube; }) {
      if (!what.tube.empty()) expect_tube(what.tube);
    }
    if constexpr (std::is_same_v<Operation, jobs::claim>) {
      for (const std::string& each : what.tubes) expect_not_delivered(each);
    }
  }

  /// As client::execute(), for an operation that names tubes or is about the whole store. Throws access_refused
  /// besides.
  template <class Operation>
    requires(!detail::names_a_job<Operation> && !detail::is_answered_within_rights<Operation> &&
             !std::is_same_v<Operation, jobs::count_all>)
  [[nodiscard]] jobs::in_flight<Operation> execute(Operation what) {
    check(what);
    tell(what);
    return client_.execute(std::move(what));
  }
  /// The same for a further part of a change that was told with its first part.
  template <class Operation>
    requires(!detail::names_a_job<Operation> && detail::may_be_told<Operation>)
  [[nodiscard]] jobs::in_flight<Operation> execute_further(Operation what) {
    check(what);
    return client_.execute(std::move(what));
  }
  /// The same for one that names a job. It is queued when the task is awaited. Throws access_refused here.
  template <class Operation>
    requires detail::names_a_job<Operation>
  [[nodiscard]] task<jobs::answer_of<Operation>> execute(Operation what) {
    check(what);
    return execute_on_job(std::move(what));
  }
  /// Some jobs, as a look has found them.
  class known_jobs {
   public:
    /// The names of a job; null if it was not looked up, or does not exist for the client. Throws store_unavailable if
    /// the look has failed. A job that has no key has an empty one.
    [[nodiscard]] const jobs::job_key* find(jobs::job_id id) const {
      const auto found = all_.find(id);
      if (found == all_.end() || found->second.is_of_server) return nullptr;
      if (found->second.failure) throw jobs::store_unavailable(*found->second.failure);
      return &found->second.names;
    }

   private:
    friend class authorized_client;

    struct seen_job {
      jobs::job_key names;
      std::optional<jobs::store_unavailable> failure;
      bool is_of_server = false;
    };
    /// Whether it was found to be a job of the server. Throws store_unavailable if the look has failed.
    [[nodiscard]] bool is_of_server(jobs::job_id id) const {
      const auto found = all_.find(id);
      if (found == all_.end()) return false;
      if (found->second.failure) throw jobs::store_unavailable(*found->second.failure);
      return found->second.is_of_server;
    }
    std::map<jobs::job_id, seen_job> all_;
  };
  /// Looks at these jobs, many in one batch.
  [[nodiscard]] task<known_jobs> look_up(std::vector<jobs::job_id> ids);
  /// Whether execute_known() may be called; else the answer is that about a job that does not exist. Throws
  /// store_unavailable if the look at the job has failed.
  template <class Operation>
    requires detail::names_a_job<Operation>
  [[nodiscard]] bool is_within(const Operation& what, const known_jobs& known) const {
    const std::optional<jobs::job_id> id = id_in(what);
    if (!id) return true;
    return allowed().has_all_tubes() ? !known.is_of_server(*id) : known.find(*id) != nullptr;
  }
  /// As execute(), for a job that was looked up before if its tube is not known otherwise: queued at once. Throws
  /// std::logic_error if it was not.
  template <class Operation>
    requires detail::names_a_job<Operation>
  [[nodiscard]] jobs::in_flight<Operation> execute_known(Operation what, const known_jobs& known) {
    static_assert(!std::is_same_v<Operation, jobs::peek>, "a peek may show a job of the server: use execute()");
    check(what);
    const std::optional<jobs::job_id> id = allowed().has_all_tubes() ? std::nullopt : id_in(what);
    const jobs::job_key* const names = id ? known.find(*id) : nullptr;
    if (id && names == nullptr) throw std::logic_error("foliot: the tube of a job must be known before it is changed");
    tell(what, names != nullptr ? std::string_view(names->tube) : std::string_view());
    return client_.execute(std::move(what));
  }

  /// Lists the tubes that are in the rights: a page for each prefix of the rights until there are enough. A page begins
  /// behind any name, whether or not such a tube is there. Queued when the task is awaited. Throws
  /// std::invalid_argument if no page is asked for.
  [[nodiscard]] task<jobs::tubes_answer> execute(jobs::list_tubes what);
  /// Lists the jobs of such tubes: O(prefixes of the rights) pages, made one.
  [[nodiscard]] task<jobs::due_answer> execute(jobs::list_due what);
  /// Lists the jobs of one of its tubes, or of all of them. A page begins behind any place, whether or not it is that
  /// of a job. Throws access_refused here.
  [[nodiscard]] task<jobs::jobs_answer> execute(jobs::list_jobs what);
  /// Counts the jobs of all tubes but those of the server, in one batch. Throws access_refused here.
  [[nodiscard]] task<jobs::count_answer> execute(const jobs::count_all& what);

  /// The answers of the next two functions.
  template <class Operation>
  struct seen_change {
    jobs::peek_answer seen;  ///< the job before, without its body; none: it is not known
    jobs::answer_of<Operation> changed;
  };
  /// As execute(), with a look at the job before: both in one batch where that is possible. The look may fail by
  /// itself.
  template <class Operation>
    requires detail::names_a_job<Operation>
  [[nodiscard]] task<seen_change<Operation>> execute_and_look(Operation what) {
    check(what);
    return unknown_tube_of(what) ? look_before(std::move(what)) : look_beside(std::move(what));
  }
  /// The same with a look in a batch before. If that fails, nothing has changed, and store_unavailable is not in doubt.
  template <class Operation>
    requires detail::names_a_job<Operation>
  [[nodiscard]] task<seen_change<Operation>> execute_after_look(Operation what) {
    check(what);
    return look_before(std::move(what));
  }

  /// Throws access_refused if the rights lack the scope of a look, or the tube that is named.
  void check_events(const event_filter& which) const;
  /// A reader of the events of those tubes that are in the rights, from behind this place on, or from now on. The
  /// rights must outlive it. Throws access_refused, and what an event_reader throws.
  [[nodiscard]] std::unique_ptr<jobs::event_reader> read_events(event_filter which,
                                                                const std::optional<jobs::event_place>& after) const;

  /// Tells the authority of a change of many jobs that is about to begin: `what` is the end of the sentence.
  void tell_of_action(std::string_view what) const { by_->tell_change(what); }
  /// For what the server itself does for its books, and what no client sees: not checked.
  template <class Operation>
  [[nodiscard]] jobs::in_flight<Operation> execute_for_server(Operation what) {
    return client_.execute(std::move(what));
  }
  /// The same without a function around it, for operations that are made in place.
  [[nodiscard]] jobs::client& connection_for_server() noexcept { return client_; }

  // As the functions of the same names of jobs::client. Those that throw access_refused say so.

  /// The name for the reservations of the client: the id of its rights; `otherwise` where these have none.
  void set_name(std::string_view otherwise) { client_.set_name(allowed().id().empty() ? otherwise : allowed().id()); }
  /// Throws access_refused if the tube is out of the rights.
  void check_use(std::string_view tube) const { expect_tube(tube); }
  void use(std::string_view tube);
  /// The client is a user of no tube any more.
  void use_none() { client_.use(""); }
  /// Throws access_refused if the tube is out of the rights, or reserving is.
  void check_watch(std::string_view tube) const;
  std::size_t watch(std::string_view tube);
  /// Whether a change by an id may meet a job of the server.
  [[nodiscard]] bool may_meet_server_jobs() const noexcept {
    return server_jobs_ != nullptr && server_jobs_->may_exist();
  }
  /// Whether watch() is allowed.
  [[nodiscard]] bool may_watch(std::string_view tube) const noexcept {
    return allowed().may(jobs::scope_of<jobs::claim>()) && includes(tube);
  }
  std::size_t ignore(std::string_view tube);
  /// These throw access_refused, also if no tube is watched.
  [[nodiscard]] task<jobs::reserve_answer> reserve(std::optional<duration> timeout = std::nullopt);
  [[nodiscard]] task<jobs::claim_answer> reserve(jobs::claim what, std::optional<duration> timeout = std::nullopt);
  [[nodiscard]] task<> reserve_into(std::vector<jobs::claimed_job>& into,
                                    std::optional<duration> timeout = std::nullopt, bool lasting = false);
  /// Whether the tube has a target, so that no client reserves from it.
  [[nodiscard]] bool is_delivered(std::string_view tube) const noexcept {
    return server_jobs_ != nullptr && server_jobs_->delivered().has(tube);
  }
  /// Gives back those of these jobs, which the client has just got, whose tubes have got a target meanwhile. Returns
  /// whether there were any.
  [[nodiscard]] task<bool> give_back_delivered(std::vector<jobs::claimed_job>& among);

  // For jobs that the client holds. Each throws access_refused.

  [[nodiscard]] jobs::in_flight<jobs::finish> finish(jobs::job_id id) {
    expect_scope(jobs::scope_of<jobs::finish>());
    return client_.finish(id);
  }
  [[nodiscard]] jobs::in_flight<jobs::release> release(jobs::job_id id, std::optional<jobs::priority> urgency,
                                                       jobs::due_at due) {
    expect_scope(jobs::scope_of<jobs::release>());
    return client_.release(id, urgency, due);
  }
  [[nodiscard]] jobs::in_flight<jobs::bury> bury(jobs::job_id id, std::optional<jobs::priority> urgency) {
    expect_scope(jobs::scope_of<jobs::bury>());
    return client_.bury(id, urgency);
  }
  [[nodiscard]] jobs::in_flight<jobs::touch> touch(jobs::job_id id) {
    expect_scope(jobs::scope_of<jobs::touch>());
    return client_.touch(id);
  }
  [[nodiscard]] std::optional<jobs::reservation> held(jobs::job_id id) const { return client_.held(id); }
  [[nodiscard]] std::size_t reservations() const noexcept { return client_.reservations(); }
  /// As client::part_with(). Needs no scope: the client got the job by its rights.
  bool part_with(const jobs::reservation& token) noexcept { return client_.part_with(token); }

 private:
  /// Throws access_refused if reserve() is refused. Lets the tubes that have a target be, and watches those that have
  /// none any more.
  void expect_watched();
  void hold_back_delivered(const delivered_tubes& those);
  void expect_not_delivered(std::string_view tube) const;
  [[noreturn]] void refuse_delivered(std::string_view tube) const;
  void expect_scope(scope wanted) const;
  void expect_tube(std::string_view tube) const;
  /// A put by the holder of a job ends a reservation, too.
  void expect_holder(const jobs::put& what) const {
    if (what.holder) expect_scope(jobs::scope_of<jobs::finish>());
  }
  void expect_all_tubes() const;
  [[noreturn]] void refuse_scope(scope wanted) const;
  [[nodiscard]] std::string who() const;

  /// Tells the authority of a change that is about to be made, if it is one of those (above). `tube` is that of the
  /// job, where it is known.
  template <class Operation>
  void tell(const Operation& what, std::string_view tube = {}) const {
    if constexpr (detail::may_be_told<Operation>) {
      constexpr const jobs::operation_facts& facts = jobs::facts_of<Operation>();
      const bool is_of_operators = facts.scope == scope::administer || facts.target == jobs::operation_target::by_tube;
      if (!by_->is_audited() || !(is_of_operators || allowed().may(scope::administer))) return;
      if constexpr (requires { what.tube; }) {
        tell_of_tube(facts.name, what.tube);
      } else if constexpr (requires { what.name; }) {
        tell_of_job(facts.name, what.name, tube);
      } else {
        tell_of_job(facts.name, what.id, tube);
      }
    }
  }
  void tell_of_tube(std::string_view operation, std::string_view tube) const;
  void tell_of_job(std::string_view operation, const jobs::job_name& job, std::string_view tube) const;

  /// The job that an operation names by its id or token, if its tube has to be looked up: the rights are limited to
  /// some tubes, or the operation could change a job of the server.
  template <class Operation>
  [[nodiscard]] std::optional<jobs::job_id> unknown_tube_of(const Operation& what) const {
    if (allowed().has_all_tubes() && !(detail::changes_by_id<Operation> && may_meet_server_jobs())) return std::nullopt;
    return id_in(what);
  }
  /// The job that an operation names by its id or token.
  template <class Operation>
  [[nodiscard]] static std::optional<jobs::job_id> id_in(const Operation& what) {
    if constexpr (requires { what.token; }) {
      return what.token.id;
    } else if constexpr (requires { what.name; }) {
      const auto* const id = std::get_if<jobs::job_id>(&what.name);
      return id == nullptr ? std::nullopt : std::optional(*id);
    } else {
      return what.id;
    }
  }
  /// A look at a job, without its body.
  struct tube_look {
    jobs::peek_answer seen;  ///< none: there is no such job for the rights
    bool is_out = false;     ///< an operation on the job is answered as one on no job
  };
  [[nodiscard]] task<tube_look> look_within(jobs::job_name name);

  template <class Operation>
  task<jobs::answer_of<Operation>> execute_on_job(Operation what) {
    if constexpr (std::is_same_v<Operation, jobs::claim_job>) {
      // Before, and not behind it: a job that was buried would be given back as one that is ready.
      if (server_jobs_ != nullptr && server_jobs_->delivered().any()) {
        auto looking = client_.execute(jobs::peek{what.id, false});
        const jobs::peek_answer seen = co_await looking;
        if (seen.job && is_delivered(seen.job->tube)) co_return jobs::claim_answer{};
      }
    }
    if (const auto id = unknown_tube_of(what)) {
      auto looking = look_within(*id);
      const tube_look look = co_await looking;
      if (look.is_out) co_return detail::answer_of_no_job<jobs::answer_of<Operation>>();
      tell(what, look.seen.job ? std::string_view(look.seen.job->tube) : std::string_view());
    } else {
      tell(what);
    }
    auto executing = client_.execute(std::move(what));
    auto answer = co_await executing;
    if constexpr (std::is_same_v<Operation, jobs::peek>) {
      if (answer.job && !includes(answer.job->tube)) answer = {};
    }
    co_return answer;
  }

  template <class Operation>
  task<seen_change<Operation>> look_before(Operation what) {
    seen_change<Operation> done{{}, detail::answer_of_no_job<jobs::answer_of<Operation>>()};
    auto looking = look_within(what.name);
    tube_look look = co_await looking;
    done.seen = std::move(look.seen);
    if (look.is_out) co_return done;
    tell(what, done.seen.job ? std::string_view(done.seen.job->tube) : std::string_view());
    auto executing = client_.execute(std::move(what));
    done.changed = co_await executing;
    co_return done;
  }

  template <class Operation>
  task<seen_change<Operation>> look_beside(Operation what) {
    seen_change<Operation> done;
    tell(what);
    auto looking = client_.execute(jobs::peek{what.name, false});
    auto executing = client_.execute(std::move(what));
    try {
      done.seen = co_await looking;
    } catch (const jobs::store_unavailable&) {
      // The answer depends on the change alone, which may have been executed nevertheless.
    }
    done.changed = co_await executing;
    co_return done;
  }

  task<jobs::tubes_answer> list_within(jobs::list_tubes what);
  task<jobs::due_answer> due_within(jobs::list_due what);
  /// A page of the jobs that are due in the tubes of a prefix, but for those of the server.
  task<std::vector<jobs::due_job>> due_with_prefix(jobs::list_due what);
  /// The same without a look at those of the server, of which there may be a million: a look at the tubes of each
  /// first byte of a name.
  task<std::vector<jobs::due_job>> due_beside_server(jobs::list_due what);
  /// Prefixes of all tubes with this prefix but those of the server.
  task<std::vector<std::string>> prefixes_beside_server(std::string prefix);
  task<jobs::jobs_answer> jobs_within(jobs::list_jobs what);
  task<jobs::count_answer> count_within();

  const rights_holder* by_;
  const server_jobs* const server_jobs_;
  jobs::event_buffer& events_;
  jobs::client client_;
  std::size_t watched_ = 0;              // tubes, with those that are held back
  std::vector<std::string> held_back_;   // of them: they have a target
  std::uint64_t delivered_version_ = 0;  // of the targets by which that was found out; 0: it has to be
};

}  // namespace foliot::program
