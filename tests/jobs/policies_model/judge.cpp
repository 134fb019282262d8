#include "judge.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include <foliot/jobs/policy_store.hpp>

namespace foliot::jobs::policies_model {
namespace {

using enum life::place;

/// From the one to the other, both included.
struct delays {
  milliseconds from{};
  milliseconds until{};
};

/// By the words of retry_delay. The part of the jitter is not known.
delays delay_behind_try(const retry_delay& by, std::uint32_t failed) {
  double base = 0;
  if (by.listed.empty()) {
    const auto most = static_cast<double>(by.most.count());
    base = static_cast<double>(by.first.count());
    for (std::uint32_t i = 1; i < failed && base < most && base > 0; ++i) base *= by.factor;
    base = std::min(base, most);
  } else {
    base = static_cast<double>(by.listed[std::min<std::size_t>(failed, by.listed.size()) - 1].count());
  }
  return {milliseconds(std::llround(std::floor(base))), milliseconds(std::llround(std::ceil(base * (1 + by.jitter))))};
}

/// In place of a text that is not known.
constexpr std::string_view any_text = "any";

std::string others_of(const job_fields& history) {
  job_fields left = history;
  for (const field_tag each : {tag_of_tries, tag_of_reason, tag_of_worker}) left.erase(each);
  return std::string(left.bytes());
}

std::string text_of(utc_time when) { return std::to_string(when.time_since_epoch().count()); }

std::string text_of(const life& it) {
  constexpr std::array names{"absent", "waiting", "held", "condemned", "buried", "gone"};
  return std::string(names[static_cast<std::size_t>(it.where)]) + " in " + it.tube + ", failed " +
         std::to_string(it.failed) + ", kicks " + std::to_string(it.kicks) + ", timeouts " +
         std::to_string(it.timeouts) + ", due " + text_of(it.due_from) + " to " + text_of(it.due_until) +
         (it.is_ripe ? " (ripe)" : "") + ", waits since " + text_of(it.wait_from) + " to " + text_of(it.wait_until) +
         (it.may_be_expired ? " (may be expired)" : "");
}

utc_time time_of(const due_at& due, const moment& now) {
  if (const auto* const delay = std::get_if<milliseconds>(&due)) {
    return delay->count() > 0 ? now.up() + *delay : now.down();
  }
  return std::get<utc_time>(due);
}

void become_due(life& it, utc_time from, utc_time until, const moment& now) {
  it.where = waiting;
  it.due_from = from;
  it.due_until = until;
  it.wait_from = from;
  it.wait_until = until;
  it.is_ripe = from <= now.down();
  it.may_be_expired = false;
  it.is_unjudged = false;
  it.open_delay = milliseconds(-1);
}

/// Ready at once, and with the due time from before.
void come_back(life& it, const moment& now) {
  it.where = waiting;
  it.is_ripe = true;
  it.wait_from = std::min(it.wait_from, now.down());
  it.wait_until = std::max(it.wait_until, now.up());
}

void begin_anew(life& it, const moment& now) {
  become_due(it, now.down(), now.down(), now);
  it.is_ripe = true;
  it.failed = 0;
  it.phantoms += it.unwritten;  // a store that does not know of them yet counts them behind the kick
  it.unwritten = 0;
  it.unwritten_failed = 0;
  ++it.kicks;
}

bool is_held_by(const life& it, const reservation& token, const moment& now) {
  return it.where == held && it.token == token && it.ends >= now.monotonic;
}

template <class Lives>
void add_once(Lives& to, life it) {
  if (std::ranges::find(to, it) == to.end()) to.push_back(std::move(it));
}

}  // namespace

void judge::set_policies(policy_table policies) {
  policies_ = std::move(policies);
  hand_outs_.clear();
  for (const auto& [name, each] : policies_) letters_.insert(each.dead_letters);
  for (auto& [body, of] : jobs_) {
    for (life& it : of.lives) it.parked = std::exchange(it.seen_parked, utc_time());
    // A job on its way to the dead letters that has tries left by these policies may be tried again.
    for (life it : lives(of.lives)) {
      const tube_policy* const by = policy_of(it.tube);
      if (it.where != condemned || (by != nullptr && by->tries != 0 && it.failed >= by->tries)) continue;
      it.where = waiting;
      it.is_unjudged = true;
      add_once(of.lives, std::move(it));
    }
    // What is not written when the policies change may count by these or by those.
    for (life it : lives(of.lives)) {
      if (it.unwritten == 0) continue;
      if (it.where == condemned) it.where = waiting;
      const tube_policy* const by = policy_of(it.tube);
      it.failed -= std::exchange(it.unwritten_failed, 0);
      add_once(of.lives, it);
      it.failed += it.unwritten;
      it.unwritten_failed = it.unwritten;
      if (by != nullptr) it.open_delay = std::max(it.open_delay, delay_behind_try(by->delay, it.failed).until);
      it.is_unjudged = true;
      add_once(of.lives, std::move(it));
    }
  }
}

const tube_policy* judge::policy_of(const std::string& tube) const {
  const auto found = policies_.find(tube);
  return found == policies_.end() ? nullptr : &found->second;
}

known_job* judge::holder_of(const reservation& token) {
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? nullptr : &jobs_.at(found->second);
}

bool judge::is_exhausted(const life& it) const {
  const tube_policy* const by = policy_of(it.tube);
  return it.where == condemned || (by != nullptr && by->tries != 0 && it.failed >= by->tries);
}

std::optional<utc_time> judge::own_expiry_of(const known_job& of, const life& it) {
  return it.is_moved ? std::nullopt : of.own_expiry;
}

/// Reservations that nobody knows may end by their TTR, and count.
bool judge::may_count_phantoms(const tube_policy& by) const {
  return rigour_ == rigour::loose && by.tries != 0 && by.counts_timeouts;
}

utc_time judge::must_have_expired(const known_job& of, const life& it) const {
  utc_time first = own_expiry_of(of, it).value_or(utc_time::max());
  const tube_policy* const by = policy_of(it.tube);
  if (by == nullptr) return first;
  // A job that waits for its group gets new due times meanwhile.
  const bool may_be_parked = by->most_reserved_of_group != 0 && !of.group.empty();
  if (by->expires.count() != 0 && !may_be_parked && it.wait_until < utc_time::max() - by->expires) {
    first = std::min(first, it.wait_until + by->expires);
  }
  return first;
}

// Time.

void judge::time_is(const moment& now) {
  latest_ = std::max(latest_, now.up());
  for (auto& [body, of] : jobs_) {
    for (life& it : of.lives) {
      if (it.where == held && it.ends < now.monotonic) time_out(it, now);
      const auto own = own_expiry_of(of, it);
      if (it.where == buried && own && now.down() >= *own) it.may_be_expired = true;  // if a client asks for it
      if (it.where != waiting && it.where != condemned) continue;
      if (it.where == waiting && it.due_from <= now.down()) it.is_ripe = true;
      // While it waits for its group, or to be judged, its wait may begin anew.
      const bool may_begin_anew =
          !of.group.empty() || it.is_unjudged || (rigour_ == rigour::loose && it.unwritten != 0);
      if (it.is_ripe && may_begin_anew) it.wait_from = std::min(it.wait_from, now.down());
      if (own && now.down() >= *own) it.may_be_expired = true;
      const tube_policy* const by = policy_of(it.tube);
      if (by == nullptr) continue;
      if (by->expires.count() != 0 && now.down() >= it.wait_from + by->expires) it.may_be_expired = true;
      const bool may_be_moved = is_exhausted(it) || may_count_phantoms(*by);
      const tube_policy* const behind = may_be_moved ? policy_of(by->dead_letters) : nullptr;
      const milliseconds there = behind == nullptr ? milliseconds(0) : behind->expires;
      // As a dead letter. One that has no try left because the policies changed may have moved at any time.
      const bool is_late = now.down() >= it.due_from + there || it.where == waiting;
      if (there.count() != 0 && is_late) it.may_be_expired = true;
    }
  }
}

void judge::time_out(life& it, const moment& now) {
  ++seen_.timed_out;
  const moment end{now.wall - (now.monotonic - it.ends).to_chrono(), it.ends};
  const tube_policy* const by = policy_of(it.tube);
  ++it.timeouts;
  ++it.unwritten;
  it.tries.push_back({.how = failed_try::kind::timed_out, .from = end.down(), .may_be_missing = true});
  const utc_time wait_from = it.wait_from;
  it.where = waiting;
  if (by != nullptr && by->counts_timeouts) ++it.unwritten_failed;
  end_try(it, by != nullptr && by->counts_timeouts, end.down(), end);
  it.wait_from = std::min(wait_from, end.down());
  it.wait_until = utc_time::max();  // until it is seen at rest: see refutes_place()
  if (it.open_delay.count() < 0) it.open_delay = milliseconds(0);
}

void judge::end_try(life& it, bool counts, utc_time asked, const moment& now) {
  const tube_policy* const by = policy_of(it.tube);
  delays behind{};
  delays not_counted{};
  if (counts) {
    ++it.failed;
    if (by->tries != 0 && it.failed >= by->tries) {
      ++seen_.condemned;
      become_due(it, now.down(), now.up(), now);
      it.where = condemned;
      return;
    }
    ++seen_.retried;
    behind = delay_behind_try(by->delay, it.failed);
  } else if (by != nullptr) {
    not_counted = delay_behind_try(by->delay, it.failed + 1);
  }
  const utc_time from = behind.from.count() == 0 ? asked : std::max(asked, now.up() + behind.from);
  const utc_time until = behind.until.count() == 0 ? asked : std::max(asked, now.up() + behind.until);
  become_due(it, from, until, now);
  it.open_delay = std::max(behind.until, not_counted.until);
}

// What clients do.

void judge::answered(const operation& what, const answer& got, const moment& now) {
  if (std::holds_alternative<passed_over_answer>(got)) return;
  if (const auto* const lost = std::get_if<unavailable_answer>(&got)) {
    if (lost->is_in_doubt) in_doubt(what, now);
    return;
  }
  std::visit(
      [&](const auto& it) {
        using kind = std::decay_t<decltype(it)>;
        if constexpr (std::is_same_v<kind, put>) {
          put_one(it, std::get<put_answer>(got), now);
        } else if constexpr (std::is_same_v<kind, claim>) {
          const auto& brought = std::get<claim_answer>(got);
          claimed(what, brought, brought.is_replayed ? way::replay : way::claim, now);
        } else if constexpr (std::is_same_v<kind, claim_job>) {
          claimed(what, std::get<claim_answer>(got), way::claim_job, now);
        } else if constexpr (requires { it.token; }) {
          ended(it, std::get<holder_answer>(got), now);
        } else if constexpr (std::is_same_v<kind, jobs::kick>) {
          if (std::get<bulk_answer>(got).changed != 0) kick_some(it.tube, now);
        } else if constexpr (std::is_same_v<kind, kick_job>) {
          changed(it, std::get<change_answer>(got), it.id, now);
        } else if constexpr (requires {
                               it.expected;
                               it.name;
                             }) {
          changed(it, std::get<change_answer>(got), std::get<job_id>(it.name), now);
        }
      },
      what);
}

void judge::put_one(const put& what, const put_answer& got, const moment& now) {
  using enum put_answer::kind;
  if (what.holder) {
    known_job* const old = holder_of(*what.holder);
    lives left;
    for (life& it : old == nullptr ? lives() : old->lives) {
      const bool is_holder = is_held_by(it, *what.holder, now);
      if (got.what == replaced && is_holder) it.where = gone;
      if (is_holder == (got.what == replaced) || got.what == no_space) left.push_back(it);
    }
    if (old != nullptr && left.empty()) return fail("a put with a holder is answered wrongly: " + old->lives[0].tube);
    if (old != nullptr) old->lives = std::move(left);
  }
  if (got.what != inserted && got.what != replaced) return;
  known_job& of = jobs_[what.body];
  if (!of.lives.empty()) {  // sent again
    std::erase_if(of.lives, [&](const life& it) { return (it.where == absent) == got.is_replayed; });
    if (got.is_replayed) {
      if (of.lives.empty()) fail("a put is replayed that has not happened: " + what.body);
      for (life& it : of.lives) {
        if (it.id == 0 && !it.is_moved) it.id = got.id;
      }
      return;
    }
    if (of.lives.empty()) return fail("a put has happened twice: " + what.body);
    of.lives.clear();
  }
  of.priority = what.priority;
  of.ttr = what.ttr;
  of.key = what.key;
  of.fields = what.fields.bytes();
  job_fields without_expiry = what.fields;
  without_expiry.erase(tag_of_expiry);
  of.fields_of_dead_letter = without_expiry.bytes();
  of.group = what.fields.find(tag_of_group).value_or("");
  if (const auto expiry = what.fields.find(tag_of_expiry); expiry && expiry->size() == 8) {
    std::uint64_t since = 0;
    for (const char each : *expiry) since = since << 8U | static_cast<unsigned char>(each);
    if (since < std::uint64_t{1} << 53U) of.own_expiry = utc_time(milliseconds(static_cast<std::int64_t>(since)));
  }
  life made;
  made.tube = what.tube;
  made.id = got.id;
  made.others = others_of(what.history);
  const utc_time due = time_of(what.due, now);
  become_due(made, due, due, now);
  of.lives = {made};
}

void judge::claimed(const operation& what, const claim_answer& got, way how, const moment& now) {
  std::optional<std::pair<priority, job_id>> before;
  if (const auto* const asked = std::get_if<claim>(&what)) {
    if (got.jobs.size() > asked->count && !got.is_replayed) fail("a claim has brought more than it asked for");
    for (const claimed_job& each : got.jobs) {
      if (std::ranges::find(asked->tubes, each.job.tube) == asked->tubes.end()) fail("a claim from another tube");
      const std::pair place(each.job.priority, each.job.id);
      if (before && *before > place && !got.is_replayed) fail("the jobs of a claim are not in their order");
      before = place;
    }
  }
  for (const claimed_job& each : got.jobs) hand_out(each, how, now);
}

std::optional<std::string> judge::differs(const known_job& of, const job& got) const {
  if (got.priority != of.priority) return "it has another priority";
  if (got.ttr != of.ttr) return "it has another TTR";
  const bool is_whole = got.fields.bytes() == of.fields;
  if (!is_whole && !(letters_.contains(got.tube) && got.fields.bytes() == of.fields_of_dead_letter))
    return "it has other fields";
  return std::nullopt;
}

std::optional<std::string> judge::forbids(const known_job& of, const life& it, way how, const moment& now) const {
  if (how == way::replay) {
    // The answer to the first claim is in doubt, and the job has been reserved since.
    const bool may_be = is_held_by(it, it.token, now) || it.where == waiting;
    return may_be ? std::nullopt : std::optional<std::string>("it is not held, and comes with a replay");
  }
  if (it.where == held) return "it is held already";
  if (it.where == gone || it.where == absent) return "it has ended, or never was";
  // Who asks for this very job gets it, whatever its tries.
  if (it.where == condemned && how == way::claim) return "it has had its last try";
  if (it.where == buried && how == way::claim) return "it is buried";
  if (is_exhausted(it) && how == way::claim) return "it has no try left";
  if (how == way::claim && !it.is_ripe && it.due_from > now.down()) return "it is early";
  if (const utc_time end = must_have_expired(of, it); it.where == waiting && now.down() >= end) {
    return "it has expired at " + text_of(end);
  }
  return std::nullopt;
}

void judge::hand_out(const claimed_job& got, way how, const moment& now) {
  const auto found = jobs_.find(got.job.body);
  if (found == jobs_.end()) return fail("a job that nobody has put: " + got.job.body);
  known_job& of = found->second;
  const std::string name = "job " + std::to_string(got.token.id) + " (" + got.job.body + ")";
  if (const auto other = differs(of, got.job)) return fail(name + ": " + *other);
  std::string why;
  lives left;
  for (const life& before : of.lives) {
    std::optional<life> it = before;
    if (before.tube != got.job.tube) it = moved_to(got.job.tube, of, before, now);
    // So often as an unknown reservation has ended by its TTR, the wait has begun anew.
    if (it && (rigour_ == rigour::loose || it->is_unjudged)) it->wait_until = std::max(it->wait_until, got.job.due);
    std::optional<std::string> wrong = it ? forbids(of, *it, how, now) : "it is in tube " + got.job.tube;
    if (it && !wrong && it->id != 0 && it->id != got.token.id) wrong = "it has another id";
    if (it && !wrong && how == way::replay && it->where == held && it->token != got.token) wrong = "another token";
    if (it && !wrong && it->kicks != got.job.counters.kicks) wrong = "it was not kicked so often";
    if (it && !wrong && rigour_ == rigour::strict && it->timeouts != got.job.counters.timeouts) {
      wrong = "it has " + std::to_string(got.job.counters.timeouts) + " timeouts";
    }
    if (wrong) {
      why += "; " + *wrong + ": " + text_of(before);
      continue;
    }
    it->where = held;
    it->id = got.token.id;
    it->token = got.token;
    it->ends = got.job.expires;
    if (got.job.counters.timeouts > it->timeouts) {
      it->phantoms += got.job.counters.timeouts - it->timeouts;
      it->timeouts = got.job.counters.timeouts;
    }
    add_once(left, *it);
  }
  if (left.empty()) return fail(name + " is handed out at " + text_of(now.down()) + why);
  if (how != way::replay && got.job.expires != now.monotonic + got.job.ttr) fail(name + ": another end of its TTR");
  of.lives = std::move(left);
  tokens_[got.token] = got.job.body;
  ++seen_.handed_out;
  if (how == way::claim) count_hand_out(got.job.body, got.job.tube, now);
}

std::size_t judge::held_of(const std::string& tube, const std::string* group, const moment& now) const {
  std::size_t count = 0;
  for (const auto& [body, of] : jobs_) {
    if (group != nullptr && of.group != *group) continue;
    const auto is_held = [&](const life& it) { return it.tube == tube && is_held_by(it, it.token, now); };
    if (std::ranges::all_of(of.lives, is_held)) ++count;
  }
  return count;
}

void judge::count_hand_out(const std::string& body, const std::string& tube, const moment& now) {
  const tube_policy* const by = policy_of(tube);
  if (by == nullptr) return;
  const std::string& group = jobs_.at(body).group;
  const auto check = [&](std::size_t count, std::uint32_t most, const char* what) {
    if (most == 0) return;
    if (count > most) fail("tube " + tube + ": " + std::to_string(count) + " are reserved " + what);
    if (count == most) ++seen_.full;
  };
  check(held_of(tube, nullptr, now), by->most_reserved, "at once");
  if (!group.empty()) check(held_of(tube, &group, now), by->most_reserved_of_group, "of a group");
  if (by->most_per_second == 0) return;
  std::vector<instant>& times = hand_outs_[tube];
  times.push_back(now.monotonic);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double length = std::chrono::duration<double>((now.monotonic - times[i]).to_chrono()).count();
    const double most = by->burst + length * by->most_per_second;
    if (static_cast<double>(times.size() - i) > most + 1e-6) {
      return fail("tube " + tube + ": " + std::to_string(times.size() - i) + " within " + std::to_string(length) +
                  " s");
    }
  }
}

