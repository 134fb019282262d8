#include "action_turn.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>

#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

/// Databases give ids whose remainder by this is their number, where there are several.
constexpr jobs::job_id most_databases = 64;
/// The bodies that are searched at once, together.
constexpr std::size_t bytes_searched_at_once = std::size_t{4} << 20;
/// For how long the record is away while it is released and claimed again in one batch.
constexpr jobs::milliseconds away = std::chrono::seconds(1);

/// Of a record: its successor is a priority, too.
constexpr jobs::priority most_urgency = std::numeric_limits<jobs::priority>::max() - 1;

constexpr const char* rights_have_ended = "the rights of its access token have ended, or do not include it any more";
constexpr const char* was_asked = "a client has asked for it";

action_outcome outcome_of_change(jobs::change_answer::kind what) noexcept {
  using kind = jobs::change_answer::kind;
  switch (what) {
    case kind::done: return action_outcome::done;
    case kind::reserved: return action_outcome::reserved;
    case kind::refused: return action_outcome::refused;
    case kind::gone: return action_outcome::gone;
    case kind::other_version:
    case kind::no_space: break;
  }
  return action_outcome::changed;
}

}  // namespace

/// Each kind of change has its own type of operation, of which one is under way.
struct action_turn::change {
  template <class Operation>
  struct queued {
    template <class Make>
    explicit queued(const Make& make) : answer(make()) {}
    jobs::in_flight<Operation> answer;
  };

  explicit change(found_job it) : what(it) {}

  void begin(authorized_client& client, const authorized_client::known_jobs& known, action_kind kind,
             jobs::utc_time due) {
    switch (kind) {
      case action_kind::cancel: return queue(client, known, jobs::cancel{what.id, what.version});
      case action_kind::kick: return queue(client, known, jobs::kick_job{what.id, what.version});
      case action_kind::fire: return queue(client, known, jobs::fire_now{what.id, what.version});
      case action_kind::reschedule: return queue(client, known, jobs::reschedule{what.id, due, what.version});
    }
  }
  /// What the store answers; `gone` if there is no such job for the rights. Throws store_unavailable.
  task<jobs::change_answer> end() {
    if (auto* const one = std::get_if<queued<jobs::cancel>>(&under_way)) return end_of(one->answer);
    if (auto* const one = std::get_if<queued<jobs::kick_job>>(&under_way)) return end_of(one->answer);
    if (auto* const one = std::get_if<queued<jobs::fire_now>>(&under_way)) return end_of(one->answer);
    if (auto* const one = std::get_if<queued<jobs::reschedule>>(&under_way)) return end_of(one->answer);
    return end_of_none();
  }

  found_job what;
  std::variant<std::monostate, queued<jobs::cancel>, queued<jobs::kick_job>, queued<jobs::fire_now>,
               queued<jobs::reschedule>>
      under_way;

 private:
  template <class Operation>
  void queue(authorized_client& client, const authorized_client::known_jobs& known, Operation operation) {
    if (!client.is_within(operation, known)) return;
    under_way.emplace<queued<Operation>>([&] { return client.execute_known(std::move(operation), known); });
  }
  template <class Operation>
  static task<jobs::change_answer> end_of(jobs::in_flight<Operation>& one) {
    const jobs::change_answer answer = co_await one;
    co_return answer;
  }
  static task<jobs::change_answer> end_of_none() {
    jobs::change_answer none;
    none.what = jobs::change_answer::kind::gone;
    co_return none;
  }
};

action_turn::action_turn(const surroundings& on, jobs::claimed_job record, jobs::priority latest)
    : on_(on),
      record_(std::move(record)),
      held_until_(record_.job.expires),
      urgency_(std::min(std::max(record_.job.priority, latest), most_urgency) + 1),
      action_(action::in(record_.job)) {}

task<> action_turn::take() {
  if (!action_ || !action_->progress.is_at_work()) {
    auto leaving = leave_unchanged();
    co_await leaving;
    co_return;
  }
  const rights_holder holder(on_.who, action_->plan.needs(), [] {});
  auto taking = take_by_rights(holder);
  co_await taking;
}

