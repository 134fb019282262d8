#include "policy_rules.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace foliot::jobs::detail {
namespace {

constexpr milliseconds moves_are_remembered_for = std::chrono::hours(24);

void add_failed(job_tries& to, std::uint32_t more) noexcept {
  to.failed += std::min(more, std::numeric_limits<std::uint32_t>::max() - to.failed);
}

bool was_last(const tube_policy& by, const reckoned_tries& it) noexcept {
  return it.is_readable && by.tries != 0 && it.tries.failed >= by.tries;
}

std::string text_of(const job_fields& in, field_tag tag) { return std::string(in.find(tag).value_or("")); }

bool is_of_report(field_tag tag) noexcept { return tag == tag_of_reason || tag == tag_of_worker; }

/// The history that an end of a reservation leaves, but for the tries: see policy_store.hpp.
job_fields history_behind(const std::optional<job_fields>& asked, const job_fields& before) {
  if (!asked) return before;
  if (!has_report(asked)) return *asked;
  job_fields made = before;
  for (const job_fields::entry each : *asked) {
    // Without room the job's own history goes before.
    if (!is_of_report(each.tag) && each.tag != tag_of_tries) static_cast<void>(made.set(each.tag, each.value));
  }
  return made;
}

/// With the tries that the history had before, as they are.
void keep_tries(const job_fields& before, job_fields& into) {
  into.erase(tag_of_tries);
  if (const auto kept = before.find(tag_of_tries)) static_cast<void>(into.set(tag_of_tries, *kept));
}

failed_try report_in(const std::optional<job_fields>& asked, failed_try::kind how, utc_time now) {
  failed_try made{.when = now, .how = how};
  if (asked) {
    made.why = text_of(*asked, tag_of_reason);
    made.worker = text_of(*asked, tag_of_worker);
  }
  return made;
}

/// The tries at the end of a reservation: without a policy the timeouts stay to be counted.
reckoned_tries tries_at_end(const tube_policy* by, const ended_job& it, utc_time now) {
  reckoned_tries made = it.of;
  made.tries.waits_since = made.tries.parked_until = utc_time{};
  if (by != nullptr) {
    count_timeouts(*by, made, now);
  } else {
    made.tries.seen_timeouts -= made.new_timeouts;
  }
  return made;
}

/// What the end leaves as the history: none if it is not concerned.
std::optional<job_fields> written(const std::optional<job_fields>& asked, const tube_policy* by, const ended_job& it,
                                  const reckoned_tries& of) {
  const bool has_tries = it.history.find(tag_of_tries).has_value();
  if (by == nullptr && has_worker_alone(asked)) return std::nullopt;
  if (by == nullptr && !has_report(asked) && (!asked || !has_tries)) return asked;
  job_fields made = history_behind(asked, it.history);
  const bool is_noted = of.is_readable && (by != nullptr || has_reason(asked));
  if (!is_noted || !of.tries.write(made)) keep_tries(it.history, made);
  return made;
}

due_at later_of(const due_at& asked, milliseconds delay, utc_time now) {
  if (const auto* const wanted = std::get_if<milliseconds>(&asked)) return std::max(*wanted, delay);
  const utc_time wanted = std::get<utc_time>(asked);
  // `now` is cut to milliseconds, so the delay ends up to one of them behind now + delay.
  return wanted > now + delay ? due_at(wanted) : due_at(delay);
}

}  // namespace

reckoned_tries reckon(const job& it) {
  std::optional<job_tries> kept = job_tries::in(it.history);
  if (!kept) return {.tries = {}, .is_readable = false};
  return reckon(it, *std::move(kept));
}

reckoned_tries reckon(const job& it, job_tries known) {
  reckoned_tries made{.tries = std::move(known)};
  job_tries& tries = made.tries;
  if (it.counters.kicks > tries.seen_kicks) {
    tries.failed = 0;
    tries.waits_since = tries.parked_until = utc_time{};
  }
  tries.seen_kicks = it.counters.kicks;
  made.new_timeouts = it.counters.timeouts - std::min(tries.seen_timeouts, it.counters.timeouts);
  tries.seen_timeouts = it.counters.timeouts;
  return made;
}

bool count_timeouts(const tube_policy& by, reckoned_tries& it, utc_time now) {
  const std::uint32_t ended = it.is_readable ? std::exchange(it.new_timeouts, 0) : 0;
  const std::size_t kept = std::min<std::size_t>(ended, most_kept_tries);
  for (std::size_t i = 0; i < kept; ++i) it.tries.note({.when = now, .how = failed_try::kind::timed_out});
  if (ended == 0 || !by.counts_timeouts) return false;
  add_failed(it.tries, ended);
  return true;
}

bool has_expired_by_itself(const job& it, utc_time now) {
  const std::optional<std::string_view> value = it.fields.find(tag_of_expiry);
  if (!value || value->size() != sizeof(std::uint64_t)) return false;
  std::uint64_t expiry = 0;
  for (const char each : *value) expiry = expiry << 8U | static_cast<unsigned char>(each);
  return now.time_since_epoch().count() >= 0 && static_cast<std::uint64_t>(now.time_since_epoch().count()) >= expiry;
}

