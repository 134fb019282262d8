#include "schedule_records.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <exception>
#include <span>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>

#include "server/access/server_tubes.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

using schedule_answer = schedule_records::answer;
using schedule_result = schedule_records::result;

/// A change of the plan takes so many turns at most, each of which makes what was due by the old one.
constexpr int most_turns_before_change = 100;
/// The states of records, in the order of a list.
constexpr std::array<jobs::job_state, 3> listed_states{jobs::job_state::reserved, jobs::job_state::ready,
                                                       jobs::job_state::delayed};

constexpr std::string_view is_of_later_version = "a later version of the program has written the schedule";

/// The place behind which a page of schedules begins.
struct list_place {
  std::size_t state = 0;  ///< among listed_states
  jobs::job_place at = {};

  [[nodiscard]] std::string text() const { return fmt::format("{}.{}.{}", state, at.rank, at.id); }
  [[nodiscard]] static std::optional<list_place> parse(std::string_view text) {
    std::array<std::uint64_t, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t end = i + 1 < parts.size() ? text.find('.') : text.size();
      if (end == std::string_view::npos) return std::nullopt;
      const auto read = std::from_chars(text.data(), text.data() + end, parts[i]);
      if (read.ec != std::errc() || read.ptr != text.data() + end) return std::nullopt;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (parts[0] >= listed_states.size()) return std::nullopt;
    return list_place{static_cast<std::size_t>(parts[0]), {parts[1], parts[2]}};
  }
};

schedule_answer refusal_of(plan_error wrong) {
  schedule_answer refused;
  refused.what = schedule_result::refused;
  refused.why = std::move(wrong.detail);
  refused.field = std::move(wrong.pointer);
  return refused;
}

schedule_answer answer_of(schedule_result what, std::string_view why = {}) {
  schedule_answer made;
  made.what = what;
  made.why = why;
  return made;
}

/// The plan has no room in a record, whose body is bound as that of any job. `why`: a sentence of the broker's.
schedule_answer answer_of_large(const schedule_plan& plan, std::string_view why) {
  constexpr std::size_t bytes_of_date = 13;
  const bool has_many_dates = bytes_of_date * plan.excluded_dates.size() > plan.job.body.size();
  const std::size_t begin = std::min(why.find("body must have"), why.size());
  schedule_answer refused = answer_of(
      schedule_result::too_long,
      fmt::format("the plan is kept as the body of a job: such a {}: {}", why.substr(begin),
                  has_many_dates ? "leave out excluded dates that are past, or exclude by rules" : "shorten the job"));
  refused.field = has_many_dates ? "/exclude/dates" : "/job";
  return refused;
}

/// Why a record that is not sound cannot be changed.
schedule_answer answer_of_unreadable(const schedule_record& known) {
  if (known.is_of_later_version) return answer_of(schedule_result::unreadable, is_of_later_version);
  if (!known.fault.empty()) return answer_of(schedule_result::unreadable, known.fault);
  return answer_of(schedule_result::unreadable, "the schedule has had no turn yet: try again");
}

schedule_version version_of(const schedule_record& known) noexcept {
  return known.state ? schedule_version{known.state->incarnation, known.state->version} : schedule_version{};
}

known_schedule shown_record(schedule_record record, jobs::utc_time now, bool is_in_turn) {
  known_schedule shown;
  shown.tube = std::move(record.tube);
  shown.name = std::move(record.name);
  shown.now = now;
  shown.is_in_turn = is_in_turn;
  if (record.is_of_later_version) {
    shown.fault = is_of_later_version;
  } else {
    shown.fault = std::move(record.fault);
  }
  if (record.plan) shown.plan = std::move(*record.plan);
  if (record.state) shown.state = std::move(*record.state);
  return shown;
}

/// What came of storing a record.
schedule_result result_of(const jobs::put_answer& stored) noexcept {
  switch (stored.what) {
    case jobs::put_answer::kind::inserted:
    case jobs::put_answer::kind::kept:
    case jobs::put_answer::kind::replaced: return schedule_result::done;
    case jobs::put_answer::kind::exists: return schedule_result::exists;
    case jobs::put_answer::kind::no_space: return schedule_result::no_space;
    case jobs::put_answer::kind::reserved:
    case jobs::put_answer::kind::other_version:
    case jobs::put_answer::kind::other_request: break;
  }
  return schedule_result::busy;
}

/// The list for the store's time alone: no record is buried.
jobs::list_jobs list_for_time() {
  jobs::list_jobs nothing;
  nothing.tube = tube_of_schedules;
  nothing.which = jobs::job_state::buried;
  nothing.count = 1;
  return nothing;
}

}  // namespace

bool schedule_records::may(scope wanted, const std::string& tube) const {
  client_.check_scope(wanted);
  return client_.includes(tube);
}

