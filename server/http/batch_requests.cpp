#include "requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/operations.hpp>

#include "idempotency.hpp"
#include "job_headers.hpp"
#include "job_policy.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "request_access.hpp"
#include "server/access/authorized_client.hpp"
#include "work_requests.hpp"

namespace foliot::program::http {

namespace {

constexpr std::size_t most_entries = jobs::most_put_together;
/// What an outcome takes, at the most: a problem with the name of a value.
constexpr std::size_t memory_of_outcome = 2048;

/// What an entry of a batch wants.
using wanted = std::variant<std::monostate, jobs::put, jobs::cancel, jobs::reschedule, jobs::fire_now, jobs::kick_job,
                            jobs::kick, jobs::finish, jobs::release, jobs::touch, jobs::bury>;

/// An operation on its way through the broker.
template <class Operation>
struct running {
  template <class Begin>
  explicit running(Begin begin) : answer(begin()) {}

  jobs::in_flight<Operation> answer;
};

template <class Wanted>
struct running_of;
template <class... Operation>
struct running_of<std::variant<std::monostate, Operation...>> {
  using type = std::variant<std::monostate, running<Operation>...>;
};

struct entry {
  std::string pointer;  ///< to the values of the operation, in the body
  wanted what;          ///< moved away once it is queued
  running_of<wanted>::type under_way;
  std::optional<problem> wrong;   ///< why it was not done
  bool is_other_request = false;  ///< the key of the batch was sent with another one
  bool is_replayed = false;       ///< an earlier request has done it
  std::string outcome;            ///< what has become of it, as the text of an object of JSON
};

/// What has become of an entry, with these members.
std::string outcome_text(int status, std::string_view members) {
  return fmt::format(R"({{"status":{},{}}})", status, members);
}

/// The answer to a batch: what has become of its entries, in their order.
class results {
 public:
  void add(std::string_view outcome) { text_.append(std::exchange(between_, ",")).append(outcome); }
  [[nodiscard]] std::string text() && { return std::move(text_) + "]}"; }

