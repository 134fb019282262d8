#include "work_requests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "idempotency.hpp"
#include "job_policy.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/tube_name.hpp"
#include "times.hpp"

namespace foliot::program::http {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_tubes = 1000;
constexpr std::uint64_t most_jobs = 1000;
/// How long a reserve waits unless it says so, and at the most.
constexpr jobs::milliseconds usual_wait = 30s;
constexpr jobs::milliseconds longest_wait = 1h;
/// The bytes of the bodies that one reserve brings; the first job comes in any case.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
/// When a repeat looks again whether the answer before it has left, one after the other.
constexpr std::array<jobs::milliseconds, 4> until_it_has_left{1ms, 5ms, 15ms, 30ms};

jobs::utc_time now_utc() { return std::chrono::floor<jobs::milliseconds>(runtime::wall_now()); }

struct wanted_jobs {
  std::vector<std::string> tubes;
  std::uint32_t count = 1;
  jobs::milliseconds wait = usual_wait;
};

std::vector<std::string> tubes_of(inputs& in) {
  const json* const given = in.member("tubes");
  if (given == nullptr) return {tube_of(in)};
  if (in.text("tube")) in.refuse("tube", "`tube` and `tubes` exclude each other");
  if (!given->is_array() || given->empty() || given->size() > most_tubes) {
    in.refuse("tubes", fmt::format("`tubes` must be an array of 1 to {} names", most_tubes));
  }
  std::vector<std::string> tubes;
  for (const json& each : *given) {
    std::string name(each.is_text() ? each.text() : "");
    if (!is_tube_name(name)) {
      throw wrong_input(problem{400, fmt::format("the name of a tube must have {}", rule_of_tube_names), where::body,
                                fmt::format("/tubes/{}", tubes.size())});
    }
    tubes.push_back(std::move(name));
  }
  return tubes;
}

wanted_jobs read_wanted(inputs& in) {
  wanted_jobs read;
  read.tubes = tubes_of(in);
  read.count = static_cast<std::uint32_t>(in.number("count", 1, most_jobs).value_or(1));
  read.wait = in.length("timeout").value_or(usual_wait);
  in.expect_no_others();
  if (read.wait > longest_wait) in.refuse("timeout", "`timeout` is at most 1h");
  return read;
}

/// A claim for the client of a request. What it reserves is held by tokens, so it lasts longer than this node.
jobs::claim claim_of(std::vector<std::string> tubes, std::uint32_t count, std::uint64_t bytes) {
  return {.tubes = std::move(tubes), .count = count, .bytes = bytes, .lasting = true};
}

/// Jobs that are ready now, as many as are wanted besides those that are there. If one of those comes again, its
/// reservation was over meanwhile: the new one takes its place.
task<> claim_ready(authorized_client& by, const wanted_jobs& wanted, std::vector<jobs::claimed_job>& into) {
  std::uint64_t bytes = 0;
  for (const jobs::claimed_job& each : into) bytes += jobs::content_bytes(each.job);
  if (into.size() >= wanted.count || bytes >= most_bytes) co_return;
  const auto count = static_cast<std::uint32_t>(wanted.count - into.size());
  auto claiming = by.execute(claim_of(wanted.tubes, count, most_bytes - bytes));
  jobs::claim_answer got = co_await claiming;
  std::erase_if(into, [&got](const jobs::claimed_job& held) {
    const auto is_same = [&held](const jobs::claimed_job& each) { return each.token.id == held.token.id; };
    return std::ranges::any_of(got.jobs, is_same);
  });
  std::ranges::move(got.jobs, std::back_inserter(into));
}

/// The same behind a wait that has brought a job. A store or broker that is too busy for more is no error, nor is a
/// tube that has got a target meanwhile: the client must get the token of the job that it holds.
task<> claim_more(authorized_client& by, const wanted_jobs& wanted, std::vector<jobs::claimed_job>& into) {
  try {
    auto claiming = claim_ready(by, wanted, into);
    co_await claiming;
  } catch (const jobs::store_unavailable&) {
  } catch (const jobs::broker_full&) {
  } catch (const access_refused& why) {
    if (why.why() != access_refused::reason::delivered) throw;
  }
}

/// Watches tubes while a reserve waits.
class watching {
 public:
  /// Watches none of them if it throws: the constructor to which it delegates has ended, so the destructor runs.
  watching(authorized_client& by, const std::vector<std::string>& tubes) : watching(by, tubes, none_yet()) {
    for (const std::string& each : tubes_) by_.watch(each);
  }
  watching(const watching&) = delete;
  watching& operator=(const watching&) = delete;
  ~watching() {
    for (const std::string& each : tubes_) by_.ignore(each);
  }