void schedule_records::tell(std::string_view what, const std::string& tube, const std::string& name) const {
  if (!client_.allowed().may(scope::administer)) return;
  client_.tell_of_action(fmt::format("schedule {} of tube {}, {}", printable(name), printable(tube), what));
}

std::expected<schedule_table, plan_error> schedule_records::table_of(const schedule_plan& plan, const std::string& tube,
                                                                     const std::string& name) const {
  const std::expected<schedule::zone, std::string> zone = zones_.find(plan.zone);
  if (!zone) return std::unexpected(plan_error{"/zone", zone.error()});
  return plan.table_in(*zone, tube, name);
}

schedule_answer schedule_records::check(const condition& when, const schedule_record& known) {
  schedule_answer checked;
  checked.version = version_of(known);
  if (when.must_be_new) checked.what = result::exists;
  if (when.expected && *when.expected != checked.version) checked.what = result::other_version;
  return checked;
}

schedule_answer schedule_records::shown(const held_record& held, const schedule_plan& plan,
                                        const schedule_state& state) const {
  answer made;
  made.version = {state.incarnation, state.version};
  if (!client_.allowed().may(scope::look)) return made;
  known_schedule seen;
  seen.tube = held.record.tube;
  seen.name = held.record.name;
  seen.now = held.now;
  seen.plan = plan;
  seen.state = state;
  made.seen = std::move(seen);
  return made;
}

// Reserving a record.

task<schedule_records::hold_answer> schedule_records::hold(std::string key) {
  const instant until = runtime::now() + waits_for_turn;
  for (;;) {
    auto looking = client_.execute_for_server(jobs::peek{jobs::job_key{std::string(tube_of_schedules), key}, false});
    const jobs::peek_answer seen = co_await looking;
    if (!seen.job) co_return hold_answer{result::none, std::nullopt};
    if (seen.job->state != jobs::job_state::reserved) {
      auto claiming = client_.execute_for_server(jobs::claim_job{seen.job->id});
      jobs::claim_answer got = co_await claiming;
      if (got.what == jobs::claim_answer::kind::no_space) co_return hold_answer{result::no_space, std::nullopt};
      if (!got.jobs.empty()) {
        const jobs::claimed_job& one = got.jobs.front();
        co_return hold_answer{result::done,
                              held_record{one.token, schedule_record::in(one.job), seen.now, one.job.due}};
      }
    }
    if (runtime::now() >= until) co_return hold_answer{result::busy, std::nullopt};
    co_await runtime::sleep(between_tries);
  }
}

task<> schedule_records::give_back(const held_record& held) {
  auto releasing = client_.execute_for_server(jobs::release{held.token, std::nullopt, held.due, std::nullopt});
  const jobs::holder_answer done = co_await releasing;
  if (done.what != jobs::holder_answer::kind::no_space) co_return;
  auto abandoning = client_.execute_for_server(jobs::abandon{held.token});
  static_cast<void>(co_await abandoning);
}

// Looks.

task<schedule_answer> schedule_records::find(std::string tube, std::string name) {
  if (!may(scope::look, tube)) co_return answer_of(result::none);
  auto looking = client_.execute_for_server(
      jobs::peek{jobs::job_key{std::string(tube_of_schedules), key_of_schedule(tube, name)}, true});
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return answer_of(result::none);
  answer found;
  schedule_record record = schedule_record::in(*seen.job);
  found.version = version_of(record);
  found.seen = shown_record(std::move(record), seen.now, seen.job->state == jobs::job_state::reserved);
  co_return found;
}

class schedule_records::lister {
 public:
  lister(const schedule_records& of, filter which, list_place from, std::size_t count)
      : records_(of), client_(of.client_), which_(std::move(which)), place_(from), count_(count) {}

  /// Finds the keys of the page.
  task<> search();
  /// Shows the schedules with these keys; reads so many records at once.
  task<page> show(std::size_t together);

 private:
  [[nodiscard]] bool is_full() const noexcept { return keys_.size() == count_ || searched_ >= jobs::most_searched; }
  [[nodiscard]] bool wants(std::string_view key) const;
  [[nodiscard]] jobs::list_jobs list_behind(list_place place) const;
  /// Takes what is wanted of these. False: the page is full.
  bool take(const jobs::jobs_answer& listed);
  /// Says what the plans of these mean, and drops of them what may be large. Called by a thread that may block.
  void tell_words(std::span<known_schedule> among) const;

  const schedule_records& records_;
  authorized_client& client_;
  const filter which_;
  list_place place_;  // all up to it is on this page, or on one before
  const std::size_t count_;
  std::size_t searched_ = 0;
  bool is_last_ = false;
  std::vector<std::string> keys_;
};