template <class Operation>
void judge::ended(const Operation& what, const holder_answer& got, const moment& now) {
  using enum holder_answer::kind;
  known_job* const of = holder_of(what.token);
  if (of == nullptr) {
    if (got.what == done) fail("a reservation that nobody has is done");
    return;
  }
  if (got.what == no_space) return;
  lives left;
  for (life it : of->lives) {
    const bool is_holder = is_held_by(it, what.token, now);
    if (is_holder != (got.what == done)) continue;
    if (got.what == done) {
      apply(it, what, *of, now);
      if constexpr (std::is_same_v<Operation, touch>) it.ends = got.expires;
    }
    add_once(left, std::move(it));
  }
  const std::string name = "job " + std::to_string(what.token.id);
  if (left.empty()) {
    return fail(name + (got.what == done ? ": done by who does not hold it" : ": a living reservation is refused") +
                ": " + text_of(of->lives.front()));
  }
  of->lives = std::move(left);
}

template <class Operation>
void judge::changed(const Operation& what, const change_answer& got, job_id id, const moment& now) {
  using answered = change_answer::kind;
  if (got.what == answered::no_space || got.what == answered::refused) return;
  for (auto& [body, of] : jobs_) {
    if (std::ranges::none_of(of.lives, [&](const life& it) { return it.id == id; })) continue;
    lives left;
    bool has_expired = false;
    for (life it : of.lives) {
      const bool is_here = it.id == id && it.where != absent && it.where != gone;
      if (got.what == answered::done) {
        if (!is_here || is_held_by(it, it.token, now)) continue;
        apply(it, what, of, now);
      } else if (got.what == answered::gone) {
        const bool may_move = it.where == condemned || (it.where == waiting && is_exhausted(it));
        if (is_here && !may_move && !it.may_be_expired) continue;
        if (is_here && !may_move) {
          it.where = gone;
          has_expired = true;
        }
      } else if (!is_here || it.where == buried) {  // reserved: maybe by the store itself
        continue;
      }
      add_once(left, std::move(it));
    }
    if (has_expired && !std::exchange(of.has_expired, true)) ++seen_.expired;
    if (left.empty()) {
      return fail("job " + std::to_string(id) + ": a change is answered with " +
                  std::to_string(static_cast<int>(got.what)) + ": " + text_of(of.lives.front()));
    }
    of.lives = std::move(left);
  }
}