 private:
  struct none_yet {};

  watching(authorized_client& by, const std::vector<std::string>& tubes, none_yet /*unused*/) noexcept
      : by_(by), tubes_(tubes) {}

  authorized_client& by_;
  const std::vector<std::string>& tubes_;
};

/// Waits for the first job.
task<> wait_for_job(authorized_client& by, const wanted_jobs& wanted, std::vector<jobs::claimed_job>& into) {
  const watching while_it_waits(by, wanted.tubes);
  const instant until = runtime::now() + duration(wanted.wait);
  for (;;) {
    auto reserving = by.reserve_into(into, std::max(until - runtime::now(), duration::zero()), true);
    co_await reserving;
    if (into.empty() || !by.is_delivered(into.front().job.tube)) co_return;
    // The wait has begun before the tube had its target.
    auto giving = by.give_back_delivered(into);
    static_cast<void>(co_await giving);
  }
}

/// The client holds nothing of a replay: another one may have the reservations already, so they are not given back when
/// this one goes away.
void part_with_replayed(authorized_client& by, const jobs::claim_answer& got) noexcept {
  if (!got.is_replayed) return;
  for (const jobs::claimed_job& each : got.jobs) by.part_with(each.token);
}

/// Waits until the claim, which happens once, has brought jobs.
task<> wait_for_claim(authorized_client& by, const wanted_jobs& wanted, jobs::claim what, jobs::claim_answer& into) {
  const watching while_it_waits(by, wanted.tubes);
  const instant until = runtime::now() + duration(wanted.wait);
  for (;;) {
    auto reserving = by.reserve(what, std::max(until - runtime::now(), duration::zero()));
    into = co_await reserving;
    if (into.jobs.empty() || into.is_replayed) break;
    // The wait may have begun before a tube had its target. A claim that happens once has happened: it has no other
    // jobs.
    auto giving = by.give_back_delivered(into.jobs);
    static_cast<void>(co_await giving);
    if (!into.jobs.empty()) break;
  }
  part_with_replayed(by, into);  // here: the wait may end with an exception, as where the rights have ended
}

response respond_with(const call& by, const std::vector<jobs::claimed_job>& got) {
  const jobs::utc_time now = now_utc();
  ordered_json all = ordered_json::object();
  all["jobs"] = ordered_json::array();
  for (const jobs::claimed_job& each : got) {
    ordered_json one = ordered_json::object();
    one["reservation"] = text_of(each.token);
    one.update(shown(each.job, now, true));
    hide_what_is_others(one, by);
    all["jobs"].push_back(std::move(one));
  }
  response made = respond_json(200, all);
  made.wants_word = !got.empty();
  return made;
}

response respond_without_room() {
  response busy = respond_without_memory();
  busy.closes = true;  // which gives the jobs back
  return busy;
}

std::size_t memory_of(const std::vector<jobs::claimed_job>& got) noexcept {
  std::size_t bytes = 0;
  for (const jobs::claimed_job& each : got) bytes += memory_of_shown(jobs::content_bytes(each.job));
  return bytes;
}

/// The answer with these jobs, which the client of the call holds until it has been sent.
task<response> hand_over(call& by, const std::vector<jobs::claimed_job>& got) {
  bool has_room = got.empty();
  if (!has_room) has_room = co_await by.side.take_room(memory_of(got));
  if (!has_room) co_return respond_without_room();
  for (const jobs::claimed_job& each : got) by.reserved.push_back(each.token);
  co_return respond_with(by, got);
}

/// Reserves without a key. It is a task of its own, whose frame is small while it waits.
task<response> reserve_now(call& by, wanted_jobs wanted) {
  std::vector<jobs::claimed_job> got;
  co_await claim_ready(by.client, wanted, got);
  if (got.empty() && wanted.wait > 0ms) {
    auto waiting = by.side.wait_for(wait_for_job(by.client, wanted, got));
    const bool is_there = co_await waiting;
    if (is_there && !got.empty()) co_await claim_more(by.client, wanted, got);
  }
  bool has_room = got.empty();
  if (!has_room) has_room = co_await by.side.take_room(memory_of(got));
  if (!has_room) co_return respond_without_room();
  for (const jobs::claimed_job& each : got) by.reserved.push_back(each.token);
  co_return respond_with(by, got);
}

/// What a reserve with this key asks for. How long it waits is no part of it: a repeat may wait as long as is left.
jobs::sha256 request_digest_of_reserve(const wanted_jobs& wanted) {
  digest_of_parts parts;
  parts.add("reserve").add(std::uint64_t{wanted.count});
  for (const std::string& each : wanted.tubes) parts.add(each);
  return parts.get();
}

/// The problem of a reserve with a key that has brought no reservation, and will bring none.
std::optional<problem> problem_of_once(const jobs::claim_answer& done) {
  using kind = jobs::claim_answer::kind;
  if (done.what == kind::other_request) return problem_of_other_request();
  if (done.what == kind::no_space) {
    return problem{507, "the store has no room to remember the request: nothing was reserved", where::nothing, "",
                   problem_outcome::no_space};
  }
  if (!done.is_replayed || !done.jobs.empty()) return std::nullopt;
  return problem{409,
                 "all that was reserved with this Idempotency-Key has ended: finished, released, given back because "
                 "its client had gone, or its time was over. Use a new key",
                 where::header, std::string(idempotency_field), problem_outcome::reservations_ended};
}

/// Waits until the answer to an earlier request with this key has left, for a moment: a client that has read it may
/// send the repeat before its server notes that it has left. The moment is a part of the time for which the reserve
/// waits.
task<> wait_for_answer_to_leave(call& by, const idempotency_key& key, jobs::milliseconds& wait) {
  for (const jobs::milliseconds each : until_it_has_left) {
    if (wait < each) co_return;
    wait -= each;
    co_await runtime::sleep(duration(each));
    by.key_place = enter_if_free(by.state.keys_under_way, key);
    if (by.key_place) co_return;
  }
}

/// The refusal because one of the tubes has a target, if that is all that is wrong. Other refusals are thrown.
std::optional<access_refused> refusal_by_target(const authorized_client& by, const jobs::claim& what) {
  try {
    by.check(what);
  } catch (const access_refused& why) {
    if (why.why() != access_refused::reason::delivered) throw;
    return why;
  }
  return std::nullopt;
}

/// What the claim has brought before, if it has: the same one from a tube in which no job is ever ready. Where a store
/// has several databases, it knows those of the one that has this tube.
task<jobs::claim_answer> look_at_replay(call& by, jobs::claim what) {
  what.tubes = {std::string(tube_of_targets)};
  auto claiming = by.client.execute_for_server(std::move(what));
  jobs::claim_answer got = co_await claiming;
  co_return got;
}

/// Reserves by the key of the request.
task<response> reserve_once(call& by, wanted_jobs wanted, idempotency_key key) {
  jobs::claim what = claim_of(wanted.tubes, wanted.count, most_bytes);
  // What is out of scope is answered as if nothing had ever been reserved. But a tube may have got its target since.
  const std::optional<access_refused> has_target = refusal_by_target(by.client, what);
  // A repeat before the answer has left would get reservations that end if this client turns out to have gone.
  by.key_place = enter_if_free(by.state.keys_under_way, key);
  if (!by.key_place) {
    auto waiting = by.side.wait_for(wait_for_answer_to_leave(by, key, wanted.wait));
    static_cast<void>(co_await waiting);
    if (!by.key_place) by.key_place = enter(by.state.keys_under_way, key);
  }
  what.once = jobs::once(key.digest(), request_digest_of_reserve(wanted), lifetime_of_reserve);
  jobs::claim_answer got;
  if (has_target) {
    auto looking = look_at_replay(by, what);
    got = co_await looking;
    if (!got.is_replayed && got.what != jobs::claim_answer::kind::other_request) throw *has_target;
  } else {
    auto claiming = by.client.execute(what);
    got = co_await claiming;
  }
  part_with_replayed(by.client, got);
  // It is cut short without a job if other claims of the batch have brought enough bytes.
  using kind = jobs::claim_answer::kind;
  const bool is_refused = got.what == kind::other_request || got.what == kind::no_space;
  const bool is_none = got.jobs.empty() && !got.is_replayed && !is_refused;
  if (is_none && wanted.wait > 0ms) {
    auto waiting = by.side.wait_for(wait_for_claim(by.client, wanted, std::move(what), got));
    static_cast<void>(co_await waiting);
  }
  if (const std::optional<problem> wrong = problem_of_once(got)) co_return respond(*wrong);
  auto handing = hand_over(by, got.jobs);
  response made = co_await handing;
  if (got.is_replayed && made.status == 200) mark_replayed(made);
  co_return made;
}

jobs::reservation reservation_of(inputs& in) {
  const std::string text = in.required_text("reservation");
  const std::optional<jobs::reservation> token = parse_reservation(text);
  if (!token) in.refuse("reservation", "`reservation` must be a token that a reserve has given");
  return *token;
}

std::optional<jobs::priority> priority_of(inputs& in) {
  const std::optional<std::uint64_t> it = in.number("priority", 0, std::numeric_limits<jobs::priority>::max());
  if (!it) return std::nullopt;
  return static_cast<jobs::priority>(*it);
}

/// Executes what the holder of a reservation asks for.
template <class Operation>
task<response> execute_for_holder(call& by, Operation what) {
  if constexpr (requires { what.history; }) note_worker(by, what.history);
  auto executing = by.client.execute(std::move(what));
  const jobs::holder_answer done = co_await executing;
  if (const std::optional<problem> wrong = problem_of(done)) co_return respond(*wrong);
  co_return respond_text(200, "{" + outcome_members(done, word_when_done<Operation>) + "}");
}

}  // namespace