bool schedule_records::lister::wants(std::string_view key) const {
  const auto names = schedule_of_key(key);
  if (!names || !client_.includes(names->first)) return false;
  return which_.tube.empty() ? names->first.starts_with(which_.prefix) : names->first == which_.tube;
}

jobs::list_jobs schedule_records::lister::list_behind(list_place place) const {
  jobs::list_jobs some;
  some.tube = tube_of_schedules;
  some.which = listed_states[place.state];
  some.after = place.at;
  const bool wants_all = which_.tube.empty() && which_.prefix.empty() && client_.allowed().has_all_tubes();
  some.count = wants_all ? static_cast<std::uint32_t>(count_) : jobs::most_listed;
  return some;
}

bool schedule_records::lister::take(const jobs::jobs_answer& listed) {
  for (const jobs::listed_job& each : listed.jobs) {
    if (is_full()) return false;
    ++searched_;
    place_.at = each.place;
    const bool is_there = std::ranges::find(keys_, each.job.key) != keys_.end();
    if (wants(each.job.key) && !is_there) keys_.push_back(each.job.key);
  }
  if (listed.next) place_.at = *listed.next;
  return !is_full();
}

task<> schedule_records::lister::search() {
  while (!is_last_) {
    // All states in one batch: a record whose turn begins in between would be in none of them.
    std::deque<jobs::in_flight<jobs::list_jobs>> listing;
    for (list_place from = place_; from.state < listed_states.size(); from = {from.state + 1, {}}) {
      listing.emplace_back(client_.connection_for_server(), list_behind(from));
    }
    bool goes_on = true;
    for (jobs::in_flight<jobs::list_jobs>& each : listing) {
      const jobs::jobs_answer listed = co_await each;
      if (!goes_on) continue;  // it is awaited nevertheless
      goes_on = take(listed);
      if (!goes_on) continue;
      if (listed.next) {
        goes_on = false;
      } else {
        place_ = {place_.state + 1, {}};
        is_last_ = place_.state == listed_states.size();
      }
    }
    if (is_full()) co_return;
  }
}

void schedule_records::lister::tell_words(std::span<known_schedule> among) const {
  for (known_schedule& each : among) {
    if (each.fault.empty()) {
      const std::expected<schedule_table, plan_error> table = records_.table_of(each.plan, each.tube, each.name);
      if (table) each.words = table->all.words();
    }
    each.plan.job = {};
    each.plan.excluded_dates = {};
    each.plan.excluded_rules = {};
  }
}

task<schedule_records::page> schedule_records::lister::show(std::size_t together) {
  page shown;
  for (std::span<const std::string> left(keys_); !left.empty();) {
    const std::size_t count = std::min(left.size(), together);
    const std::size_t before = shown.schedules.size();
    std::deque<jobs::in_flight<jobs::peek>> looks;
    for (const std::string& each : left.first(count)) {
      looks.emplace_back(client_.connection_for_server(),
                         jobs::peek{jobs::job_key{std::string(tube_of_schedules), each}, true});
    }
    for (jobs::in_flight<jobs::peek>& each : looks) {
      const jobs::peek_answer seen = co_await each;
      if (!seen.job) continue;  // it was removed meanwhile
      const bool is_in_turn = seen.job->state == jobs::job_state::reserved;
      shown.schedules.push_back(shown_record(schedule_record::in(*seen.job), seen.now, is_in_turn));
    }
    auto telling = [&] { tell_words(std::span(shown.schedules).subspan(before)); };
    co_await runtime::blocking(telling);
    left = left.subspan(count);
  }
  if (!is_last_) shown.next = place_.text();
  co_return shown;
}

task<std::optional<schedule_records::page>> schedule_records::list(filter which, std::string after, std::size_t count,
                                                                   std::size_t together) {
  client_.check_scope(scope::look);
  const std::optional<list_place> from = after.empty() ? list_place{} : list_place::parse(after);
  if (!from) co_return std::nullopt;
  lister found(*this, std::move(which), *from, std::clamp<std::size_t>(count, 1, most_on_page));
  auto searching = found.search();
  co_await searching;
  auto showing = found.show(std::max<std::size_t>(together, 1));
  page shown = co_await showing;
  co_return shown;
}

// Making and changing.

task<schedule_records::place_answer> schedule_records::look_at_place(std::string tube) {
  // Neither of these puts is possible: what they would replace is not there. A store of several databases says first
  // whether they could be together.
  const auto impossible = [](std::string where) {
    jobs::put what;
    what.tube = std::move(where);
    what.key = "-";
    what.existing = jobs::on_existing::replace;
    what.expected = 1;
    return what;
  };
  jobs::put_all both;
  both.puts.push_back(impossible(std::string(tube_of_schedules)));
  both.puts.push_back(impossible(std::move(tube)));
  auto putting = client_.execute_for_server(std::move(both));
  auto listing = client_.execute_for_server(list_for_time());
  const jobs::put_all_answer done = co_await putting;
  const jobs::jobs_answer listed = co_await listing;
  co_return place_answer{done.what == jobs::put_all_answer::kind::several_databases, listed.now};
}

