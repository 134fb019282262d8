#include "action_records.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "server/access/digest.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

bool is_owner(const rights& held, const action_plan& plan) {
  return held.id() == plan.owner && is_same_digest(held.proof(), plan.proof);
}

/// A tube within quotes, for the log, which escapes control characters.
std::string shown_tubes(const job_filter& filter) {
  return filter.tube.empty() ? fmt::format("tubes '{}*'", filter.prefix) : fmt::format("tube '{}'", filter.tube);
}

}  // namespace

bool action_records::may_see(const action& what) const {
  const rights& held = client_.allowed();
  return held.covers(*what.plan.needs()) && (is_owner(held, what.plan) || held.may(scope::administer));
}

task<std::vector<action>> action_records::all() {
  jobs::list_jobs page;
  page.tube = std::string(tube_of_actions);
  page.count = jobs::most_listed;
  std::vector<action> found;
  for (bool has_more = true; has_more;) {
    auto listing = client_.execute_for_server(page);
    const jobs::jobs_answer listed = co_await listing;
    has_more = listed.next.has_value();
    if (has_more) page.after = *listed.next;
    constexpr std::size_t at_once = 50;
    for (std::size_t begin = 0; begin < listed.jobs.size(); begin += at_once) {
      std::deque<jobs::in_flight<jobs::peek>> looks;
      const std::size_t end = std::min(begin + at_once, listed.jobs.size());
      for (std::size_t i = begin; i < end; ++i) {
        // Made in place: it cannot be moved there.
        looks.emplace_back(client_.connection_for_server(), jobs::peek{listed.jobs[i].job.id, false});
      }
      for (jobs::in_flight<jobs::peek>& one : looks) {
        const jobs::peek_answer seen = co_await one;
        std::optional<action> known = seen.job ? action::in(*seen.job) : std::nullopt;
        if (known) found.push_back(std::move(*known));
      }
    }
  }
  co_return found;
}

task<action_records::result> action_records::find_excess(std::size_t more) {
  auto looking = all();
  const std::vector<action> known = co_await looking;
  if (known.size() + more > most_actions) co_return result::too_many;
  const auto own =
      std::ranges::count_if(known, [&](const action& each) { return is_owner(client_.allowed(), each.plan); });
  co_return static_cast<std::size_t>(own) + more > most_of_owner ? result::too_many_own : result::done;
}

task<action_records::answer> action_records::make(action_plan plan) {
  plan.owner = client_.allowed().id();
  plan.proof = client_.allowed().proof();
  auto looking = find_excess(1);
  const result before = co_await looking;
  if (before != result::done) co_return answer{before};
  std::optional<jobs::job_fields> fields = plan.fields();
  if (!fields) co_return answer{result::too_long};
  jobs::put record;
  record.tube = std::string(tube_of_actions);
  record.due = longest_turn;  // no turn of it begins before it is known whether it may stay
  record.ttr = longest_turn;
  record.fields = std::move(*fields);
  auto putting = client_.execute_for_server(std::move(record));
  const jobs::put_answer put = co_await putting;
  if (put.what == jobs::put_answer::kind::no_space) co_return answer{result::no_space};
  answer made;
  std::exception_ptr failure;
  try {
    auto admitting = admit(put.id);
    made = co_await admitting;
  } catch (const jobs::store_unavailable&) {
    failure = std::current_exception();
  } catch (const jobs::broker_full&) {
    failure = std::current_exception();
  }
  if (failure == nullptr && made.what == result::done) co_return made;
  // Also after a failure: the client learns that there is no action, and does not know its id.
  auto cancelling = client_.execute_for_server(jobs::cancel{put.id});
  static_cast<void>(co_await cancelling);
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return made;
}

task<action_records::answer> action_records::admit(jobs::job_id id) {
  // Other requests, also of other nodes, may have looked and put meanwhile. Of those that are too many the last one
  // sees it, whichever that is; the others may see it, too.
  auto looking = find_excess(0);
  const result excess = co_await looking;
  if (excess != result::done) co_return answer{excess};
  auto firing = client_.execute_for_server(jobs::fire_now{id});
  static_cast<void>(co_await firing);
  auto finding = find(id);
  answer made = co_await finding;
  co_return made;
}

task<action_records::answer> action_records::find(jobs::job_id id) {
  auto looking = client_.execute_for_server(jobs::peek{id, false});
  const jobs::peek_answer seen = co_await looking;
  answer found{result::none};
  std::optional<action> known = seen.job ? action::in(*seen.job) : std::nullopt;
  if (known && may_see(*known)) {
    found.what = result::done;
    found.seen = std::move(known);
    found.version = seen.version;
  }
  co_return found;
}

task<std::vector<action>> action_records::list() {
  auto looking = all();
  std::vector<action> known = co_await looking;
  std::erase_if(known, [this](const action& each) { return !may_see(each); });
  co_return known;
}