std::optional<problem> problem_of(const jobs::holder_answer& done) {
  using kind = jobs::holder_answer::kind;
  if (done.what == kind::not_held) {
    return problem{409,
                   "the reservation has ended: its time was over, it was ended before, or its store was opened again",
                   where::nothing, "", problem_outcome::not_held};
  }
  if (done.what == kind::no_space) {
    return problem{507, "the store has no room to write that down: nothing has changed", where::nothing, "",
                   problem_outcome::no_space};
  }
  return std::nullopt;
}

std::optional<problem> problem_of(const jobs::bulk_answer& done) {
  if (done.what == jobs::bulk_answer::kind::done) return std::nullopt;
  return problem{507, "the store has no room to write that down: no job has changed", where::nothing, "",
                 problem_outcome::no_space};
}

std::string outcome_members(const jobs::holder_answer& done, std::string_view outcome) {
  std::string all = fmt::format(R"("outcome":"{}")", outcome);
  if (done.expires != instant::never()) {
    const duration left = done.expires - runtime::now();
    const jobs::utc_time until = now_utc() + std::chrono::floor<jobs::milliseconds>(left.to_chrono());
    fmt::format_to(std::back_inserter(all), R"(,"reserved_until":"{}")", time_text(until));
  }
  return all;
}

jobs::finish read_finish(inputs& in) {
  const jobs::finish what{reservation_of(in)};
  in.expect_no_others();
  return what;
}