task<schedule_records::begin_answer> schedule_records::begin(const schedule_plan& plan, const std::string& tube,
                                                             const std::string& name, jobs::utc_time now) {
  begin_answer begun;
  // Not on a thread of the runtime: a rule may take long.
  auto planning = [&] {
    const std::expected<schedule_table, plan_error> table = table_of(plan, tube, name);
    if (!table) {
      begun.wrong = table.error();
      return;
    }
    begun.wrong = fault_of_times(plan, *table, now);
    if (!begun.wrong) begun.wrong = plan.fault_as_record();
    if (begun.wrong) return;
    const schedule_state state = begin_schedule(plan, *table, random_stream::entropy(), now);
    begun.turn = plan_turn(plan, *table, state, now, {});
    if (!begun.turn.make.empty()) {  // for its first turn
      begun.turn.state = state;
      begun.turn.due = now;
    }
  };
  co_await runtime::blocking(planning);
  co_return begun;
}

task<schedule_result> schedule_records::store(jobs::put record, std::string& why) {
  std::optional<jobs::in_flight<jobs::put>> putting;
  try {
    putting.emplace(client_.connection_for_server(), std::move(record));
  } catch (const std::invalid_argument& wrong) {
    why = wrong.what();
    co_return result::too_long;
  }
  jobs::in_flight<jobs::put>& one = *putting;
  const jobs::put_answer stored = co_await one;
  co_return result_of(stored);
}

task<jobs::put_all_answer> schedule_records::store(jobs::put_all turn, std::string& why) {
  std::optional<jobs::in_flight<jobs::put_all>> putting;
  try {
    putting.emplace(client_.connection_for_server(), std::move(turn));
  } catch (const std::invalid_argument& wrong) {
    why = wrong.what();
    co_return jobs::put_all_answer{};
  }
  jobs::in_flight<jobs::put_all>& one = *putting;
  jobs::put_all_answer stored = co_await one;
  co_return stored;
}

task<schedule_answer> schedule_records::make(std::string key, std::string tube, std::string name, schedule_plan plan) {
  auto looking = look_at_place(tube);
  const place_answer place = co_await looking;
  if (place.is_elsewhere) co_return answer_of(result::other_database, sentence_of_other_database);
  plan.settle_anchors(nullptr, std::chrono::floor<std::chrono::seconds>(place.now));
  auto beginning = begin(plan, tube, name, place.now);
  begin_answer first = co_await beginning;
  if (first.wrong) co_return refusal_of(std::move(*first.wrong));
  if (expect_) expect_();
  answer made;
  auto storing = store(put_of_record(std::move(key), plan, first.turn.state, first.turn.due, std::nullopt), made.why);
  made.what = co_await storing;
  if (made.what == result::too_long) co_return answer_of_large(plan, made.why);
  if (made.what != result::done) co_return made;
  held_record shows;
  shows.record.tube = std::move(tube);
  shows.record.name = std::move(name);
  shows.now = place.now;
  made = shown(shows, plan, first.turn.state);
  made.is_new = true;
  co_return made;
}

task<schedule_answer> schedule_records::begin_anew(held_record held, schedule_plan plan) {
  auto looking = look_at_place(held.record.tube);
  const place_answer place = co_await looking;
  answer made;
  if (place.is_elsewhere) {
    made = answer_of(result::other_database, sentence_of_other_database);
  } else {
    auto beginning = begin(plan, held.record.tube, held.record.name, held.now);
    begin_answer first = co_await beginning;
    if (first.wrong) {
      made = refusal_of(std::move(*first.wrong));
    } else {
      auto storing =
          store(put_of_record(held.record.key, plan, first.turn.state, first.turn.due, held.token), made.why);
      made.what = co_await storing;
      if (made.what == result::done) co_return shown(held, plan, first.turn.state);
      if (made.what == result::too_long) made = answer_of_large(plan, made.why);
    }
  }
  auto giving = give_back(held);
  co_await giving;
  co_return made;
}

task<living_look> schedule_records::look_at_living(const schedule_record& of) {
  living_look living(of, *of.plan);
  std::deque<jobs::in_flight<jobs::peek>> looks;
  for (const jobs::job_key& each : living.names()) {
    looks.emplace_back(client_.connection_for_server(), jobs::peek{each, false});
  }
  for (std::size_t place = 0; jobs::in_flight<jobs::peek> & each : looks) {
    const jobs::peek_answer seen = co_await each;
    living.note(place++, seen);
  }
  co_return living;
}