task<std::optional<action_records::held_record>> action_records::hold(jobs::job_id id) {
  jobs::list_jobs any;
  any.tube = std::string(tube_of_stops);
  any.count = 1;
  auto listing = client_.execute_for_server(std::move(any));  // for the time
  auto claiming = client_.execute_for_server(jobs::claim_job{id});
  const jobs::jobs_answer listed = co_await listing;
  const jobs::claim_answer got = co_await claiming;
  if (got.jobs.empty()) co_return std::nullopt;
  std::optional<action> known = action::in(got.jobs.front().job);
  if (!known) co_return std::nullopt;  // it is given back when the connection ends
  co_return held_record{got.jobs.front().token, std::move(*known), listed.now};
}

task<action_records::answer> action_records::give_back(held_record record, jobs::due_at due) {
  answer given;
  auto releasing =
      client_.execute_for_server(jobs::release{record.token, jobs::priority(0), due, record.seen.progress.history()});
  const jobs::holder_answer done = co_await releasing;
  if (done.what == jobs::holder_answer::kind::not_held) given.what = result::busy;
  if (done.what == jobs::holder_answer::kind::no_space) {
    given.what = result::no_space;
    auto abandoning = client_.execute_for_server(jobs::abandon{record.token});
    static_cast<void>(co_await abandoning);
  }
  given.seen = std::move(record.seen);
  co_return given;
}

task<action_records::answer> action_records::start(jobs::job_id id, std::uint64_t counted) {
  auto finding = find(id);
  answer found = co_await finding;
  if (found.what != result::done) co_return found;
  if (found.seen->progress.state != action_state::counted) found.what = result::wrong_state;
  if (found.what == result::done && found.seen->progress.counted != counted) found.what = result::wrong_count;
  if (found.what != result::done) co_return found;
  auto holding = hold(id);
  std::optional<held_record> record = co_await holding;
  if (!record || record->seen.progress.state != action_state::counted) {
    found.what = result::busy;
    if (record) {  // another request was quicker, and a turn has not begun yet
      auto giving = give_back(std::move(*record), jobs::milliseconds(0));
      static_cast<void>(co_await giving);
    }
    co_return found;
  }
  const action_plan& plan = record->seen.plan;
  client_.tell_of_action(fmt::format("action {}, {} of {} jobs of {}", id,
                                     names_of_kinds[static_cast<std::size_t>(plan.what)], counted,
                                     shown_tubes(plan.filter)));
  action_progress& progress = record->seen.progress;
  progress.state = action_state::running;
  progress.place = 0;
  progress.started = record->now;
  progress.kept_until = std::nullopt;
  if (plan.due && std::holds_alternative<jobs::utc_time>(*plan.due)) progress.due = std::get<jobs::utc_time>(*plan.due);
  if (plan.due && std::holds_alternative<jobs::milliseconds>(*plan.due)) {
    progress.due = record->now + std::get<jobs::milliseconds>(*plan.due);
  }
  auto giving = give_back(std::move(*record), jobs::milliseconds(0));
  answer done = co_await giving;
  co_return done;
}

task<action_records::answer> action_records::ask_to_stop(action what) {
  jobs::put mark;
  mark.tube = std::string(tube_of_stops);
  mark.key = std::to_string(what.id);
  mark.due = stop_waits;
  mark.ttr = longest_turn;
  auto putting = client_.execute_for_server(std::move(mark));
  const jobs::put_answer put = co_await putting;
  answer asked;
  asked.is_stopping = put.what != jobs::put_answer::kind::no_space;
  if (!asked.is_stopping) asked.what = result::no_space;
  asked.seen = std::move(what);
  co_return asked;
}

task<action_records::answer> action_records::stop(jobs::job_id id) {
  auto finding = find(id);
  answer found = co_await finding;
  if (found.what != result::done) co_return found;
  const auto has_ended = [](const action& it) {
    return it.progress.state == action_state::done || it.progress.state == action_state::stopped;
  };
  if (has_ended(*found.seen)) co_return found;
  client_.tell_of_action(fmt::format("action {}, stop", id));
  auto holding = hold(id);
  std::optional<held_record> record = co_await holding;
  if (!record) {
    auto asking = ask_to_stop(std::move(*found.seen));
    answer asked = co_await asking;
    // The turn may have given the record back before it could see that.
    auto again = hold(id);
    record = co_await again;
    if (!record) co_return asked;
  }
  if (!has_ended(record->seen)) {
    record->seen.progress.end(action_state::stopped, "a client has asked for it", record->now);
  }
  const jobs::utc_time until = record->seen.progress.kept_until.value_or(record->now);
  auto giving = give_back(std::move(*record), until);
  answer done = co_await giving;
  co_return done;
}

task<action_records::answer> action_records::forget(jobs::job_id id) {
  auto finding = find(id);
  answer found = co_await finding;
  if (found.what != result::done) co_return found;
  if (found.seen->progress.is_at_work()) {
    found.what = result::wrong_state;
    co_return found;
  }
  client_.tell_of_action(fmt::format("action {}, forget", id));
  auto cancelling = client_.execute_for_server(jobs::cancel{id, found.version});
  const jobs::change_answer done = co_await cancelling;
  if (done.what != jobs::change_answer::kind::done) found.what = result::busy;
  co_return found;
}

}  // namespace foliot::program