jobs::release read_release(inputs& in) {
  jobs::release what;
  what.token = reservation_of(in);
  what.priority = priority_of(in);
  what.due = due_of(in).value_or(jobs::milliseconds(0));
  what.history = read_reason(in);
  in.expect_no_others();
  return what;
}

jobs::touch read_touch(inputs& in) {
  const jobs::touch what{reservation_of(in)};
  in.expect_no_others();
  return what;
}

jobs::bury read_bury(inputs& in) {
  jobs::bury what;
  what.token = reservation_of(in);
  what.priority = priority_of(in);
  what.history = read_reason(in);
  in.expect_no_others();
  return what;
}

jobs::kick read_kick_of_tube(inputs& in) {
  jobs::kick what;
  what.tube = tube_of(in);
  what.count = in.number("count", 1, most_changed).value_or(1);
  in.expect_no_others();
  return what;
}

jobs::kick_job read_kick_of_job(inputs& in) {
  const std::optional<std::uint64_t> id = in.number("id", 1, std::numeric_limits<jobs::job_id>::max());
  if (!id) in.refuse("id", "`id` is missing");
  in.expect_no_others();
  return {*id};
}

task<response> reserve_jobs(call& by) {
  wanted_jobs wanted = read_wanted(by.in);
  if (auto key = idempotency_key::of(by.what, by.client.allowed(), {"reserve"})) {
    return reserve_once(by, std::move(wanted), std::move(*key));
  }
  std::vector<field>().swap(by.what.fields);  // nothing reads them any more, and the wait may be long
  return reserve_now(by, std::move(wanted));
}