void judge::kick_some(const std::string& tube, const moment& now) {
  ++seen_.kicked;
  for (auto& [body, of] : jobs_) {
    for (const life& each : lives(of.lives)) {
      if (each.tube != tube) continue;
      const bool may_be_delayed = rigour_ == rigour::loose || is_exhausted(each) || !each.is_ripe ||
                                  !of.group.empty() || each.open_delay.count() > 0;
      if (each.where != buried && each.where != condemned && !(each.where == waiting && may_be_delayed)) continue;
      life kicked = each;
      begin_anew(kicked, now);
      add_once(of.lives, std::move(kicked));
    }
  }
}

void judge::in_doubt(const operation& what, const moment& now) {
  ++seen_.in_doubt;
  std::visit(
      [&](const auto& it) {
        using kind = std::decay_t<decltype(it)>;
        if constexpr (std::is_same_v<kind, put>) {
          const lives before = std::exchange(jobs_[it.body].lives, {});  // of those that are sent again
          const auto is_absent = [](const life& each) { return each.where == absent; };
          if (before.empty() || std::ranges::any_of(before, is_absent)) {
            put alone = it;
            alone.holder.reset();
            put_one(alone, {put_answer::kind::inserted, 0}, now);
            if (before.empty()) jobs_[it.body].lives.push_back({.where = absent, .tube = it.tube});
          }
          for (const life& each : before) add_once(jobs_[it.body].lives, each);
          known_job* const old = it.holder ? holder_of(*it.holder) : nullptr;
          for (life each : old == nullptr ? lives() : lives(old->lives)) {
            if (!is_held_by(each, *it.holder, now)) continue;
            each.where = gone;
            add_once(old->lives, std::move(each));
          }
        } else if constexpr (requires { it.token; }) {
          known_job* const of = holder_of(it.token);
          for (life each : of == nullptr ? lives() : lives(of->lives)) {
            if (!is_held_by(each, it.token, now)) continue;
            apply(each, it, *of, now);
            add_once(of->lives, std::move(each));
          }
        } else if constexpr (std::is_same_v<kind, jobs::kick>) {
          kick_some(it.tube, now);
        } else if constexpr (requires { it.expected; } || std::is_same_v<kind, claim_job>) {
          job_id id = 0;
          if constexpr (requires { it.id; }) id = it.id;
          if constexpr (requires { it.name; }) id = std::get<job_id>(it.name);
          for (auto& [body, of] : jobs_) {
            for (life each : lives(of.lives)) {
              if (each.id != id || each.where == absent || each.where == gone || each.where == held) continue;
              if constexpr (std::is_same_v<kind, claim_job>) {
                come_back(each, now);  // when the TTR of the unknown reservation has ended
              } else {
                apply(each, it, of, now);
              }
              add_once(of.lives, std::move(each));
            }
          }
        }
      },
      what);
}

