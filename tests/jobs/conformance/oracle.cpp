#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "jobs/postgresql/lasting.hpp"

namespace foliot::jobs::conformance {
namespace {

constexpr std::array all_counters{&job_counters::reserves, &job_counters::timeouts, &job_counters::releases,
                                  &job_counters::buries, &job_counters::kicks};

void tally(job_counts& counts, const job& it) {
  if (it.state == job_state::delayed) counts.delayed += 1;
  if (it.state == job_state::ready) counts.ready += 1;
  if (it.state == job_state::ready && it.priority < 1024) counts.urgent += 1;
  if (it.state == job_state::reserved) counts.reserved += 1;
  if (it.state == job_state::buried) counts.buried += 1;
}

}  // namespace

execution oracle::execute(std::span<const operation> batch, std::chrono::sys_time<std::chrono::nanoseconds> wall,
                          instant now) {
  begin(wall, now);
  std::vector<entry*> over;
  for (entry& it : jobs_) {
    if (it.job.state == job_state::reserved && it.job.expires < now) over.push_back(&it);
  }
  std::ranges::sort(over, {}, [](const entry* it) { return std::pair(it->job.expires, it->job.id); });
  return execute(over, batch);
}

execution oracle::execute_for(std::uint64_t opening, std::span<const reservation> over,
                              std::span<const operation> batch, std::chrono::sys_time<std::chrono::nanoseconds> wall,
                              instant now) {
  begin(wall, now);
  opening_ = opening;
  is_shared_ = true;
  std::vector<entry*> ended;
  for (const reservation& each : over) {
    entry* it = find(each.id);
    const bool is_this = it != nullptr && it->job.state == job_state::reserved && token_of(*it) == each;
    if (is_this && it->job.expires < now) ended.push_back(it);
  }
  return execute(ended, batch);
}

void oracle::begin(std::chrono::sys_time<std::chrono::nanoseconds> wall, instant now) {
  utc_ = std::chrono::floor<milliseconds>(wall);
  utc_up_ = std::chrono::ceil<milliseconds>(wall);
  now_ = now;
  made_ready_.clear();
  unpaused_.clear();
  left_.clear();
}

std::vector<oracle::entry> oracle::take_out(const std::string& tube) {
  std::vector<entry> taken;
  for (const entry& it : jobs_) {
    if (it.job.tube == tube && it.job.state != job_state::reserved) taken.push_back(it);
  }
  for (const entry& it : taken) erase(it.job.id);
  return taken;
}

void oracle::bring_in(std::vector<entry> jobs) {
  for (entry& it : jobs) jobs_.push_back(std::move(it));
  std::ranges::sort(jobs_, {}, [](const entry& it) { return it.job.id; });
}

std::vector<oracle::memory> oracle::memories_of(const std::string& tube) const {
  std::vector<memory> found;
  for (const memory& it : memories_) {
    if (it.tube == tube) found.push_back(it);
  }
  return found;
}

void oracle::bring_in(std::vector<memory> memories) {
  for (memory& it : memories) {
    std::erase_if(memories_, [&it](const memory& each) { return each.what.key() == it.what.key(); });
    memories_.push_back(std::move(it));
  }
}

bool oracle::remembers(const sha256& key, utc_time at) const {
  return std::ranges::any_of(memories_, [&](const memory& it) { return it.what.key() == key && at < it.end; });
}

execution oracle::execute(std::span<entry* const> over, std::span<const operation> batch) {
  execution done;
  for (entry* it : over) {
    done.expired.push_back(token_of(*it));
    it->job.counters.timeouts += 1;
    move(*it, job_event::expire);
  }
  advance();
  for (const operation& each : batch) {
    done.answers.push_back(std::visit([this](const auto& what) { return perform(what); }, each));
  }
  std::set<std::string> tubes;
  for (const job_id id : made_ready_) {
    const entry* it = find(id);
    if (it != nullptr && it->job.state == job_state::ready) tubes.insert(it->job.tube);
  }
  for (const std::string& tube : unpaused_) {
    if (!paused(tube)) tubes.insert(tube);
  }
  done.ready_tubes.assign(tubes.begin(), tubes.end());
  for (const std::string& tube : left_) {
    const auto is_here = [&tube](const entry& it) { return it.job.tube == tube; };
    if (paused(tube) && std::ranges::none_of(jobs_, is_here)) done.emptied_tubes.push_back(tube);
  }
  return done;
}

void oracle::advance() {
  std::erase_if(pauses_, [this](const auto& each) {
    if (each.second > now_) return false;
    unpaused_.push_back(each.first);
    return true;
  });
  for (entry& it : jobs_) {
    if (it.job.state == job_state::delayed && it.job.due <= utc_) move(it, job_event::due);
  }
}

next_change oracle::next() const {
  next_change next;
  for (const entry& it : jobs_) {
    if (it.job.state == job_state::delayed) next.due = std::min(next.due, it.job.due);
    if (it.job.state == job_state::reserved) {
      next.expiry = std::min(next.expiry, it.job.expires + duration::nanoseconds(1));
    }
  }
  for (const auto& each : pauses_) next.expiry = std::min(next.expiry, each.second);
  return next;
}

void oracle::reopen() {
  opening_ += 1;
  pauses_.clear();
  std::erase_if(memories_, [](const memory& it) { return std::holds_alternative<claim_answer>(it.result); });
  for (entry& it : jobs_) {
    if (it.job.state == job_state::reserved) it.job.state = job_state::ready;
    it.job.expires = instant::never();
    it.attempts = 0;
    for (const auto counter : all_counters) {
      it.forgotten.*counter += it.job.counters.*counter - it.written.*counter;
    }
    it.written = it.job.counters;
  }
}

bool oracle::learn(job_id id, const job_counters& shown) {
  entry* it = find(id);
  if (it == nullptr) return false;
  const auto agree = [&](std::uint32_t job_counters::* counter) {
    const std::uint32_t expected = it->job.counters.*counter;
    return shown.*counter <= expected && expected - shown.*counter <= it->forgotten.*counter;
  };
  for (const auto counter : all_counters) {
    if (!agree(counter)) return false;
  }
  for (const auto counter : all_counters) {
    it->written.*counter -= it->job.counters.*counter - shown.*counter;
  }
  it->job.counters = shown;
  it->forgotten = {};
  return true;
}

utc_time oracle::latest_ready() const {
  utc_time latest{};
  for (const entry& it : jobs_) {
    const bool was_ready = it.job.state == job_state::ready || it.job.state == job_state::reserved;
    if (was_ready) latest = std::max(latest, it.job.due);
  }
  return latest;
}

oracle::entry* oracle::find(job_id id) {
  const auto found = std::ranges::find(jobs_, id, [](const entry& it) { return it.job.id; });
  return found == jobs_.end() ? nullptr : &*found;
}

oracle::entry* oracle::find(const job_name& name) {
  if (const auto* id = std::get_if<job_id>(&name)) return find(*id);
  const auto& key = std::get<job_key>(name);
  const auto found = std::ranges::find_if(
      jobs_, [&](const entry& it) { return it.job.tube == key.tube && it.job.key == key.key && !key.key.empty(); });
  return found == jobs_.end() ? nullptr : &*found;
}

oracle::entry* oracle::held(const reservation& token) {
  entry* it = find(token.id);
  const bool is_held = it != nullptr && it->job.state == job_state::reserved && token_of(*it) == token;
  return is_held && it->job.expires >= now_ ? it : nullptr;
}

oracle::entry* oracle::first(const std::string& tube, job_state state) {
  const auto rank = [](const entry& it) {
    const bool ready = it.job.state == job_state::ready;
    const bool delayed = it.job.state == job_state::delayed;
    return std::tuple(ready ? it.job.priority : 0, delayed ? it.job.due : utc_time{},
                      it.job.state == job_state::buried ? it.burial : 0, it.job.id);
  };
  entry* best = nullptr;
  for (entry& it : jobs_) {
    if (it.job.tube != tube || it.job.state != state) continue;
    if (best == nullptr || rank(it) < rank(*best)) best = &it;
  }
  return best;
}

bool oracle::move(entry& it, job_event event) {
  const job_state before = it.job.state;
  const transition after = transition_of(before, event);
  if (after == transition::refused) return false;
  if (after == transition::gone) {
    erase(it.job.id);
    return true;
  }
  if (after == transition::delayed) it.job.state = job_state::delayed;
  if (after == transition::ready) it.job.state = job_state::ready;
  if (after == transition::reserved) it.job.state = job_state::reserved;
  if (after == transition::buried) it.job.state = job_state::buried;
  if (after == transition::by_delay) it.job.state = it.job.due <= utc_ ? job_state::ready : job_state::delayed;
  if (it.job.state != job_state::reserved) it.job.expires = instant::never();
  if (it.job.state == job_state::ready && before != job_state::ready) made_ready_.push_back(it.job.id);
  return true;
}

void oracle::erase(job_id id) {
  const std::string& tube = find(id)->job.tube;
  if (paused(tube)) left_.insert(tube);
  std::erase_if(jobs_, [id](const entry& it) { return it.job.id == id; });
}

claimed_job oracle::take(entry& it, job_event event, std::uint64_t opening) {
  move(it, event);
  it.job.counters.reserves += 1;
  it.attempts += 1;
  it.opening = opening;
  it.job.expires = now_ + it.job.ttr;
  return {token_of(it), it.job};
}

void oracle::set_due(entry& it, const due_at& due) const {
  if (std::holds_alternative<milliseconds>(due)) {
    it.job.delay = std::get<milliseconds>(due);
    it.job.due = it.job.delay == milliseconds(0) ? utc_ : utc_up_ + it.job.delay;
  } else {
    it.job.due = std::get<utc_time>(due);
    it.job.delay = it.job.due > utc_ ? it.job.due - utc_ : milliseconds(0);
  }
}

job_version oracle::version_of(const job& it) {
  job seen = it;
  if (seen.state == job_state::delayed) seen.state = job_state::ready;
  std::string text;
  const auto add = [&text](std::string_view part) { text += std::to_string(part.size()) + ":" + std::string(part); };
  for (const std::string& each : {seen.tube, seen.key, seen.body}) add(each);
  for (const job_fields* each : {&seen.fields, &seen.history}) add(each->bytes());
  add(std::to_string(seen.id));
  add(std::to_string(seen.priority));
  add(std::to_string(static_cast<int>(seen.state)));
  for (const utc_time each : {seen.made, seen.due}) add(std::to_string(each.time_since_epoch().count()));
  for (const milliseconds each : {seen.delay, seen.ttr}) add(std::to_string(each.count()));
  add(std::to_string(seen.expires.nanoseconds()));
  for (const auto counter : all_counters) add(std::to_string(seen.counters.*counter));
  return std::max<job_version>(std::hash<std::string>()(text) >> 1U, 1);
}

bool oracle::paused(const std::string& tube) const {
  return std::ranges::any_of(pauses_, [&](const auto& each) { return each.first == tube; });
}

template <class Answer>
std::optional<Answer> oracle::replay(const jobs::once& what) {
  if (what.empty()) return std::nullopt;
  std::erase_if(memories_, [this](const memory& it) { return it.end <= utc_; });
  const auto found = std::ranges::find(memories_, what.key(), [](const memory& it) { return it.what.key(); });
  if (found == memories_.end()) return std::nullopt;
  Answer again;
  again.what = Answer::kind::other_request;
  if (found->what.request() != what.request() || !std::holds_alternative<Answer>(found->result)) return again;
  again = std::get<Answer>(found->result);
  again.is_replayed = true;
  return again;
}

void oracle::remember(const jobs::once& what, const std::string& tube, answer result) {
  if (!what.empty()) memories_.push_back({what, utc_up_ + what.lifetime(), tube, std::move(result)});
}

answer oracle::perform(const put& what) {
  if (const auto again = replay<put_answer>(what.once)) return *again;
  const put_answer result = put_one(what);
  if (!is_refused(result)) remember(what.once, what.tube, result);
  return result;
}

put_answer oracle::put_one(const put& what) {
  bool replaces = false;
  entry* const old = find(job_key{what.tube, what.key});
  if (old == nullptr && (what.expected != 0 || what.holder)) return {put_answer::kind::other_version, 0, 0};
  if (old != nullptr) {
    const job_id id = old->job.id;
    if (!is_expected(*old, what.expected)) {
      return {put_answer::kind::other_version, id, version_of(old->job)};
    }
    if (what.existing == on_existing::keep) return {put_answer::kind::kept, id};
    if (what.existing == on_existing::refuse) return {put_answer::kind::exists, id};
    if (what.holder && old->job.state != job_state::reserved) {
      return {put_answer::kind::other_version, id, version_of(old->job)};
    }
    const bool is_holder = what.holder && held(*what.holder) == old;
    if (old->job.state == job_state::reserved && !is_holder) return {put_answer::kind::reserved, id};
    erase(id);
    replaces = true;
  }
  entry it;
  it.job.id = last_id_ += id_step_;
  it.job.tube = what.tube;
  it.job.key = what.key;
  it.job.body = what.body;
  it.job.priority = what.priority;
  it.job.made = utc_;
  it.job.ttr = what.ttr;
  it.job.fields = what.fields;
  it.job.history = what.history;
  set_due(it, what.due);
  it.job.state = it.job.due <= utc_ ? job_state::ready : job_state::delayed;
  if (it.job.state == job_state::ready) made_ready_.push_back(last_id_);
  jobs_.push_back(it);
  return {replaces ? put_answer::kind::replaced : put_answer::kind::inserted, last_id_};
}

answer oracle::perform(const claim& what) {
  if (std::optional<claim_answer> again = replay<claim_answer>(what.once)) {
    std::erase_if(again->jobs, [this](const claimed_job& it) { return held(it.token) == nullptr; });
    for (claimed_job& each : again->jobs) each.job = held(each.token)->job;
    return *again;
  }
  const claim_answer result = claim_some(what);
  if (!result.jobs.empty()) remember(what.once, "", result);
  return result;
}

claim_answer oracle::claim_some(const claim& what) {
  const std::uint64_t opening =
      is_shared_ ? detail::from_database(detail::opening_of(what, detail::to_database(opening_))) : opening_;
  claim_answer result;
  while (result.jobs.size() < what.count) {
    entry* best = nullptr;
    for (const std::string& tube : what.tubes) {
      entry* it = paused(tube) ? nullptr : first(tube, job_state::ready);
      if (it == nullptr) continue;
      if (best == nullptr || std::pair(it->job.priority, it->job.id) < std::pair(best->job.priority, best->job.id)) {
        best = it;
      }
    }
    if (best == nullptr) break;
    result.jobs.push_back(take(*best, job_event::claim, opening));
  }
  return result;
}

answer oracle::perform(const claim_job& what) {
  claim_answer result;
  entry* it = find(what.id);
  if (it != nullptr && it->job.state != job_state::reserved)
    result.jobs.push_back(take(*it, job_event::claim_job, opening_));
  return result;
}

answer oracle::perform(const finish& what) {
  entry* it = held(what.token);
  if (it == nullptr) return holder_answer{holder_answer::kind::not_held};
  move(*it, job_event::finish);
  return holder_answer{};
}

answer oracle::perform(const release& what) {
  entry* it = held(what.token);
  if (it == nullptr) return holder_answer{holder_answer::kind::not_held};
  it->job.counters.releases += 1;
  it->written = it->job.counters;
  if (what.priority) it->job.priority = *what.priority;
  if (what.history) it->job.history = *what.history;
  set_due(*it, what.due);
  move(*it, job_event::release);
  return holder_answer{};
}

answer oracle::perform(const abandon& what) {
  entry* it = held(what.token);
  if (it == nullptr) return holder_answer{holder_answer::kind::not_held};
  move(*it, job_event::expire);
  return holder_answer{};
}

answer oracle::perform(const bury& what) {
  entry* it = held(what.token);
  if (it == nullptr) return holder_answer{holder_answer::kind::not_held};
  it->job.counters.buries += 1;
  it->written = it->job.counters;
  if (what.priority) it->job.priority = *what.priority;
  if (what.history) it->job.history = *what.history;
  it->burial = ++burials_;
  move(*it, job_event::bury);
  return holder_answer{};
}

answer oracle::perform(const touch& what) {
  entry* it = held(what.token);
  if (it == nullptr) return holder_answer{holder_answer::kind::not_held};
  it->job.expires = now_ + it->job.ttr;
  return holder_answer{holder_answer::kind::done, it->job.expires};
}

answer oracle::perform(const kick& what) {
  bulk_answer result;
  const bool has_buried = first(what.tube, job_state::buried) != nullptr;
  const job_state from = what.only.value_or(has_buried ? job_state::buried : job_state::delayed);
  while (result.changed < what.count) {
    entry* it = first(what.tube, from);
    if (it == nullptr) break;
    perform(kick_job{it->job.id});
    result.changed += 1;
  }
  return result;
}

answer oracle::perform(const kick_job& what) {
  entry* it = find(what.id);
  if (it == nullptr) return change_answer{change_answer::kind::gone, 0};
  if (!is_expected(*it, what.expected)) return other_version(*it);
  if (it->job.state == job_state::reserved) return change_answer{change_answer::kind::reserved, what.id};
  if (it->job.state == job_state::ready) return change_answer{change_answer::kind::refused, what.id};
  it->job.due = utc_;
  it->job.counters.kicks += 1;
  it->written = it->job.counters;
  move(*it, job_event::kick);
  return change_answer{change_answer::kind::done, what.id};
}

answer oracle::perform(const cancel& what) {
  entry* it = find(what.name);
  if (it == nullptr) return change_answer{change_answer::kind::gone, 0};
  if (!is_expected(*it, what.expected)) return other_version(*it);
  const job_id id = it->job.id;
  return change_answer{move(*it, job_event::cancel) ? change_answer::kind::done : change_answer::kind::reserved, id};
}

answer oracle::perform(const reschedule& what) {
  entry* it = find(what.name);
  if (it == nullptr) return change_answer{change_answer::kind::gone, 0};
  if (!is_expected(*it, what.expected)) return other_version(*it);
  const job_id id = it->job.id;
  if (it->job.state == job_state::reserved) return change_answer{change_answer::kind::reserved, id};
  set_due(*it, what.due);
  it->written = it->job.counters;
  move(*it, job_event::reschedule);
  return change_answer{change_answer::kind::done, id};
}

answer oracle::perform(const fire_now& what) {
  entry* it = find(what.name);
  if (it == nullptr) return change_answer{change_answer::kind::gone, 0};
  if (!is_expected(*it, what.expected)) return other_version(*it);
  const job_id id = it->job.id;
  if (it->job.state == job_state::reserved) return change_answer{change_answer::kind::reserved, id};
  if (it->job.state != job_state::ready) {
    it->job.due = utc_;
    it->written = it->job.counters;
  }
  move(*it, job_event::fire_now);
  return change_answer{change_answer::kind::done, id};
}

answer oracle::perform(const pause& what) {
  const bool was = paused(what.tube);
  std::erase_if(pauses_, [&](const auto& each) { return each.first == what.tube; });
  if (what.length > milliseconds(0)) {
    pauses_.emplace_back(what.tube, now_ + what.length);
  } else if (was) {
    unpaused_.push_back(what.tube);
  }
  return pause_answer{};
}

answer oracle::perform(const peek& what) {
  const entry* it = find(what.name);
  if (it == nullptr) return peek_answer{};
  peek_answer seen{it->job, utc_, version_of(it->job)};
  if (!what.with_body) seen.job->body.clear();
  return seen;
}

answer oracle::perform(const peek_first& what) {
  const entry* it = first(what.tube, what.state);
  return it == nullptr ? peek_answer{} : peek_answer{it->job, utc_, version_of(it->job)};
}

answer oracle::perform(const count_tube& what) {
  count_answer result;
  for (const entry& it : jobs_) {
    if (it.job.tube == what.tube) tally(result.counts, it.job);
  }
  for (const auto& [tube, until] : pauses_) {
    if (tube == what.tube) result.paused_until = until;
  }
  return result;
}

answer oracle::perform(const count_all&) {
  count_answer result;
  for (const entry& it : jobs_) tally(result.counts, it.job);
  return result;
}

answer oracle::perform(const list_tubes& what) {
  std::set<std::string> tubes;
  for (const entry& it : jobs_) {
    if (it.job.tube.starts_with(what.prefix) && it.job.tube > what.after) tubes.insert(it.job.tube);
  }
  tubes_answer result;
  for (const std::string& each : tubes) {
    if (what.count != 0 && result.tubes.size() == what.count) break;
    result.tubes.push_back(each);
    if (what.with_counts) result.counts.push_back(std::get<count_answer>(perform(count_tube{each})));
  }
  if (what.count != 0 && result.tubes.size() == what.count) result.next = result.tubes.back();
  return result;
}

answer oracle::perform(const list_jobs& what) {
  const bool by_id = !what.which || *what.which == job_state::reserved;
  const job_place after{by_id ? 0 : what.after.rank, what.after.id};
  const auto is_in = [&what](const std::string& tube) {
    if (!what.tube.empty()) return tube == what.tube;
    return std::ranges::any_of(what.prefixes, [&](const std::string& each) { return tube.starts_with(each); });
  };
  jobs_answer result;
  for (const entry& it : jobs_) {
    if ((what.which && *what.which != it.job.state) || !is_in(it.job.tube)) continue;
    listed_job one{{0, it.job.id}, it.job, version_of(it.job)};
    if (!by_id && it.job.state == job_state::ready) one.place.rank = it.job.priority;
    if (!by_id && it.job.state == job_state::buried) one.place.rank = it.burial;
    if (!by_id && it.job.state == job_state::delayed) {
      one.place.rank = static_cast<std::uint64_t>(it.job.due.time_since_epoch().count());
    }
    one.job.body.clear();
    one.job.fields = {};
    one.job.history = {};
    if (one.place > after) result.jobs.push_back(std::move(one));
  }
  std::ranges::sort(result.jobs, {}, &listed_job::place);
  if (result.jobs.size() >= what.count) {
    result.jobs.resize(what.count);
    result.next = result.jobs.back().place;
  }
  result.now = utc_;
  return result;
}

answer oracle::perform(const list_due& what) {
  std::vector<due_job> all;
  for (const entry& it : jobs_) {
    const bool is_behind = it.job.due > what.from || (it.job.due == what.from && it.job.id > what.after);
    if (it.job.state != job_state::delayed || !is_behind || it.job.tube.find(what.prefix) != 0) continue;
    all.push_back({it.job.id, it.job.tube, job_state::delayed, it.job.due});
  }
  std::ranges::sort(all, {}, [](const due_job& each) { return std::pair(each.due, each.id); });
  if (all.size() > what.count) all.resize(what.count);
  return due_answer{all};
}

/// One process has it alone.
answer oracle::perform(const list_nodes&) { return nodes_answer{.nodes = {}, .now = utc_}; }

answer oracle::perform(const clear_tube& what) {
  bulk_answer result;
  for (const job_state state : {job_state::ready, job_state::delayed, job_state::buried}) {
    while (result.changed < what.count) {
      const entry* it = first(what.tube, state);
      if (it == nullptr) break;
      erase(it->job.id);
      result.changed += 1;
    }
  }
  return result;
}

answer oracle::perform(const put_all& what) {
  if (const auto again = replay<put_all_answer>(what.once)) return *again;
  const oracle before = *this;
  put_all_answer result;
  for (const put& each : what.puts) {
    const auto got = std::get<put_answer>(perform(each));
    const bool has_put = got.what == put_answer::kind::inserted || got.what == put_answer::kind::replaced;
    if (!has_put && got.what != put_answer::kind::kept) {
      *this = before;
      return put_all_answer{.what = put_all_answer::kind::refused, .place = result.puts.size(), .why = got};
    }
    result.puts.push_back(got);
  }
  remember(what.once, "", result);
  return result;
}

}  // namespace foliot::jobs::conformance