 private:
  std::string text_ = R"({"results":[)";
  std::string_view between_;
};

/// The problem with a value of an entry, for a body that has the entry at this place.
problem within(problem what, const std::string& pointer) {
  if (what.place == where::nothing || what.place == where::body) {
    what.name = pointer + (what.place == where::body ? what.name : "");
    what.place = where::body;
  }
  return what;
}

/// The version that the job of an entry must have; 0: any.
jobs::job_version version_of(inputs& in) {
  return in.number("version", 1, std::numeric_limits<jobs::job_version>::max()).value_or(0);
}

/// Reads a change with what the job of the entry must be.
template <class Operation>
Operation expecting(inputs& in, Operation (*read)(inputs&)) {
  const jobs::job_version version = version_of(in);
  Operation what = read(in);
  what.expected = version;
  return what;
}

jobs::put read_put_entry(const api_state& state, inputs& in, request& none) {
  const jobs::job_version version = version_of(in);
  jobs::put what = read_put(state, in, none, false, jobs::on_existing::keep);
  what.expected = version;
  if (jobs::validate(what, {state.max_job_size})) {
    in.refuse("version", "`version` needs a put with a key, and `existing` must be `replace`");
  }
  return what;
}

wanted read_kick(inputs& in) {
  if (in.has("tube")) return read_kick_of_tube(in);
  return expecting(in, read_kick_of_job);
}

struct named_reader {
  std::string_view name;
  wanted (*read)(const api_state& state, inputs& in, request& none);
};

/// The operations that an entry may have, by their names.
constexpr named_reader readers[] = {
    {"put",
     [](const api_state& state, inputs& in, request& none) -> wanted { return read_put_entry(state, in, none); }},
    {"cancel", [](const api_state&, inputs& in, request&) -> wanted { return expecting(in, read_cancel); }},
    {"reschedule", [](const api_state&, inputs& in, request&) -> wanted { return expecting(in, read_reschedule); }},
    {"fire", [](const api_state&, inputs& in, request&) -> wanted { return expecting(in, read_fire); }},
    {"kick", [](const api_state&, inputs& in, request&) -> wanted { return read_kick(in); }},
    {"finish", [](const api_state&, inputs& in, request&) -> wanted { return read_finish(in); }},
    {"release", [](const api_state&, inputs& in, request&) -> wanted { return read_release(in); }},
    {"touch", [](const api_state&, inputs& in, request&) -> wanted { return read_touch(in); }},
    {"bury", [](const api_state&, inputs& in, request&) -> wanted { return read_bury(in); }},
};

/// What has become of a put that was not refused.
std::string shown_put(const put_outcome& outcome, jobs::job_id id, bool is_replayed) {
  std::string members = outcome_members(id, outcome.word);
  if (is_replayed) members += R"(,"replayed":true)";
  return outcome_text(outcome.status, members);
}

/// What the entries have of their request: its fields are about no job, but for the context of its trace.
request head_of_entries(const request& head) {
  request made;
  for (const auto& [name, value] : trace_context_of(head)) made.fields.push_back({name, value});
  return made;
}

/// Reads an entry: an object with the name of an operation, or the values of a put by themselves.
void read_entry(const api_state& state, const json& given, request& none, entry& into) {
  if (!given.is_object()) throw wrong_input(problem{400, "an entry must be an object of JSON", where::body, ""});
  const named_reader* reader = &readers[0];
  const json* values = &given;
  if (given.size() == 1) {
    const json& only = *given.begin();
    const auto* const named = std::ranges::find(readers, only.name(), &named_reader::name);
    if (named != std::end(readers)) {
      reader = named;
      values = &only;
      into.pointer.append("/").append(only.name());
      if (!values->is_object()) throw wrong_input(problem{400, "it must be an object of JSON", where::body, ""});
    }
  }
  const std::vector<parameter> no_query;
  inputs in({}, no_query, *values, none);
  into.what = reader->read(state, in, none);
}

// ---------------------------------------------------------------- one after the other

/// The names by which entries name jobs.
struct names {
  std::optional<jobs::job_id> id;
  std::optional<jobs::job_key> key;
};

names names_of(const wanted& what) {
  return std::visit(
      []<class Operation>(const Operation& it) -> names {
        if constexpr (requires { it.name; }) {
          if (const auto* const key = std::get_if<jobs::job_key>(&it.name)) return {{}, *key};
          return {std::get<jobs::job_id>(it.name), {}};
        } else if constexpr (requires { it.token; }) {
          return {it.token.id, {}};
        } else if constexpr (requires { it.id; }) {
          return {it.id, {}};
        } else if constexpr (requires { it.key; }) {
          if (!it.key.empty()) return {{}, jobs::job_key{it.tube, it.key}};
        }
        return {};
      },
      what);
}

/// Whether it could change a job of the server, if it did not look at the job before.
bool is_change_by_id(const wanted& what) {
  return std::visit(
      []<class Operation>(const Operation&) {
        if constexpr (std::is_same_v<Operation, std::monostate>) {
          return false;
        } else {
          return detail::changes_by_id<Operation>;
        }
      },
      what);
}

/// Executes the entries of a batch in their order.
///
/// Entries that are queued together are executed in their order where they name a job in the same way, over every
/// store. Where several nodes share the store, it may have several databases, which look for a job by its id elsewhere
/// than by its key. So if both ways come up, the jobs with ids are looked up first, and an entry that may be about the
/// job of another one waits for that.
///
/// In a batch with an Idempotency-Key the first entry is executed by itself: if it had the key with another batch, no
/// other entry is executed.
class runner {
 public:
  runner(call& by, std::deque<entry>& entries, bool has_key) : by_(by), entries_(entries), is_first_alone_(has_key) {}

  /// Returns false if the key was sent with another batch.
  task<bool> run() {
    auto looking = look_up();
    co_await looking;
    for (entry& each : entries_) {
      if (each.wrong) continue;
      if (must_wait_before(each)) co_await end_before(each);
      begin(each);
      if (each.wrong || !std::exchange(is_first_alone_, false)) continue;
      co_await end(each);
      if (each.is_other_request) co_return false;
    }
    if (!entries_.empty()) {
      co_await end_before(entries_.back());
      co_await end(entries_.back());
    }
    co_return true;
  }

 private:
  /// Looks up the jobs of which more must be known than their ids.
  task<> look_up() {
    std::set<jobs::job_id> ids;
    std::set<jobs::job_id> changed;
    bool has_keys = false;
    for (const entry& each : entries_) {
      if (each.wrong) continue;
      const names its = names_of(each.what);
      if (its.id) ids.insert(*its.id);
      if (its.id && is_change_by_id(each.what)) changed.insert(*its.id);
      has_keys = has_keys || its.key;
    }
    orders_ = has_keys && !ids.empty() && by_.state.has_other_nodes();
    if (!orders_ && by_.client.allowed().has_all_tubes()) {
      if (!by_.client.may_meet_server_jobs()) co_return;
      ids = std::move(changed);
    }
    if (ids.empty()) co_return;
    auto looking = by_.client.look_up({ids.begin(), ids.end()});
    known_ = co_await looking;
  }