task<> action_turn::take_by_rights(const rights_holder& holder) {
  auto asking = is_asked_to_stop();
  const bool is_asked = co_await asking;
  if (is_lost_) co_return;
  // Without a file of access tokens everybody has all rights; but not an action whose owner had a token.
  const bool has_no_file = on_.who == nullptr && !action_->plan.owner.empty();
  if (is_asked || has_no_file || holder.has_ended()) {
    end(action_state::stopped, is_asked ? was_asked : rights_have_ended);
  } else if (action_->progress.state == action_state::counting) {
    auto counting = count();
    co_await counting;
  } else {
    auto running = run(holder);
    co_await running;
  }
  if (is_lost_) co_return;
  auto leaving = save_and_leave();
  co_await leaving;
  if (is_lost_) co_return;
  bool was_met = is_asked;
  if (!is_asked && action_->progress.state == action_state::counted) {
    // A wish that has come during this turn finds no later one.
    auto stopping = stop_counted();
    was_met = co_await stopping;
  }
  if (was_met) {
    auto forgetting = forget_stop();
    co_await forgetting;
  }
}

task<bool> action_turn::stop_counted() {
  auto asking = is_asked_to_stop();
  const bool is_asked = co_await asking;
  if (!is_asked || is_lost_) co_return false;
  auto claiming = on_.by.execute(jobs::claim_job{record_.token.id});
  jobs::claim_answer got = co_await claiming;
  if (got.jobs.empty()) co_return false;  // another request has it, and has seen that it is counted
  record_ = std::move(got.jobs.front());
  held_until_ = record_.job.expires;
  action_ = action::in(record_.job);
  if (!action_) co_return false;
  const bool is_there = action_->progress.state == action_state::counted;
  if (is_there) end(action_state::stopped, was_asked);
  auto leaving = save_and_leave();
  co_await leaving;
  co_return is_there && !is_lost_;
}

task<> action_turn::count() {
  action_progress& progress = action_->progress;
  auto reading = read_page(action_->plan.filter.needs_body() ? most_of_text_turn : most_of_count_turn);
  const bool is_read = co_await reading;
  if (!is_read) co_return;
  progress.counted += found_.size();
  progress.place = page_end_;
  if (!is_last_page_) co_return;
  progress.counted_to = last_listed_;
  progress.state = action_state::counted;
  progress.place = 0;
  progress.kept_until = now_ + kept_when_counted;
}

task<> action_turn::run(const rights_holder& holder) {
  action_progress& progress = action_->progress;
  const std::uint64_t of_cut_piece = progress.doing;
  auto reading = of_cut_piece > 0 ? read_cut_piece() : read_page(most_of_run_turn);
  bool goes_on = co_await reading;
  if (!goes_on) co_return;
  if (of_cut_piece > 0) {
    const std::uint64_t missing = of_cut_piece - std::min<std::uint64_t>(of_cut_piece, found_.size());
    progress.matched += missing;
    progress.outcomes[static_cast<std::size_t>(action_outcome::unknown)] += missing;
  }
  if (!found_.empty()) {
    progress.doing = found_.size();
    progress.doing_to = page_end_;
    progress.doing_versions.clear();
    for (const found_job& each : found_) progress.doing_versions.push_back(each.version);
    auto saving = save_and_hold();
    goes_on = co_await saving;
    if (!goes_on) co_return;
    authorized_client client(on_.by, holder);
    auto changing = change_found(client);
    co_await changing;
    if (is_lost_) co_return;
  }
  if (progress.state != action_state::running) co_return;  // stopped
  progress.doing = 0;
  progress.doing_to = 0;
  progress.doing_versions.clear();
  progress.place = page_end_;
  if (is_last_page_) end(action_state::done);
}

task<> action_turn::leave_unchanged() {
  if (action_ && !action_->progress.is_at_work()) {
    auto keeping = keep();
    co_await keeping;
    co_return;
  }
  jobs::release as_it_is{.token = record_.token, .due = record_of_others_waits};
  if (action_) as_it_is.due = jobs::milliseconds(0);
  auto releasing = on_.by.execute(std::move(as_it_is));
  static_cast<void>(co_await releasing);
}

task<> action_turn::keep() {
  jobs::list_jobs nothing;
  nothing.tube = std::string(tube_of_stops);
  nothing.count = 1;
  auto looking = on_.by.execute(std::move(nothing));
  const jobs::jobs_answer seen = co_await looking;
  const jobs::utc_time until = action_->progress.kept_until.value_or(seen.now);
  if (until <= seen.now) {
    auto finishing = on_.by.execute(jobs::finish{record_.token});
    static_cast<void>(co_await finishing);
    co_return;
  }
  auto releasing = on_.by.execute(jobs::release{.token = record_.token, .due = until});
  static_cast<void>(co_await releasing);
}