/// What a change of a plan has come to, before it is stored.
struct schedule_records::planned_change {
  std::optional<plan_error> wrong;
  living_look look;  ///< by which it was planned
  schedule_turn turn;
};

task<schedule_records::planned_change> schedule_records::plan_change(const held_record& held,
                                                                     const schedule_plan& plan) {
  const schedule_record& record = held.record;
  auto looking = look_at_living(record);
  planned_change made;
  made.look = co_await looking;
  auto planning = [&] {
    const std::expected<schedule_table, plan_error> after = table_of(plan, record.tube, record.name);
    if (!after) {
      made.wrong = after.error();
      return;
    }
    made.wrong = fault_of_times(plan, *after, held.now);
    if (made.wrong && made.wrong->pointer == "/ends") made.wrong.reset();  // one may end what there is
    if (!made.wrong) made.wrong = plan.fault_as_record();
    if (made.wrong) return;
    const std::expected<schedule_table, plan_error> before = table_of(*record.plan, record.tube, record.name);
    if (!before) {
      made.turn = change_lost_plan(*record.plan, plan, *after, *record.state, held.now, made.look.facts());
      return;
    }
    // What is due by the old plan comes first, and in a commit of its own: its jobs and their notes are of that plan.
    made.turn = plan_turn(*record.plan, *before, *record.state, held.now, made.look.facts());
    if (!made.turn.make.empty() || !made.turn.is_complete) return;
    made.turn = change_plan(*record.plan, *before, plan, *after, *record.state, held.now, made.look.facts());
  };
  co_await runtime::blocking(planning);
  co_return made;
}

task<std::optional<schedule_answer>> schedule_records::replace(held_record held, schedule_plan plan, condition when) {
  answer came = check(when, held.record);
  if (held.record.is_of_later_version) came = answer_of(result::unreadable, is_of_later_version);
  if (came.what != result::done) {
    auto giving = give_back(held);
    co_await giving;
    co_return came;
  }
  const bool is_sound = held.record.is_sound();
  plan.settle_anchors(is_sound ? &*held.record.plan : nullptr, std::chrono::floor<std::chrono::seconds>(held.now));
  if (is_sound && plan == *held.record.plan && held.record.state->refused.empty()) {
    auto giving = give_back(held);
    co_await giving;
    came = shown(held, plan, *held.record.state);
    came.is_same = true;
    co_return came;
  }
  if (!is_sound) {
    auto beginning = begin_anew(std::move(held), std::move(plan));
    came = co_await beginning;
    co_return came;
  }
  auto planning = plan_change(held, plan);
  planned_change change = co_await planning;
  auto storing = store_change(std::move(held), std::move(plan), std::move(change));
  std::optional<answer> stored = co_await storing;
  co_return stored;
}

task<std::optional<schedule_answer>> schedule_records::store_change(held_record held, schedule_plan plan,
                                                                    planned_change change) {
  using kind = jobs::put_answer::kind;
  answer came;
  if (change.wrong) {
    came = refusal_of(std::move(*change.wrong));
  } else {
    const bool is_changed = change.turn.is_changed;
    const schedule_plan& stored = is_changed ? plan : *held.record.plan;
    // If it is changed, the old plan has made nothing: plan_change().
    auto storing = store(commit_of_turn(held.record, stored, change.turn, change.look, held.token), came.why);
    const jobs::put_all_answer done = co_await storing;
    if (!came.why.empty()) {
      came = answer_of_large(plan, came.why);
    } else if (done.what == jobs::put_all_answer::kind::done) {
      if (!is_changed) co_return std::nullopt;
      co_return shown(held, plan, change.turn.state);
    } else if (done.what == jobs::put_all_answer::kind::several_databases) {
      came = answer_of(result::other_database, sentence_of_other_database);
    } else if (done.why.what == kind::no_space) {
      came.what = result::no_space;
    } else if (done.place == 0) {
      co_return answer_of(result::busy);  // the record is lost
    } else {
      // A job that was to be replaced has changed meanwhile.
      auto giving = give_back(held);
      co_await giving;
      co_return std::nullopt;
    }
  }
  auto giving = give_back(held);
  co_await giving;
  co_return came;
}

template <class Result>
task<Result> schedule_records::or_give_back(jobs::reservation token, task<Result> doing) {
  std::exception_ptr failure;
  try {
    Result done = co_await doing;
    co_return done;
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    auto abandoning = client_.execute_for_server(jobs::abandon{token});
    static_cast<void>(co_await abandoning);
  } catch (const std::exception&) {
    // It is given back when its TTR has ended, or the connection.
  }
  std::rethrow_exception(failure);
}