void judge::reopened(const moment& now, bool forgets) {
  hand_outs_.clear();
  for (auto& [body, of] : jobs_) {
    for (life it : lives(of.lives)) {
      if (it.where == condemned) {  // or it was not, and waits until somebody looks
        life waits = it;
        waits.where = waiting;
        waits.is_ripe = true;
        add_once(of.lives, std::move(waits));
      }
      for (; forgets && it.unwritten != 0; --it.unwritten) {
        if (it.unwritten_failed != 0) {
          --it.unwritten_failed;
          --it.failed;
        }
        --it.timeouts;
        if (it.where == condemned) it.where = waiting;
        it.is_ripe = true;
        add_once(of.lives, it);
      }
    }
    for (life& it : of.lives) {
      if (it.where == held) come_back(it, now);
      if (it.where == waiting && !of.group.empty()) it.parked = utc_time::max();  // nobody knows of it any more
      it.is_unjudged = it.unwritten != 0;
    }
  }
}

// What becomes of a job.

namespace {

void note_end(life& it, const std::optional<job_fields>& history, failed_try::kind how, bool is_of_policy,
              const moment& now) {
  expected_try one{.how = how, .from = now.down(), .until = now.up()};
  bool says = false;
  if (history) {
    const auto why = history->find(tag_of_reason);
    const auto worker = history->find(tag_of_worker);
    one.why = why.value_or("");
    one.worker = worker.value_or("");
    says = why.has_value() || worker.has_value();
    if (!says) it.others = others_of(*history);
  }
  one.may_be_missing = !is_of_policy && !says;
  it.tries.push_back(std::move(one));
  it.unwritten = 0;
  it.unwritten_failed = 0;
}

}  // namespace