bool action_turn::existed_before(const jobs::job& what) const noexcept {
  // Where there are several databases, those of another one are in no order with the record: the time decides.
  const bool may_be_elsewhere = on_.by.has_other_nodes() && what.id % most_databases != action_->id % most_databases;
  if (!may_be_elsewhere) return what.id < action_->id;
  return std::tie(what.made, what.id) < std::tie(action_->made, action_->id);
}

task<bool> action_turn::read_page(std::uint32_t count) {
  const job_filter& filter = action_->plan.filter;
  // Where jobs come faster than pages are read, the list itself would have no end.
  const jobs::job_id last = action_->progress.state == action_state::running ? action_->progress.counted_to
                                                                             : std::numeric_limits<jobs::job_id>::max();
  for (;;) {
    try {
      auto listing = on_.by.execute(filter.page_behind(action_->progress.place, count));
      const jobs::jobs_answer listed = co_await listing;
      found_.clear();
      for (const jobs::listed_job& each : listed.jobs) {
        if (each.job.id > last) break;
        if (existed_before(each.job) && filter.matches(each.job)) found_.push_back({each.job.id, each.version});
      }
      const bool may_be_elsewhere = on_.by.has_other_nodes();
      is_last_page_ = !listed.next || listed.next->id >= last || (!may_be_elsewhere && listed.next->id >= action_->id);
      last_listed_ = listed.jobs.empty() ? action_->progress.place : listed.jobs.back().job.id;
      page_end_ = listed.next ? listed.next->id : std::numeric_limits<jobs::job_id>::max();
      now_ = listed.now;
      if (filter.needs_body()) {
        auto searching = search_bodies();
        co_await searching;
      }
      co_return true;
    } catch (const jobs::store_unavailable&) {
      // A look changes nothing.
    }
    auto waiting = wait_to_try();
    const bool goes_on = co_await waiting;
    if (!goes_on) co_return false;
  }
}

task<bool> action_turn::read_cut_piece() {
  action_progress& progress = action_->progress;
  const jobs::job_id begin = progress.place;
  std::vector<found_job> as_before;
  bool is_read = true;
  for (bool has_more = true; has_more;) {
    auto reading = read_page(most_of_run_turn);
    is_read = co_await reading;
    if (!is_read) break;
    for (found_job& each : found_) {
      // What is not there any more, or has another version, was done before the piece was cut off, or has changed by
      // another hand. A kicked or fired job may have been worked on, and wait again: it is not to be done twice.
      const auto& before = progress.doing_versions;
      if (each.id > progress.doing_to || std::ranges::find(before, each.version) == before.end()) continue;
      each.may_be_done = true;  // the node that has lost the piece may still be at it
      as_before.push_back(each);
    }
    has_more = !is_last_page_ && page_end_ < progress.doing_to;  // more jobs lie there than did
    if (has_more) progress.place = page_end_;
  }
  progress.place = begin;
  found_ = std::move(as_before);
  is_last_page_ = is_last_page_ && page_end_ <= progress.doing_to;
  page_end_ = std::min(page_end_, progress.doing_to);
  co_return is_read;
}

task<> action_turn::search_bodies() {
  const std::size_t at_once = std::clamp<std::size_t>(bytes_searched_at_once / (on_.largest_job + 1), 1, 50);
  std::vector<found_job> kept;
  std::uint64_t partly = 0;
  for (std::size_t begin = 0; begin < found_.size(); begin += at_once) {
    std::deque<jobs::in_flight<jobs::peek>> looks;
    const std::size_t end = std::min(begin + at_once, found_.size());
    for (std::size_t i = begin; i < end; ++i) looks.emplace_back(on_.by, jobs::peek{found_[i].id});
    for (std::size_t i = begin; i < end; ++i) {
      jobs::in_flight<jobs::peek>& one = looks[i - begin];
      const jobs::peek_answer seen = co_await one;
      if (!seen.job || !action_->plan.filter.matches(*seen.job)) continue;
      partly += seen.job->body.size() > searched_of_body ? 1U : 0U;
      if (action_->plan.filter.matches_body(seen.job->body)) kept.push_back({found_[i].id, seen.version});
    }
  }
  found_ = std::move(kept);
  if (action_->progress.state == action_state::counting) action_->progress.partly += partly;
}