  /// Whether the entry may be about the job of one that was queued before, and names it in another way.
  bool must_wait_before(const entry& next) {
    if (!orders_) return false;
    const names its = names_of(next.what);
    if (its.key) {
      const bool waits = keys_of_ids_.contains(*its.key);
      if (waits) forget_queued();
      keys_.insert(*its.key);
      return waits;
    }
    if (!its.id) return false;
    const jobs::job_key* known = nullptr;
    try {
      known = known_.find(*its.id);
    } catch (const jobs::store_unavailable&) {
      return false;  // it is not executed
    }
    if (known == nullptr || known->key.empty()) return false;
    const bool waits = keys_.contains(*known);
    if (waits) forget_queued();
    keys_of_ids_.insert(*known);
    return waits;
  }
  void forget_queued() {
    keys_.clear();
    keys_of_ids_.clear();
  }

  /// Queues the operation of an entry.
  void begin(entry& it) {
    try {
      std::visit([&](auto& what) { begin(it, what); }, it.what);
    } catch (const access_refused& why) {  // entries before it may be done: the answer has to tell of them
      it.under_way.emplace<std::monostate>();
      it.wrong = within(problem_of(why), it.pointer);
    } catch (...) {
      it.under_way.emplace<std::monostate>();  // it may have no value
      it.wrong = within(problem_of_exception(), it.pointer);
    }
  }
  static void begin(entry& /*it*/, std::monostate& /*what*/) {}
  template <class Operation>
  void begin(entry& it, Operation& what) {
    if constexpr (std::is_same_v<Operation, jobs::release> || std::is_same_v<Operation, jobs::bury>) {
      note_worker(by_, what.history);
    }
    if constexpr (detail::names_a_job<Operation>) {
      // Throws if the look has failed: without it the order in which to execute the entry is not known.
      if (orders_) {
        if (const std::optional<jobs::job_id> id = names_of(it.what).id) static_cast<void>(known_.find(*id));
      }
      if (!by_.client.is_within(what, known_)) {
        show(it, what, detail::answer_of_no_job<jobs::answer_of<Operation>>());
        return;
      }
      it.under_way.template emplace<running<Operation>>(
          [&] { return by_.client.execute_known(std::move(what), known_); });
    } else {
      it.under_way.template emplace<running<Operation>>([&] { return by_.client.execute(std::move(what)); });
    }
  }

  /// Waits for the entries before this one.
  task<> end_before(const entry& next) {
    for (; &entries_[ended_] != &next; ++ended_) co_await end(entries_[ended_]);
  }
  /// Waits for an entry, if it is under way.
  task<> end(entry& it) {
    try {
      auto ending = std::visit([&](auto& one) { return end(it, one); }, it.under_way);
      co_await ending;
    } catch (...) {
      it.wrong = within(problem_of_exception(), it.pointer);
    }
    it.under_way.emplace<std::monostate>();
  }
  static task<> end(entry& /*it*/, std::monostate& /*none*/) { co_return; }
  template <class Operation>
  static task<> end(entry& it, running<Operation>& one) {
    jobs::in_flight<Operation>& answer = one.answer;
    const jobs::answer_of<Operation> done = co_await answer;
    show(it, Operation(), done);
  }

  // What has become of an entry.

  static void show(entry& it, const jobs::put& /*what*/, const jobs::put_answer& done) {
    it.is_other_request = done.what == jobs::put_answer::kind::other_request;
    const put_outcome outcome = outcome_of(done, false);
    if (outcome.is_refused()) {
      it.wrong = problem_of(outcome);
      note_version(it, done.version);
      return;
    }
    it.is_replayed = done.is_replayed;
    it.outcome = shown_put(outcome, done.id, done.is_replayed);
  }
  template <class Operation>
  static void show(entry& it, const Operation& /*what*/, const jobs::change_answer& done) {
    if (it.wrong = problem_of(done); it.wrong) return note_version(it, done.version);
    it.outcome = outcome_text(200, outcome_members(done.id, word_when_done<Operation>));
  }
  template <class Operation>
  static void show(entry& it, const Operation& /*what*/, const jobs::holder_answer& done) {
    if (it.wrong = problem_of(done); it.wrong) return;
    it.outcome = outcome_text(200, outcome_members(done, word_when_done<Operation>));
  }
  static void show(entry& it, const jobs::kick& /*what*/, const jobs::bulk_answer& done) {
    if (it.wrong = problem_of(done); it.wrong) return;
    it.outcome = outcome_text(200, fmt::format(R"("kicked":{})", done.changed));
  }
  /// The version that was expected is a value of the entry, and the problem has the one that the job has.
  static void note_version(entry& it, jobs::job_version present) {
    if (it.wrong->outcome != problem_outcome::other_version) return;
    it.wrong->detail = "the job does not have the version that the entry expects";
    it.wrong->place = where::body;
    it.wrong->name = it.pointer + "/version";
    it.wrong->version = present;
  }