void judge::apply(life& it, const release& what, const known_job& /*of*/, const moment& now) {
  const tube_policy* const by = policy_of(it.tube);
  const bool counts = by != nullptr && by->counts_releases;
  note_end(it, what.history, failed_try::kind::released, counts, now);
  end_try(it, counts, time_of(what.due, now), now);
  if (counts) it.open_delay = milliseconds(-1);
}

void judge::apply(life& it, const bury& what, const known_job& /*of*/, const moment& now) {
  note_end(it, what.history, failed_try::kind::buried, policy_of(it.tube) != nullptr, now);
  it.where = buried;
}

void judge::apply(life& it, const finish& /*what*/, const known_job& /*of*/, const moment& /*now*/) { it.where = gone; }

void judge::apply(life& it, const abandon& /*what*/, const known_job& /*of*/, const moment& now) { come_back(it, now); }

void judge::apply(life& it, const touch& /*what*/, const known_job& of, const moment& now) {
  it.ends = now.monotonic + of.ttr;
}

void judge::apply(life& it, const kick_job& /*what*/, const known_job& /*of*/, const moment& now) {
  ++seen_.kicked;
  begin_anew(it, now);
}

void judge::apply(life& it, const cancel& /*what*/, const known_job& /*of*/, const moment& /*now*/) { it.where = gone; }