task<> action_turn::change_found(authorized_client& client) {
  action_progress& progress = action_->progress;
  std::vector<found_job> left = found_;
  while (!left.empty()) {
    std::deque<change> under_way;
    std::vector<found_job> again;
    auto beginning = begin_changes(client, left, under_way, again);
    bool has_rights = co_await beginning;
    if (is_lost_) co_return;
    for (change& each : under_way) {
      std::optional<action_outcome> came;
      try {
        auto ending = end_change(client, each);
        came = co_await ending;
      } catch (const access_refused&) {
        has_rights = false;
      }
      if (!came) {
        again.push_back(each.what);
        continue;
      }
      ++progress.matched;
      progress.note(each.what.id, *came);
    }
    left = std::move(again);
    if (!has_rights) co_return stop_piece(left, rights_have_ended);
    if (left.empty()) co_return;
    auto waiting = wait_to_try();
    const bool goes_on = co_await waiting;
    if (!goes_on) co_return;
    auto asking = is_asked_to_stop();
    const bool is_asked = co_await asking;
    if (is_lost_) co_return;
    if (is_asked) co_return stop_piece(left, was_asked);
  }
}

void action_turn::stop_piece(const std::vector<found_job>& left, const char* reason) {
  action_progress& progress = action_->progress;
  for (const found_job& each : left) {
    if (!each.may_be_done) continue;  // nothing was done to it
    ++progress.matched;
    progress.note(each.id, action_outcome::unknown);
  }
  progress.doing = 0;  // what has become of its jobs is told
  end(action_state::stopped, reason);
}

task<bool> action_turn::begin_changes(authorized_client& client, const std::vector<found_job>& of,
                                      std::deque<change>& under_way, std::vector<found_job>& again) {
  std::vector<jobs::job_id> ids;
  for (const found_job& each : of) ids.push_back(each.id);
  auto looking = client.look_up(std::move(ids));
  const authorized_client::known_jobs known = co_await looking;
  auto holding = holds_record();
  const bool is_held = co_await holding;
  bool has_rights = true;
  if (!is_held) co_return has_rights;
  for (const found_job& each : of) {
    if (!has_rights) {
      again.push_back(each);
      continue;
    }
    change& next = under_way.emplace_back(each);
    try {
      next.begin(client, known, action_->plan.what, action_->progress.due.value_or(now_));
      continue;
    } catch (const jobs::store_unavailable&) {
      // The look at it.
    } catch (const access_refused&) {
      has_rights = false;
    }
    under_way.pop_back();
    again.push_back(each);
  }
  co_return has_rights;
}

task<std::optional<action_outcome>> action_turn::end_change(authorized_client& client, change& one) {
  using kind = jobs::change_answer::kind;
  found_job& what = one.what;
  try {
    auto ending = one.end();
    const jobs::change_answer answer = co_await ending;
    const bool is_as_before = answer.what != kind::other_version && answer.what != kind::gone;
    if (answer.what == kind::no_space) co_return std::nullopt;
    if (what.may_be_done && !is_as_before) co_return action_outcome::unknown;
    if (answer.what != kind::other_version) co_return outcome_of_change(answer.what);
    auto looking = look_again(client, what);
    const std::optional<action_outcome> came = co_await looking;
    co_return came;
  } catch (const jobs::store_unavailable& why) {
    // The next try changes it if this one has not: both expect the same version.
    what.may_be_done = what.may_be_done || why.is_in_doubt();
  }
  co_return std::nullopt;
}

task<std::optional<action_outcome>> action_turn::look_again(authorized_client& client, found_job& what) {
  jobs::peek look{what.id, action_->plan.filter.needs_body()};
  auto looking = on_.by.execute(std::move(look));
  const jobs::peek_answer seen = co_await looking;
  if (!seen.job) co_return action_outcome::gone;
  const job_filter& filter = action_->plan.filter;
  if (seen.job->state == jobs::job_state::reserved) co_return action_outcome::reserved;
  if (!filter.matches(*seen.job) || !filter.matches_body(seen.job->body)) co_return action_outcome::changed;
  auto finding = client.look_up({what.id});
  const authorized_client::known_jobs known = co_await finding;
  // The version may be what another node has made of the job in this piece, unless the record is held behind the look.
  auto touching = touch_record();
  const bool is_held = co_await touching;
  if (!is_held) co_return std::nullopt;
  what.version = seen.version;
  change once(what);
  once.begin(client, known, action_->plan.what, action_->progress.due.value_or(now_));
  auto ending = once.end();
  const jobs::change_answer answer = co_await ending;
  using kind = jobs::change_answer::kind;
  if (answer.what == kind::no_space || answer.what == kind::other_version) co_return std::nullopt;
  co_return outcome_of_change(answer.what);
}