std::optional<schedule_answer> schedule_records::fault_of_put(const std::string& tube, const std::string& name,
                                                              const schedule_plan& plan) const {
  jobs::put in_tube;
  in_tube.tube = tube;
  client_.check(in_tube);
  if (key_of_schedule(tube, name).size() > jobs::longest_key) {
    return answer_of(result::too_long, fmt::format("the names of the tube and of the schedule have {} bytes "
                                                   "together: at most {} have room",
                                                   tube.size() + name.size(), jobs::longest_key - 1));
  }
  if (!has_room_for_note(name, plan)) {
    return answer_of(result::too_long,
                     "the headers of the job leave no room for the note on the occurrence: some 400 bytes");
  }
  return std::nullopt;
}

task<schedule_answer> schedule_records::preview(std::string tube, std::string name, schedule_plan plan) {
  if (std::optional<answer> wrong = fault_of_put(tube, name, plan)) co_return std::move(*wrong);
  auto placing = look_at_place(tube);
  const place_answer place = co_await placing;
  if (place.is_elsewhere) co_return answer_of(result::other_database, sentence_of_other_database);
  schedule_record before;
  if (client_.allowed().may(scope::look)) {
    auto looking = client_.execute_for_server(
        jobs::peek{jobs::job_key{std::string(tube_of_schedules), key_of_schedule(tube, name)}, true});
    const jobs::peek_answer seen = co_await looking;
    if (seen.job) before = schedule_record::in(*seen.job);
  }
  if (before.is_of_later_version) co_return answer_of(result::unreadable, is_of_later_version);
  plan.settle_anchors(before.is_sound() ? &*before.plan : nullptr, std::chrono::floor<std::chrono::seconds>(place.now));
  answer came;
  came.version = version_of(before);
  auto planning = [&] {
    const std::expected<schedule_table, plan_error> table = table_of(plan, tube, name);
    std::optional<plan_error> wrong = table ? fault_of_times(plan, *table, place.now) : std::optional(table.error());
    if (wrong && wrong->pointer == "/ends" && before.is_sound()) wrong.reset();  // one may end what there is
    if (!wrong) wrong = plan.fault_as_record();
    if (wrong) {
      came = refusal_of(std::move(*wrong));
      return;
    }
    known_schedule next;
    next.now = place.now;
    if (!before.is_sound()) {
      next.state = begin_schedule(plan, *table, 0, place.now);
    } else if (plan.digest() == before.plan->digest()) {
      next.state = std::move(*before.state);
    } else {
      // What is due at this moment by the plan before is made by that, and not told.
      next.state = change_lost_plan(*before.plan, plan, *table, std::move(*before.state), place.now, {}).state;
    }
    next.plan = std::move(plan);
    came.seen = std::move(next);
  };
  co_await runtime::blocking(planning);
  if (came.seen) {
    came.seen->tube = std::move(tube);
    came.seen->name = std::move(name);
  }
  co_return came;
}

task<schedule_answer> schedule_records::put(std::string tube, std::string name, schedule_plan plan, condition when) {
  if (std::optional<answer> wrong = fault_of_put(tube, name, plan)) co_return std::move(*wrong);
  const std::string key = key_of_schedule(tube, name);
  for (int i = 0; i < most_turns_before_change; ++i) {
    auto holding = hold(key);
    hold_answer held = co_await holding;
    if (held.what == result::none) {
      if (when.must_exist || when.expected) co_return answer_of(result::other_version);
      auto making = make(key, tube, name, plan);
      answer made = co_await making;
      if (made.what == result::done) tell("make", tube, name);
      if (made.what != result::exists || when.must_be_new) co_return made;
      continue;
    }
    if (held.what != result::done) co_return answer_of(held.what);
    const jobs::reservation token = held.held->token;
    auto replacing = or_give_back(token, replace(std::move(*held.held), plan, when));
    std::optional<answer> replaced = co_await replacing;
    if (!replaced) continue;
    if (replaced->what == result::done && !replaced->is_same) tell("change", tube, name);
    co_return std::move(*replaced);
  }
  co_return answer_of(result::busy);
}

// What somebody asks for.