  call& by_;
  std::deque<entry>& entries_;
  authorized_client::known_jobs known_;
  bool is_first_alone_;
  bool orders_ = false;
  std::set<jobs::job_key> keys_;         // by which queued entries name jobs
  std::set<jobs::job_key> keys_of_ids_;  // of the jobs that queued entries name by their ids
  std::size_t ended_ = 0;
};

/// Reads the entries, and checks the rights to each of them. Throws access_refused if they have ended, or if no entry
/// is of their scopes.
void read_entries(call& by, const json& given, std::deque<entry>& into) {
  request head = head_of_entries(by.what);
  std::exception_ptr out_of_scope;
  bool is_any_in_scope = false;
  std::uint64_t kicked = 0;  // at most
  for (const json& each : given) {
    entry& it = into.emplace_back();
    it.pointer = fmt::format("/jobs/{}", into.size() - 1);
    try {
      read_entry(by.state, each, head, it);
      std::visit(
          [&]<class Operation>(const Operation& what) {
            if constexpr (!std::is_same_v<Operation, std::monostate>) by.client.check(what);
          },
          it.what);
      is_any_in_scope = true;
      const auto* const kick = std::get_if<jobs::kick>(&it.what);
      if (kick != nullptr && kicked + kick->count > most_changed) {
        it.what = std::monostate();
        throw wrong_input(problem{400,
                                  fmt::format("the kicks of a batch are for at most {} jobs together", most_changed),
                                  where::body, "/kick/count"});
      }
      if (kick != nullptr) kicked += kick->count;
    } catch (const access_refused& error) {
      if (error.why() == access_refused::reason::ended) throw;
      if (error.why() == access_refused::reason::no_scope) {
        out_of_scope = std::current_exception();
      } else {
        is_any_in_scope = true;
      }
      it.wrong = within(problem_of(error), it.pointer);
    } catch (...) {
      is_any_in_scope = true;
      it.wrong = within(problem_of_exception(), it.pointer);
    }
  }
  if (!is_any_in_scope) std::rethrow_exception(out_of_scope);
}

/// The key of a batch, if its request has one.
std::optional<idempotency_key> key_of_batch(const call& by) {
  return idempotency_key::of(by.what, by.client.allowed(), {"batch"});
}

/// Makes each put happen once, by the key of the batch and the place of its entry. Throws wrong_input for an entry that
/// is no put: it cannot.
void entries_happen_once(const idempotency_key& key, const json& given, std::deque<entry>& entries) {
  const jobs::sha256 request = request_digest_of_batch(given, false);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entry& it = entries[i];
    if (auto* const what = std::get_if<jobs::put>(&it.what)) {
      what->once = jobs::once(key.at(i), request, idempotency_lifetime);
    } else if (!std::holds_alternative<std::monostate>(it.what)) {
      throw wrong_input(problem{400,
                                "a batch with an Idempotency-Key has only puts: another operation does not happen once "
                                "by a key, send it in a batch without one",
                                where::body, it.pointer});
    }
  }
}

/// Whether all that was done was done by an earlier request.
bool is_replay(const std::deque<entry>& entries) {
  const auto is_done = [](const entry& each) { return !each.wrong; };
  const auto is_new = [](const entry& each) { return !each.wrong && !each.is_replayed; };
  return std::ranges::any_of(entries, is_done) && std::ranges::none_of(entries, is_new);
}

task<response> execute_each(call& by, const json& given) {
  std::deque<entry> entries;
  read_entries(by, given, entries);
  const std::optional<idempotency_key> key = key_of_batch(by);
  keyed_places::place under_way;
  if (key) {
    entries_happen_once(*key, given, entries);
    under_way = enter(by.state.keys_under_way, *key);
  }
  runner all(by, entries, key.has_value());
  auto running_all = all.run();
  const bool is_this_batch = co_await running_all;
  if (!is_this_batch) co_return respond(problem_of_other_request());
  results shown;
  for (entry& each : entries) {
    if (each.wrong && key) advise_to_repeat(*each.wrong);
    shown.add(each.wrong ? json_text(value_of(*each.wrong)) : each.outcome);
  }
  const bool all_done = std::ranges::none_of(entries, [](const entry& each) { return each.wrong.has_value(); });
  response made = respond_text(all_done ? 200 : 207, std::move(shown).text());
  if (is_replay(entries)) mark_replayed(made);
  co_return made;
}

// ---------------------------------------------------------------- all or none

/// The puts of a batch of which none may be wrong. Throws wrong_input for the first one that is.
jobs::put_all read_all(call& by, const json& given) {
  request head = head_of_entries(by.what);
  jobs::put_all all;
  std::set<std::pair<std::string_view, std::string_view>> keys;
  all.puts.reserve(given.size());  // the keys refer to them
  for (const json& each : given) {
    entry it;
    it.pointer = fmt::format("/jobs/{}", all.puts.size());
    try {
      read_entry(by.state, each, head, it);
      if (!std::holds_alternative<jobs::put>(it.what)) {
        throw wrong_input(problem{400, "a batch that takes all or none has only puts", where::body, ""});
      }
      const jobs::put& what = all.puts.emplace_back(std::get<jobs::put>(std::move(it.what)));
      by.client.check(what);
      if (!what.key.empty() && !keys.emplace(what.tube, what.key).second) {
        throw wrong_input(problem{400, "another job of the batch has this key in the same tube", where::body, "/key"});
      }
    } catch (const access_refused& error) {
      if (error.why() != access_refused::reason::no_tube) throw;
      throw wrong_input(within(problem_of(error), it.pointer));
    } catch (...) {
      throw wrong_input(within(problem_of_exception(), it.pointer));
    }
  }
  return all;
}

response respond_to(const jobs::put_all_answer& done, const json& given) {
  if (done.what == jobs::put_all_answer::kind::other_request) return respond(problem_of_other_request());
  if (done.what == jobs::put_all_answer::kind::several_databases) {
    ordered_json shown =
        value_of(problem{422, "the tubes are in several databases, as `databases` has them: nothing was put",
                         where::body, "/atomic", problem_outcome::several_databases});
    shown["databases"] = done.tubes;
    response made{422, "application/problem+json"};
    made.body = json_text(shown) + "\n";
    return made;
  }
  if (done.what == jobs::put_all_answer::kind::refused) {
    problem wrong = problem_of(outcome_of(done.why, false));
    wrong.detail = fmt::format("job {} of the batch is refused, and with it all: {}", done.place, wrong.detail);
    wrong.place = where::body;
    wrong.name = fmt::format(
        "/jobs/{}{}", done.place,
        std::ranges::next(given.begin(), static_cast<std::ptrdiff_t>(done.place))->find("put") != nullptr ? "/put"
                                                                                                          : "");
    wrong.version = done.why.version;
    return respond(wrong);
  }
  results shown;
  for (const jobs::put_answer& each : done.puts) {
    shown.add(shown_put(outcome_of(each, false), each.id, done.is_replayed));
  }
  response made = respond_text(200, std::move(shown).text());
  if (done.is_replayed) mark_replayed(made);
  return made;
}

task<response> put_all_or_none(call& by, const json& given) {
  jobs::put_all what = read_all(by, given);
  keyed_places::place under_way;
  if (const std::optional<idempotency_key> key = key_of_batch(by)) {
    // The key of the first entry: so the same key is known in a batch without `atomic`, and the other way round.
    what.once = jobs::once(key->at(0), request_digest_of_batch(given, true), idempotency_lifetime);
    under_way = enter(by.state.keys_under_way, *key);
  }
  auto putting = by.client.execute(std::move(what));
  const jobs::put_all_answer done = co_await putting;
  co_return respond_to(done, given);
}

}  // namespace

task<response> execute_batch(call& by) {
  inputs& in = by.in;
  const json* const given = in.member("jobs");
  if (given == nullptr || !given->is_array() || given->empty() || given->size() > most_entries) {
    in.refuse("jobs", fmt::format("`jobs` must be an array of 1 to {} entries", most_entries));
  }
  const bool is_atomic = in.flag("atomic").value_or(false);
  in.expect_no_others();
  const std::size_t texts = by.what.find(idempotency_field) ? 2 : 1;  // one more is made for the digest
  const bool has_room = co_await by.side.take_room(texts * by.what.body.size() + given->size() * memory_of_outcome);
  if (!has_room) co_return respond_without_memory();
  auto executing = is_atomic ? put_all_or_none(by, *given) : execute_each(by, *given);
  response made = co_await executing;
  co_return made;
}

}  // namespace foliot::program::http