void judge::apply(life& it, const reschedule& what, const known_job& /*of*/, const moment& now) {
  const utc_time due = time_of(what.due, now);
  become_due(it, due, due, now);
}

void judge::apply(life& it, const fire_now& /*what*/, const known_job& /*of*/, const moment& now) {
  // A ready one stays as it is, but one that waits for its group, or has yet to be judged, may be ready or not.
  if ((it.where == waiting && it.is_ripe) || (it.where != buried && it.unwritten != 0)) {
    it.where = waiting;
    it.is_ripe = true;
    it.due_from = std::min(it.due_from, now.down());
    it.due_until = std::max(it.due_until, now.down());
    it.wait_until = std::max(it.wait_until, now.down());
    return;
  }
  become_due(it, now.down(), now.down(), now);
  it.is_ripe = true;
}

std::optional<life> judge::moved_to(const std::string& tube, const known_job& of, const life& it,
                                    const moment& now) const {
  const tube_policy* const by = policy_of(it.tube);
  if (by == nullptr || by->dead_letters != tube) return std::nullopt;
  const bool is_due = it.where == condemned || (it.where == waiting && (is_exhausted(it) || may_count_phantoms(*by)));
  if (!is_due) return std::nullopt;
  life made = it;
  become_due(made, it.due_from, now.up(), now);
  made.is_ripe = true;
  if (it.where != condemned) made.wait_from = utc_time();  // at any time since the policies changed
  made.tube = tube;
  made.id = 0;
  made.is_moved = true;
  made.failed = 0;
  made.kicks = 0;
  made.timeouts = 0;
  made.phantoms = 0;
  made.unwritten = 0;
  made.unwritten_failed = 0;
  const std::string who = it.id == 0 ? std::string(any_text) : std::to_string(it.id);
  made.tries.push_back({.how = failed_try::kind::moved,
                        .why = it.tube,
                        .worker = of.key.empty() || it.id == 0 ? who : who + ' ' + of.key,
                        .from = it.where == condemned ? it.due_from : utc_time::min()});
  return made;
}

// At rest.

bool judge::is_group_full(const known_job& of, const std::string& tube, const moment& now) const {
  const tube_policy* const by = policy_of(tube);
  if (by == nullptr || by->most_reserved_of_group == 0 || of.group.empty()) return false;
  return held_of(tube, &of.group, now) >= by->most_reserved_of_group;
}