task<schedule_answer> schedule_records::change_held(held_record held, condition when, state_change how) {
  answer came = check(when, held.record);
  if (!held.record.is_sound()) came = answer_of_unreadable(held.record);
  bool stores = false;
  schedule_state state;
  if (came.what == result::done) {
    state = *held.record.state;
    auto changing = [&] { stores = how(held, state, came); };
    co_await runtime::blocking(changing);
  }
  if (!stores) {
    auto giving = give_back(held);
    co_await giving;
  } else {
    auto releasing = client_.execute_for_server(
        jobs::release{held.token, std::nullopt, jobs::milliseconds(0), held.record.history_with(state)});
    const jobs::holder_answer done = co_await releasing;
    if (done.what == jobs::holder_answer::kind::not_held) co_return answer_of(result::busy);
    if (done.what == jobs::holder_answer::kind::no_space) {
      auto abandoning = client_.execute_for_server(jobs::abandon{held.token});
      static_cast<void>(co_await abandoning);
      co_return answer_of(result::no_space);
    }
  }
  if (came.what == result::done) {
    answer shows = shown(held, *held.record.plan, stores ? state : *held.record.state);
    came.version = shows.version;
    came.seen = std::move(shows.seen);
  }
  co_return came;
}

task<schedule_answer> schedule_records::change(std::string tube, std::string name, condition when, std::string told,
                                               state_change how) {
  if (!may(scope::put, tube)) co_return answer_of(result::none);
  auto holding = hold(key_of_schedule(tube, name));
  hold_answer held = co_await holding;
  if (held.what == result::none && (when.must_exist || when.expected)) co_return answer_of(result::other_version);
  if (held.what != result::done) co_return answer_of(held.what);
  const jobs::reservation token = held.held->token;
  auto changing = or_give_back(token, change_held(std::move(*held.held), when, std::move(how)));
  answer came = co_await changing;
  if (came.what == result::done && !told.empty()) tell(told, tube, name);
  co_return came;
}

task<schedule_answer> schedule_records::pause(std::string tube, std::string name, std::string note,
                                              std::optional<std::chrono::sys_seconds> until, condition when) {
  const rights& by = client_.allowed();
  return change(std::move(tube), std::move(name), when, "pause",
                [who = by.name().empty() ? by.id() : by.name(), note = std::move(note), until](
                    const held_record& held, schedule_state& state, answer& came) {
                  std::optional<jobs::utc_time> end;
                  if (until) end = *until;
                  const std::expected<void, plan_error> done = pause_schedule(state, held.now, who, note, end);
                  if (!done) came = refusal_of(done.error());
                  return done.has_value();
                });
}

task<schedule_answer> schedule_records::resume(std::string tube, std::string name, condition when) {
  return change(std::move(tube), std::move(name), when, "resume",
                [](const held_record& held, schedule_state& state, answer& came) {
                  came.is_same = !resume_schedule(state, held.now);
                  return !came.is_same;
                });
}

task<schedule_answer> schedule_records::skip(std::string tube, std::string name,
                                             std::optional<std::chrono::sys_seconds> at, condition when) {
  return change(std::move(tube), std::move(name), when, "skip",
                [this, at](const held_record& held, schedule_state& state, answer& came) {
                  const schedule_record& record = held.record;
                  const auto table = table_of(*record.plan, record.tube, record.name);
                  if (!table) {
                    came = answer_of(result::refused, sentence_of(table.error()));  // nothing of the request is wrong
                    return false;
                  }
                  std::optional<jobs::utc_time> wanted;
                  if (at) wanted = *at;
                  const auto skipped = skip_occurrence(*record.plan, *table, state, held.now, wanted);
                  if (skipped) {
                    came.at = skipped->at;
                  } else {
                    came = refusal_of(skipped.error());
                  }
                  return skipped.has_value();
                });
}

task<schedule_answer> schedule_records::run(std::string tube, std::string name, condition when) {
  return change(std::move(tube), std::move(name), when, "run",
                [](const held_record& held, schedule_state& state, answer& came) {
                  const std::expected<occurrence_name, plan_error> asked = run_by_hand(state, held.now);
                  if (asked) {
                    came.at = asked->at;
                    came.key = key_of_occurrence(held.record.name, *asked, state.incarnation);
                  } else {
                    came = refusal_of(asked.error());
                  }
                  return asked.has_value();
                });
}

schedule_records::state_change schedule_records::backfill_of(std::chrono::sys_seconds from, std::chrono::sys_seconds to,
                                                             bool is_dry) const {
  return [this, from, to, is_dry](const held_record& held, schedule_state& state, answer& came) {
    const schedule_record& record = held.record;
    const auto table = table_of(*record.plan, record.tube, record.name);
    if (!table) {
      came = answer_of(result::refused, sentence_of(table.error()));  // nothing of the request is wrong
      return false;
    }
    const auto counted = is_dry ? count_backfill(*record.plan, *table, state, from, to)
                                : request_backfill(*record.plan, *table, state, from, to);
    if (!counted) {
      came = refusal_of(counted.error());
      return false;
    }
    came.count = counted->to_make;
    came.backfilled = *counted;
    return true;
  };
}