task<response> finish_job(call& by) { return execute_for_holder(by, read_finish(by.in)); }

task<response> release_job(call& by) { return execute_for_holder(by, read_release(by.in)); }

task<response> touch_job(call& by) { return execute_for_holder(by, read_touch(by.in)); }

task<response> bury_job(call& by) { return execute_for_holder(by, read_bury(by.in)); }

task<response> kick_tube(call& by) {
  auto kicking = by.client.execute(read_kick_of_tube(by.in));
  const jobs::bulk_answer done = co_await kicking;
  if (const std::optional<problem> wrong = problem_of(done)) co_return respond(*wrong);
  ordered_json all = ordered_json::object();
  all["kicked"] = done.changed;
  co_return respond_json(200, all);
}

task<response> kick_one_job(call& by) { return change_job(by, read_kick_of_job(by.in)); }

task<response> pause_tube(call& by) {
  jobs::pause what;
  what.tube = tube_of(by.in);
  const std::optional<jobs::milliseconds> length = by.in.length("length");
  if (!length) by.in.refuse("length", "`length` is missing: for how long shall no job be reserved? 0s ends a pause");
  what.length = *length;
  by.in.expect_no_others();
  auto pausing = by.client.execute(std::move(what));
  const jobs::pause_answer done = co_await pausing;
  static_cast<void>(done);
  ordered_json all = ordered_json::object();
  all["outcome"] = *length > 0ms ? "paused" : "resumed";
  co_return respond_json(200, all);
}

task<response> clear_tube(call& by) {
  jobs::clear_tube what;
  what.tube = tube_of(by.in);
  what.count = by.in.number("count", 1, most_changed).value_or(most_changed);
  by.in.expect_no_others();
  auto clearing = by.client.execute(std::move(what));
  const jobs::bulk_answer done = co_await clearing;
  ordered_json all = ordered_json::object();
  all["cancelled"] = done.changed;
  co_return respond_json(200, all);
}

namespace {

/// Takes a number and the dash behind it.
std::optional<std::uint64_t> take_number(std::string_view& from, int base) noexcept {
  const std::string_view digits = from.substr(0, from.find('-'));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  from.remove_prefix(std::min(digits.size() + 1, from.size()));
  return value;
}

}  // namespace

std::string text_of(const jobs::reservation& token) {
  return fmt::format("{}-{:x}-{}", token.id, token.opening, token.attempt);
}

std::optional<jobs::reservation> parse_reservation(std::string_view text) {
  const std::string_view whole = text;
  const auto id = take_number(text, 10);
  const auto opening = take_number(text, 16);
  const auto attempt = take_number(text, 10);
  if (!id || !opening || !attempt) return std::nullopt;
  const jobs::reservation read{*id, *opening, *attempt};
  if (text_of(read) != whole) return std::nullopt;  // such as leading zeros, or a dash at the end
  return read;
}

}  // namespace foliot::program::http