std::optional<std::string> judge::refutes_place(const known_job& of, life& it, const job& got,
                                                const moment& now) const {
  if (it.where == gone || it.where == absent) return "it has ended, or never was";
  if ((it.where == held) != (got.state == job_state::reserved))
    return "reserved without a holder, or held without that";
  if (it.where == held) return std::nullopt;
  const bool may_be_buried = is_exhausted(it) || (rigour_ == rigour::loose && policy_of(it.tube) != nullptr);
  if (got.state == job_state::buried) {
    if (it.where != buried && !may_be_buried) return "it is buried";
    const bool had_no_room = rigour_ == rigour::loose;  // among the dead letters
    if (it.where != buried && !had_no_room && !policy_of(it.tube)->dead_letters.empty()) {
      return "it is buried instead of moved";
    }
    it.where = buried;
    return std::nullopt;
  }
  if (it.where == buried) return "it is not buried";
  // A store that refuses may lose the news of the end, so that nobody looks before the next claim.
  if (it.where == condemned && rigour_ == rigour::strict) return "it has had its last try, and waits";
  if (rigour_ == rigour::loose && it.unwritten != 0) it.is_unjudged = true;
  if (got.state == job_state::delayed) {
    const utc_time until = it.open_delay.count() >= 0
                               ? std::max(it.due_until, (it.is_unjudged ? latest_ : now.up()) + it.open_delay)
                               : it.due_until;
    // One is woken for each slot that is free, and if a client takes that one away, the others wait on.
    const tube_policy* const by = policy_of(it.tube);
    const bool may_be_parked = by != nullptr && by->most_reserved_of_group != 0 && !of.group.empty();
    const bool was_parked = it.parked == utc_time::max() || got.due == it.parked;
    const bool is_parked = got.due <= latest_ + parking_time && (may_be_parked || was_parked);
    if (!is_parked && !it.is_unjudged && got.due < it.due_from) return "it is delayed until " + text_of(got.due);
    if (!is_parked && got.due > until && rigour_ == rigour::strict) return "it is delayed until " + text_of(got.due);
    if (is_parked) {
      it.seen_parked = got.due;
      if (it.parked == utc_time::max()) it.parked = got.due;
      it.wait_until = std::max(it.wait_until, got.due);
      return std::nullopt;
    }
    become_due(it, got.due, got.due, now);
    return std::nullopt;
  }
  if (!it.is_ripe && !it.is_unjudged && it.due_from > now.down()) return "it is ready early";
  if (got.due >= it.due_from && it.wait_until == utc_time::max()) {
    it.wait_from = got.due;
    it.wait_until = got.due;
  }
  it.wait_until = it.wait_until == utc_time::max() ? now.up() : std::max(it.wait_until, got.due);
  it.due_from = std::min(it.due_from, got.due);
  it.is_ripe = true;
  if (!it.is_unjudged) it.open_delay = milliseconds(-1);
  return std::nullopt;
}

std::optional<std::string> judge::refutes_tries(life& it, const job& got) const {
  if (it.where == held) return std::nullopt;  // what is not written yet is so with its end
  const std::optional<job_tries> tries = job_tries::in(got.history);
  if (!tries) return "its tries cannot be read";
  if (others_of(got.history) != it.others) return "its history has lost a field, or got one";
  if (got.history.find(tag_of_reason) || got.history.find(tag_of_worker)) return "a reason is left in its history";
  const tube_policy* const by = policy_of(it.tube);
  const std::uint32_t phantoms = it.phantoms + (got.counters.timeouts - it.timeouts);
  if (got.counters.timeouts < it.timeouts || (rigour_ == rigour::strict && got.counters.timeouts != it.timeouts)) {
    return "it has " + std::to_string(got.counters.timeouts) + " timeouts";
  }
  if (by != nullptr && tries->seen_kicks == got.counters.kicks) {
    const std::uint32_t unseen = got.counters.timeouts - std::min(tries->seen_timeouts, got.counters.timeouts);
    const std::uint32_t all = tries->failed + (by->counts_timeouts ? unseen : 0);
    const auto fits = [&](std::uint32_t each) { return each >= it.failed && each <= it.failed + phantoms; };
    if (!fits(all) && !fits(tries->failed)) return "its history has " + std::to_string(tries->failed) + " failed tries";
    it.phantoms = phantoms;
    if (fits(tries->failed)) it.phantoms -= tries->failed - it.failed;
    it.failed = std::max(it.failed, tries->failed);
    it.unwritten = unseen;
    it.unwritten_failed = it.failed - std::min(it.failed, tries->failed);
  }
  it.timeouts = got.counters.timeouts;
  if (by == nullptr || tries->seen_kicks != got.counters.kicks) it.phantoms = phantoms;
  if (tries->seen_timeouts == got.counters.timeouts) it.unwritten = it.unwritten_failed = 0;
  auto at = tries->last.rbegin();
  for (auto expected = it.tries.rbegin(); expected != it.tries.rend(); ++expected) {
    if (std::distance(tries->last.rbegin(), at) == most_kept_tries) break;
    const auto is_it = [&](const failed_try& one) {
      return one.how == expected->how && one.why == expected->why &&
             (one.worker == expected->worker || expected->worker == any_text) &&
             (expected->how == failed_try::kind::timed_out ||
              (one.when >= expected->from && one.when <= expected->until));
    };
    while (rigour_ == rigour::loose && at != tries->last.rend() && !is_it(*at) &&
           (at->how == failed_try::kind::timed_out || at->why.starts_with("there was no room for it"))) {
      ++at;  // of a reservation of the store itself
    }
    if (std::distance(tries->last.rbegin(), at) == most_kept_tries) break;
    if (at != tries->last.rend() && is_it(*at)) {
      expected->from = expected->until = at->when;
      ++at;
    } else if (!expected->may_be_missing) {
      return "its try of " + text_of(expected->from) + " (" + expected->why + ") is not in its history";
    }
  }
  if (rigour_ == rigour::strict && at != tries->last.rend()) return "its history has a try that never was";
  return std::nullopt;
}