task<schedule_answer> schedule_records::count(std::string tube, std::string name, std::chrono::sys_seconds from,
                                              std::chrono::sys_seconds to, condition when) {
  if (!may(scope::put, tube)) co_return answer_of(result::none);
  auto looking = client_.execute_for_server(
      jobs::peek{jobs::job_key{std::string(tube_of_schedules), key_of_schedule(tube, name)}, true});
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return answer_of(when.must_exist || when.expected ? result::other_version : result::none);
  held_record looked;  // it is not held: no turn waits for a count
  looked.record = schedule_record::in(*seen.job);
  looked.now = seen.now;
  answer came = check(when, looked.record);
  if (!looked.record.is_sound()) came = answer_of_unreadable(looked.record);
  if (came.what != result::done) co_return came;
  auto counting = [&] {
    schedule_state state = *looked.record.state;
    static_cast<void>(backfill_of(from, to, true)(looked, state, came));
  };
  co_await runtime::blocking(counting);
  if (came.what != result::done) co_return came;
  answer shows = shown(looked, *looked.record.plan, *looked.record.state);
  came.version = shows.version;
  came.seen = std::move(shows.seen);
  co_return came;
}

task<schedule_answer> schedule_records::backfill(std::string tube, std::string name, std::chrono::sys_seconds from,
                                                 std::chrono::sys_seconds to, bool is_dry, condition when) {
  if (is_dry) return count(std::move(tube), std::move(name), from, to, when);
  return change(std::move(tube), std::move(name), when, "backfill", backfill_of(from, to, false));
}

// Removing.

task<std::vector<schedule_records::occurrence_fate>> schedule_records::end_living(const schedule_record& of,
                                                                                  bool cancels) {
  std::vector<occurrence_fate> fates;
  for (const living_occurrence& each : of.state->living) {
    fates.push_back({each.name.at, key_of_occurrence(of.name, each.key, of.state->incarnation), fate::gone});
  }
  std::ranges::sort(fates, {}, [](const occurrence_fate& each) { return std::tie(each.nominal, each.key); });
  if (cancels) {
    std::deque<jobs::in_flight<jobs::cancel>> ending;
    for (const occurrence_fate& each : fates) {
      ending.emplace_back(client_.connection_for_server(), jobs::cancel{jobs::job_key{of.tube, each.key}});
    }
    for (std::size_t i = 0; jobs::in_flight<jobs::cancel> & each : ending) {
      const jobs::change_answer done = co_await each;
      if (done.what == jobs::change_answer::kind::done) fates[i].what = fate::cancelled;
      if (done.what == jobs::change_answer::kind::reserved) fates[i].what = fate::at_work;
      ++i;
    }
    co_return fates;
  }
  std::deque<jobs::in_flight<jobs::peek>> looks;
  for (const occurrence_fate& each : fates) {
    looks.emplace_back(client_.connection_for_server(), jobs::peek{jobs::job_key{of.tube, each.key}, false});
  }
  for (std::size_t i = 0; jobs::in_flight<jobs::peek> & each : looks) {
    const jobs::peek_answer seen = co_await each;
    if (seen.job) fates[i].what = seen.job->state == jobs::job_state::reserved ? fate::at_work : fate::kept;
    ++i;
  }
  co_return fates;
}

task<schedule_records::removed_answer> schedule_records::remove_held(held_record held, bool cancels, condition when) {
  const answer checked = check(when, held.record);
  removed_answer came{checked.what, checked.version};
  if (came.what != result::done) {
    auto giving = give_back(held);
    co_await giving;
    co_return came;
  }
  // They end first: if this request is cut off, the schedule is there, and the request can be made again.
  if (held.record.state && held.record.plan) {
    auto ending = end_living(held.record, cancels);
    came.occurrences = co_await ending;
    came.not_followed = held.record.state->counters.not_followed;
  }
  auto finishing = client_.execute_for_server(jobs::finish{held.token});
  const jobs::holder_answer done = co_await finishing;
  if (done.what != jobs::holder_answer::kind::done) came.what = result::busy;
  co_return came;
}

task<schedule_records::removed_answer> schedule_records::remove(std::string tube, std::string name, bool cancels,
                                                                condition when) {
  if (cancels) client_.check_scope(scope::change);
  removed_answer came{result::none};
  if (!may(scope::put, tube)) co_return came;
  auto holding = hold(key_of_schedule(tube, name));
  hold_answer held = co_await holding;
  came.what = held.what;
  if (held.what == result::none && (when.must_exist || when.expected)) came.what = result::other_version;
  if (held.what != result::done) co_return came;
  const jobs::reservation token = held.held->token;
  auto removing = or_give_back(token, remove_held(std::move(*held.held), cancels, when));
  came = co_await removing;
  if (came.what == result::done) tell("remove", tube, name);
  co_return came;
}

}  // namespace foliot::program