task<bool> action_turn::wait_to_try() {
  co_await runtime::sleep(between_tries);
  if (on_.ends()) {
    is_lost_ = true;
    co_return false;
  }
  auto touching = touch_record();
  static_cast<void>(co_await touching);
  co_return !is_lost_;
}

task<bool> action_turn::holds_record() {
  if (runtime::now() + least_time_left < held_until_) co_return true;
  auto touching = touch_record();
  static_cast<void>(co_await touching);
  is_lost_ = is_lost_ || runtime::now() >= held_until_;
  co_return !is_lost_;
}

task<bool> action_turn::touch_record() {
  try {
    auto touching = on_.by.execute(jobs::touch{record_.token});
    const jobs::holder_answer held = co_await touching;
    is_lost_ = held.what == jobs::holder_answer::kind::not_held;
    const bool is_held = held.what == jobs::holder_answer::kind::done;
    if (is_held) held_until_ = held.expires;
    co_return is_held;
  } catch (const jobs::store_unavailable&) {
    // The next try tells.
  }
  co_return false;
}

task<bool> action_turn::release(jobs::due_at due) {
  ++action_->progress.turns;
  for (;;) {
    const jobs::priority urgency = action_->progress.is_at_work() ? urgency_ : 0;
    try {
      auto releasing = on_.by.execute(jobs::release{record_.token, urgency, due, action_->progress.history()});
      const jobs::holder_answer done = co_await releasing;
      if (done.what == jobs::holder_answer::kind::done) co_return true;
      is_lost_ = done.what == jobs::holder_answer::kind::not_held;
    } catch (const jobs::store_unavailable&) {
      // In doubt, too: if it has happened, the record is not held any more.
    }
    if (is_lost_) co_return false;
    auto waiting = wait_to_try();
    const bool goes_on = co_await waiting;
    if (!goes_on) co_return false;
  }
}

task<bool> action_turn::save_and_hold() {
  auto releasing = release(away);
  const bool is_released = co_await releasing;
  if (!is_released) co_return false;
  try {
    auto claiming = on_.by.execute(jobs::claim_job{record_.token.id});
    jobs::claim_answer got = co_await claiming;
    if (!got.jobs.empty()) {
      record_ = std::move(got.jobs.front());
      held_until_ = record_.job.expires;
      if (record_.job.history == action_->progress.history()) co_return true;
      // In between a client has stopped the action, or another node has taken a turn: what they wrote is not undone.
      action_ = action::in(record_.job);
      auto leaving = leave_unchanged();
      co_await leaving;
    }
  } catch (const jobs::store_unavailable&) {
    // As if another node had it.
  }
  is_lost_ = true;
  co_return false;
}

task<> action_turn::save_and_leave() {
  jobs::due_at due = jobs::milliseconds(0);
  if (action_->progress.kept_until) due = *action_->progress.kept_until;
  auto releasing = release(due);
  static_cast<void>(co_await releasing);
}

task<bool> action_turn::is_asked_to_stop() {
  for (;;) {
    try {
      jobs::list_jobs any;
      any.tube = std::string(tube_of_stops);
      any.count = 1;
      auto listing = on_.by.execute(std::move(any));  // for the time
      jobs::peek mark{jobs::job_key{std::string(tube_of_stops), std::to_string(action_->id)}, false};
      auto looking = on_.by.execute(std::move(mark));
      const jobs::jobs_answer listed = co_await listing;
      const jobs::peek_answer seen = co_await looking;
      now_ = listed.now;
      co_return seen.job.has_value();
    } catch (const jobs::store_unavailable&) {
      // A look changes nothing.
    }
    auto waiting = wait_to_try();
    const bool goes_on = co_await waiting;
    if (!goes_on) co_return false;
  }
}

task<> action_turn::forget_stop() {
  try {
    const jobs::job_key mark{std::string(tube_of_stops), std::to_string(action_->id)};
    auto cancelling = on_.by.execute(jobs::cancel{mark});
    static_cast<void>(co_await cancelling);
  } catch (const jobs::store_unavailable&) {
    // It ends when its time comes.
  }
}

}  // namespace foliot::program