utc_time waits_since(const job& it, const reckoned_tries& of) noexcept {
  const bool is_parked = of.is_readable && of.tries.parked_until != utc_time{} && it.due <= of.tries.parked_until;
  return is_parked ? std::min(of.tries.waits_since, it.due) : it.due;
}

bool has_waited_too_long(const tube_policy& by, utc_time since, utc_time now) noexcept {
  return by.expires > milliseconds(0) && since + by.expires <= now;
}

bool acts_on_failures(const tube_policy& by) noexcept {
  return by.tries != 0 || !by.delay.listed.empty() || by.delay.first > milliseconds(0);
}

std::string_view group_of(const job& it) noexcept {
  const std::string_view group = it.fields.find(tag_of_group).value_or("");
  return group.size() <= most_group_bytes ? group : std::string_view();
}

judgement judge(const tube_policy& by, const job& it, reckoned_tries of, utc_time now, utc_time since) {
  judgement made{.of = std::move(of)};
  if (has_expired_by_itself(it, now)) {
    made.what = fate::expired;
    return made;
  }
  // Before the timeouts: what the store keeps says it already.
  const bool was_marked = was_last(by, made.of);
  const bool has_failed = count_timeouts(by, made.of, now) && acts_on_failures(by);
  if (was_last(by, made.of) || has_failed) {
    made.of.tries.waits_since = made.of.tries.parked_until = utc_time{};
    job_fields history = it.history;
    if (made.of.tries.write(history)) made.history = std::move(history);
  }
  if (was_last(by, made.of)) {
    made.what = fate::buried;
    if (!by.dead_letters.empty()) made.what = was_marked || !made.history ? fate::moved : fate::marked;
  } else if (has_failed && made.history) {
    // Without room for the numbers the counter of timeouts keeps them.
    made.what = fate::retried;
    made.delay = delay_behind(by.delay, it.id, made.of.tries.failed);
  } else if (has_waited_too_long(by, since, now)) {
    made.what = fate::expired;
  }
  return made;
}

bool has_reason(const std::optional<job_fields>& history) noexcept {
  return history && history->find(tag_of_reason).has_value();
}

bool has_worker_alone(const std::optional<job_fields>& history) noexcept {
  if (!history || !history->find(tag_of_worker)) return false;
  return std::ranges::all_of(*history, [](const job_fields::entry& each) { return each.tag == tag_of_worker; });
}

bool has_report(const std::optional<job_fields>& history) noexcept {
  return history && (history->find(tag_of_reason) || history->find(tag_of_worker));
}

rewritten_end rewrite(release what, const tube_policy* by, const ended_job& it, utc_time now) {
  reckoned_tries of = tries_at_end(by, it, now);
  of.tries.note(report_in(what.history, failed_try::kind::released, now));
  if (by != nullptr && by->counts_releases && of.is_readable) add_failed(of.tries, 1);
  what.history = written(what.history, by, it, of);
  if (by == nullptr) return {std::move(what)};
  if (was_last(*by, of)) {
    if (by->dead_letters.empty()) {
      return {bury{what.token, what.priority, std::move(what.history)}, fate::buried};
    }
    what.due = milliseconds(0);
    return {std::move(what), fate::marked};
  }
  if (!by->counts_releases) return {std::move(what)};
  what.due = later_of(what.due, delay_behind(by->delay, it.id, of.tries.failed), now);
  return {std::move(what), fate::retried};
}

rewritten_end rewrite(bury what, const tube_policy* by, const ended_job& it, utc_time now) {
  reckoned_tries of = tries_at_end(by, it, now);
  of.tries.note(report_in(what.history, failed_try::kind::buried, now));
  what.history = written(what.history, by, it, of);
  return {std::move(what)};
}

put dead_letter_of(const job& it, const job_tries& tries, const tube_policy& by, utc_time now) {
  put made{.tube = by.dead_letters,
           .body = it.body,
           .priority = it.priority,
           .ttr = it.ttr,
           .fields = it.fields,
           .history = it.history};
  made.fields.erase(tag_of_expiry);  // nobody waits for it any more, and it is kept to be looked at
  job_tries moved = tries;
  moved.failed = moved.seen_timeouts = moved.seen_kicks = 0;
  moved.waits_since = moved.parked_until = utc_time{};
  std::string who = std::to_string(it.id);
  if (!it.key.empty()) who += ' ' + it.key;
  moved.note({.when = now, .how = failed_try::kind::moved, .why = it.tube, .worker = std::move(who)});
  if (!moved.write(made.history)) made.history.erase(tag_of_tries);
  // A job moves once for each time that it was kicked. No digest: what tells the moves apart is shorter than one.
  constexpr std::string_view name = "foliot: a move";
  sha256 key{};
  std::ranges::transform(name, key.begin(), [](char each) { return static_cast<std::byte>(each); });
  std::size_t at = name.size();
  const auto add = [&key, &at](std::uint64_t number, unsigned bytes) {
    for (unsigned left = bytes; left-- > 0;) key[at++] = static_cast<std::byte>(number >> (8 * left));
  };
  add(it.id, 8);
  add(static_cast<std::uint64_t>(it.made.time_since_epoch().count()), 6);
  add(it.counters.kicks, 4);
  made.once = once(key, key, moves_are_remembered_for);
  return made;
}

}  // namespace foliot::jobs::detail