std::optional<std::string> judge::refutes(const known_job& of, life& it, const job& got, const moment& now) const {
  if (it.tube != got.tube) {
    std::optional<life> moved = moved_to(got.tube, of, it, now);
    if (!moved) return "it is in tube " + got.tube;
    it = std::move(*moved);
  }
  if (it.id != 0 && it.id != got.id) return "it has another id";
  if (it.kicks != got.counters.kicks) return "it was not kicked so often";
  if (auto wrong = refutes_place(of, it, got, now)) return wrong;
  it.id = got.id;
  return refutes_tries(it, got);
}

/// Whether one of the two is a dead letter, and the other one what it was, until somebody looks: its end was refused.
bool judge::may_be_left(const job& one, const job& other) const {
  const job& first = one.id < other.id ? one : other;
  const job& second = one.id < other.id ? other : one;
  const tube_policy* const by = policy_of(first.tube);
  return rigour_ == rigour::loose && by != nullptr && by->dead_letters == second.tube &&
         first.state == job_state::ready;
}

void judge::at_rest(const std::vector<job>& all, const moment& now) {
  std::map<std::string, const job*> seen;
  for (const job& each : all) {
    const auto found = jobs_.find(each.body);
    if (found == jobs_.end()) return fail("a job from nowhere: " + each.body);
    const auto [before, is_first] = seen.emplace(each.body, &each);
    if (!is_first && !may_be_left(*before->second, each)) return fail("a job is there twice: " + each.body);
    if (!is_first && before->second->id < each.id) before->second = &each;
    if (const auto other = differs(found->second, each)) fail("at rest: job " + each.body + ": " + *other);
  }
  for (auto& [body, of] : jobs_) {
    auto found = seen.find(body);
    // A dead letter that has ended, and what it was, until somebody looks.
    const auto is_dead_letter = [&](const life& it) { return it.is_moved && it.tube != found->second->tube; };
    if (rigour_ == rigour::loose && found != seen.end() && std::ranges::any_of(of.lives, is_dead_letter) &&
        found->second->state == job_state::ready) {
      found = seen.end();
    }
    std::string why;
    lives left;
    bool has_expired = false;
    for (life it : of.lives) {
      if (found != seen.end()) {
        const std::string before = text_of(it);
        const bool was_elsewhere = it.tube != found->second->tube;
        if (const auto wrong = refutes(of, it, *found->second, now)) {
          why += "; " + *wrong + ": " + before;
          continue;
        }
        if (was_elsewhere) ++seen_.moved;
      } else if (it.where != absent && it.where != gone) {
        if (!it.may_be_expired) {
          why += "; it is missing: " + text_of(it);
          continue;
        }
        it.where = gone;
        has_expired = true;
      }
      add_once(left, std::move(it));
    }
    if (has_expired && !std::exchange(of.has_expired, true)) ++seen_.expired;
    if (left.empty()) return fail("at rest at " + text_of(now.down()) + ": job " + body + why);
    of.lives = std::move(left);
  }
}

void judge::nothing_overdue(const moment& now) {
  for (const auto& [body, of] : jobs_) {
    const bool is_overdue = std::ranges::all_of(of.lives, [&](const life& it) {
      known_job like = of;
      like.own_expiry.reset();  // nobody looks for these
      return it.where == waiting && it.is_ripe && must_have_expired(like, it) < now.down() - std::chrono::seconds(2);
    });
    if (is_overdue) fail("job " + body + " has expired, and is still there: " + text_of(of.lives.front()));
  }
}

std::optional<std::string> judge::owed_by(const std::string& tube, const moment& now) const {
  for (const auto& [body, of] : jobs_) {
    const bool is_owed = std::ranges::all_of(of.lives, [&](const life& it) {
      return it.tube == tube && it.where == waiting && it.is_ripe && !is_exhausted(it) && !it.may_be_expired &&
             it.due_until <= now.down() && it.open_delay.count() < 0;
    });
    if (is_owed && !is_group_full(of, tube, now)) return body + ": " + text_of(of.lives.front());
  }
  return std::nullopt;
}

std::set<std::string> judge::held_bodies(const moment& now) const {
  std::set<std::string> all;
  for (const auto& [body, of] : jobs_) {
    if (std::ranges::all_of(of.lives, [&](const life& it) { return is_held_by(it, it.token, now); })) all.insert(body);
  }
  return all;
}

}  // namespace foliot::jobs::policies_model
