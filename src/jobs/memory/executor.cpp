#include "executor.hpp"

#include <limits>

#include "jobs/due_page.hpp"
#include "jobs/listed_page.hpp"
#include "jobs/tubes_page.hpp"

namespace foliot::jobs {

using detail::version_of;

namespace {

/// A memory_store is opened once.
constexpr std::uint64_t only_opening = 1;
/// How many reservations and pauses end, and how many jobs become ready, in one batch at most: some 6 ms of work.
constexpr std::size_t ends_at_once = 2048;
constexpr std::size_t promotions_at_once = 2048;

}  // namespace

reservation memory_store::executor::token_of(const record& it) { return {it.job.id, only_opening, it.attempts}; }

void memory_store::executor::advance() {
  std::size_t ends = 0;
  // Strict: at `expires` itself the reservation is still alive.
  for (; ends < ends_at_once && !store_.expiring_.empty() && store_.expiring_.begin()->first < now_; ++ends) {
    expire(store_.jobs_.at(store_.expiring_.begin()->second));
  }
  for (; ends < ends_at_once && !store_.pauses_.empty() && store_.pauses_.begin()->first <= now_; ++ends) {
    const std::string name = store_.pauses_.begin()->second;
    end_pause(name, store_.tubes_.at(name));
  }
  for (std::size_t i = 0; i < promotions_at_once && !store_.due_.empty() && store_.due_.begin()->first <= utc_; ++i) {
    apply(store_.jobs_.at(store_.due_.begin()->second), job_event::due);
  }
  store_.once_->remove_ended(utc_);
}

void memory_store::executor::expire(record& it) {
  expired_.push_back(token_of(it));
  apply(it, job_event::expire, [](record& changed) { ++changed.job.counters.timeouts; });
}

memory_store::record* memory_store::executor::find(job_id id) {
  const auto found = store_.jobs_.find(id);
  if (found == store_.jobs_.end()) return nullptr;
  record& it = found->second;
  if (it.job.state == job_state::reserved && it.job.expires < now_) expire(it);
  return &it;
}

memory_store::record* memory_store::executor::find(const job_name& name) {
  if (const auto* id = std::get_if<job_id>(&name)) return find(*id);
  const auto& by_key = std::get<job_key>(name);
  const tube* in = find_tube(by_key.tube);
  if (in == nullptr) return nullptr;
  const auto found = in->keys.find(by_key.key);
  return found == in->keys.end() ? nullptr : find(found->second);
}

memory_store::record* memory_store::executor::held(const reservation& token) {
  record* it = find(token.id);
  const bool alive = it != nullptr && it->job.state == job_state::reserved && token == token_of(*it);
  return alive ? it : nullptr;
}

memory_store::tube* memory_store::executor::find_tube(const std::string& name) {
  const auto found = store_.tubes_.find(name);
  return found == store_.tubes_.end() ? nullptr : &found->second;
}

memory_store::tube& memory_store::executor::known_tube(const std::string& name) { return store_.tubes_[name]; }

void memory_store::executor::forget_if_idle(const std::string& name) {
  const auto found = store_.tubes_.find(name);
  if (found == store_.tubes_.end()) return;
  if (found->second.counts.all() == 0 && found->second.paused_until.is_never()) store_.tubes_.erase(found);
}

void memory_store::executor::enter_indexes(record& it) {
  jobs::job& job = it.job;
  switch (job.state) {
    case job_state::delayed:
      it.home->delayed.insert({job.due, job.id});
      store_.due_.insert({job.due, job.id});
      break;
    case job_state::ready:
      it.home->ready.insert({job.priority, job.id});
      ready_tubes_.insert(job.tube);
      break;
    case job_state::reserved:
      store_.expiring_.insert({job.expires, job.id});
      store_.reserved_.insert(job.id);
      break;
    case job_state::buried: it.home->buried.emplace(it.burial, job.id); break;
  }
  count(it, 1);
}

void memory_store::executor::leave_indexes(record& it) {
  jobs::job& job = it.job;
  count(it, -1);
  switch (job.state) {
    case job_state::delayed:
      it.home->delayed.erase({job.due, job.id});
      store_.due_.erase({job.due, job.id});
      break;
    case job_state::ready: it.home->ready.erase({job.priority, job.id}); break;
    case job_state::reserved:
      store_.expiring_.erase({job.expires, job.id});
      store_.reserved_.erase(job.id);
      job.expires = instant::never();
      break;
    case job_state::buried: it.home->buried.erase(it.burial); break;
  }
}

void memory_store::executor::count(const record& it, int step) {
  add_to(it.home->counts, it.job, step);
  add_to(store_.counts_, it.job, step);
}

void memory_store::executor::end(job_id id) {
  const auto ended = store_.jobs_.find(id);
  jobs::job job = std::move(ended->second.job);
  store_.bytes_ -= memory_bytes_of(job);
  if (!job.key.empty()) ended->second.home->keys.erase(job.key);
  const tube& home = *ended->second.home;
  if (home.counts.all() == 0 && !home.paused_until.is_never()) emptied_tubes_.insert(job.tube);
  store_.jobs_.erase(ended);
  forget_if_idle(job.tube);
}

std::vector<std::string> memory_store::executor::emptied_tubes() {
  std::erase_if(emptied_tubes_, [this](const std::string& name) {
    const tube* const it = find_tube(name);
    return it == nullptr || it->counts.all() != 0 || it->paused_until.is_never();
  });
  return {emptied_tubes_.begin(), emptied_tubes_.end()};
}

claimed_job memory_store::executor::reserve(record& it, job_event event) {
  apply(it, event, [&](record& taken) {
    ++taken.job.counters.reserves;
    ++taken.attempts;
    taken.job.expires = now_ + taken.job.ttr;
  });
  return {token_of(it), it.job};
}

void memory_store::executor::set_due(jobs::job& it, const due_at& due) const {
  if (const auto* delay = std::get_if<milliseconds>(&due)) {
    // From the next millisecond on, so that a delay is not a fraction too short.
    it.due = *delay > milliseconds(0) ? std::chrono::ceil<milliseconds>(wall_) + *delay : utc_;
    it.delay = *delay;
  } else {
    it.due = std::get<utc_time>(due);
    it.delay = std::max(it.due - utc_, milliseconds(0));
  }
}

void memory_store::executor::end_pause(const std::string& name, tube& it) {
  store_.pauses_.erase({it.paused_until, name});
  it.paused_until = instant::never();
  ready_tubes_.insert(name);
  forget_if_idle(name);
}

// The operations.

memory_store::record* memory_store::executor::holder_of_key(const put& what) {
  return what.key.empty() ? nullptr : find(job_key{what.tube, what.key});
}

put_answer memory_store::executor::outcome_of(const put& what, const record* old, expected_content& before) const {
  using enum put_answer::kind;
  const bool is_reserved = old != nullptr && old->job.state == job_state::reserved;
  if (has_other_version(old, what.expected) || (what.holder && !is_reserved)) {
    return old == nullptr ? put_answer{other_version} : put_answer{other_version, old->job.id, version_of(old->job)};
  }
  if (what.holder && *what.holder != token_of(*old)) return {reserved, old->job.id};
  if (old != nullptr) {
    if (what.existing == on_existing::keep) return {kept, old->job.id};
    if (what.existing == on_existing::refuse) return {exists, old->job.id};
    if (!what.holder && is_reserved) return {reserved, old->job.id};
    before.jobs -= 1;
    before.bytes -= memory_bytes_of(old->job);
  }
  const memory_bounds& bounds = store_.bounds_;
  const std::uint64_t more = memory_bytes_of(what);
  if (before.jobs >= bounds.jobs || before.bytes > bounds.bytes || more > bounds.bytes - before.bytes) {
    return {no_space, 0};
  }
  before.jobs += 1;
  before.bytes += more;
  return {old != nullptr ? replaced : inserted, 0};
}

void memory_store::executor::remember(const once& what, detail::once_result result) {
  store_.once_->add(what.key(), {what.request(), detail::end_of(what, wall_), std::move(result)});
}

put_answer memory_store::executor::operator()(put& what) {
  using enum put_answer::kind;
  const bool is_once = !what.once.empty();
  if (is_once) [[unlikely]] {
    const auto [before, is_other] = known<put_answer>(what.once);
    if (is_other) return {other_request};
    if (before != nullptr) return {before->what, before->id, 0, true};
  }
  record* const old = holder_of_key(what);
  expected_content before = content();
  put_answer result = outcome_of(what, old, before);
  if (is_once && !is_refused(result) && !has_room_for(result, before.bytes)) [[unlikely]]
    return {no_space};
  if (result.what == inserted || result.what == replaced) result.id = make(what, old);
  if (is_once && !is_refused(result)) [[unlikely]]
    remember(what.once, result);
  return result;
}

put_all_answer memory_store::executor::operator()(put_all& what) {
  using enum put_answer::kind;
  const bool is_once = !what.once.empty();
  if (is_once) {
    const auto [before, is_other] = known<std::vector<put_answer>>(what.once);
    if (is_other) return {.what = put_all_answer::kind::other_request};
    if (before != nullptr) return {.is_replayed = true, .puts = *before};
  }
  put_all_answer result;
  expected_content before = content();
  for (const put& each : what.puts) {
    const put_answer outcome = outcome_of(each, holder_of_key(each), before);
    if (is_refused(outcome)) {
      return {.what = put_all_answer::kind::refused, .place = result.puts.size(), .why = outcome};
    }
    result.puts.push_back(outcome);
  }
  if (is_once && !has_room_for(result.puts, before.bytes)) {
    return {.what = put_all_answer::kind::refused, .why = {no_space}};
  }
  for (std::size_t i = 0; i < what.puts.size(); ++i) {
    put_answer& outcome = result.puts[i];
    if (outcome.what != kept) outcome.id = make(what.puts[i], holder_of_key(what.puts[i]));
  }
  if (is_once) remember(what.once, result.puts);
  return result;
}

job_id memory_store::executor::make(put& what, record* old) {
  if (old != nullptr) apply(*old, what.holder ? job_event::finish : job_event::cancel);
  const job_id id = store_.next_id_++;
  record& it = store_.jobs_[id];
  it.home = &known_tube(what.tube);
  it.job = {.id = id,
            .tube = std::move(what.tube),
            .key = std::move(what.key),
            .body = std::move(what.body),
            .priority = what.priority,
            .made = utc_,
            .ttr = what.ttr,
            .fields = std::move(what.fields),
            .history = std::move(what.history)};
  set_due(it.job, what.due);
  it.job.state = waiting_state(it.job.due, utc_);
  store_.bytes_ += memory_bytes_of(it.job);
  if (!it.job.key.empty()) it.home->keys.emplace(it.job.key, it.job.id);
  enter_indexes(it);
  return id;
}

bool memory_store::executor::has_room(const std::optional<job_fields>& history, const record& it) const noexcept {
  if (!history || history->bytes().size() <= it.job.history.bytes().size()) return true;
  const std::uint64_t more = history->bytes().size() - it.job.history.bytes().size();
  const std::uint64_t bytes = content().bytes;
  return bytes <= store_.bounds_.bytes && more <= store_.bounds_.bytes - bytes;
}

void memory_store::executor::set_history(record& it, std::optional<job_fields>& history) {
  if (!history) return;
  store_.bytes_ -= memory_bytes_of(it.job);
  it.job.history = std::move(*history);
  store_.bytes_ += memory_bytes_of(it.job);
}

claim_answer memory_store::executor::operator()(claim& what) {
  if (what.once.empty()) [[likely]]
    return claim_ready(what);
  using tokens = std::vector<reservation>;
  const auto [before, is_other] = known<tokens>(what.once);
  if (is_other) return {{}, claim_answer::kind::other_request};
  if (before != nullptr) return claim_again(*before, is_bounded(what));
  if (!has_room_for_claim()) return {{}, claim_answer::kind::no_space};
  claim_answer result = claim_ready(what);
  tokens claimed;
  for (const claimed_job& each : result.jobs) claimed.push_back(each.token);
  if (!claimed.empty()) remember(what.once, std::move(claimed));
  return result;
}

claim_answer memory_store::executor::claim_again(const std::vector<reservation>& tokens, bool is_bounded) {
  claim_answer result;
  result.is_replayed = true;
  for (const reservation& each : tokens) {
    const record* const it = held(each);
    if (it == nullptr) continue;
    result.jobs.push_back({each, it->job});
    if (is_bounded) claimed_bytes_ += content_bytes(it->job);
  }
  return result;
}

claim_answer memory_store::executor::claim_ready(const claim& what) {
  claim_answer result;
  std::vector<tube*> open;
  for (const std::string& name : what.tubes) {
    tube* found = find_tube(name);
    if (found != nullptr && found->paused_until.is_never()) open.push_back(found);
  }
  while (result.jobs.size() < what.count) {
    std::erase_if(open, [](const tube* each) { return each->ready.empty(); });
    if (open.empty()) break;
    if (claimed_bytes_ >= what.bytes) {
      result.what = claim_answer::kind::cut_short;
      break;
    }
    const tube* best = *std::ranges::min_element(open, {}, [](const tube* each) { return *each->ready.begin(); });
    result.jobs.push_back(reserve(store_.jobs_.at(best->ready.begin()->second), job_event::claim));
    if (is_bounded(what)) claimed_bytes_ += content_bytes(result.jobs.back().job);
  }
  return result;
}

claim_answer memory_store::executor::operator()(claim_job& what) {
  claim_answer result;
  record* it = find(what.id);
  if (it != nullptr && it->job.state != job_state::reserved) result.jobs.push_back(reserve(*it, job_event::claim_job));
  return result;
}

holder_answer memory_store::executor::operator()(finish& what) {
  return change_held(what.token, job_event::finish, [](record&) {});
}

holder_answer memory_store::executor::operator()(release& what) {
  const record* const old = held(what.token);
  if (old != nullptr && !has_room(what.history, *old)) return {holder_answer::kind::no_space};
  return change_held(what.token, job_event::release, [&](record& it) {
    ++it.job.counters.releases;
    it.job.priority = what.priority.value_or(it.job.priority);
    set_history(it, what.history);
    set_due(it.job, what.due);
  });
}

holder_answer memory_store::executor::operator()(abandon& what) {
  return change_held(what.token, job_event::expire, [](record&) {});
}

holder_answer memory_store::executor::operator()(bury& what) {
  const record* const old = held(what.token);
  if (old != nullptr && !has_room(what.history, *old)) return {holder_answer::kind::no_space};
  return change_held(what.token, job_event::bury, [&](record& it) {
    ++it.job.counters.buries;
    it.job.priority = what.priority.value_or(it.job.priority);
    set_history(it, what.history);
    it.burial = store_.next_burial_++;
  });
}

holder_answer memory_store::executor::operator()(touch& what) {
  holder_answer result;
  const instant now = now_;
  const holder_answer held = change_held(what.token, job_event::touch, [&](record& it) {
    it.job.expires = now + it.job.ttr;
    result.expires = it.job.expires;
  });
  result.what = held.what;
  return result;
}

bulk_answer memory_store::executor::operator()(kick& what) {
  bulk_answer result;
  tube* from = find_tube(what.tube);
  if (from == nullptr) return result;
  const bool bury_first = what.only ? *what.only == job_state::buried : !from->buried.empty();
  for (; result.changed < what.count; ++result.changed) {
    if (bury_first ? from->buried.empty() : from->delayed.empty()) break;
    const job_id id = bury_first ? from->buried.begin()->second : from->delayed.begin()->second;
    kick_job one{id};
    (*this)(one);
  }
  return result;
}

change_answer memory_store::executor::operator()(kick_job& what) {
  return change_waiting(find(what.id), what.expected, job_event::kick, [&](record& it) {
    ++it.job.counters.kicks;
    it.job.due = utc_;
  });
}

change_answer memory_store::executor::operator()(cancel& what) {
  return change_waiting(find(what.name), what.expected, job_event::cancel, [](record&) {});
}

change_answer memory_store::executor::operator()(reschedule& what) {
  return change_waiting(find(what.name), what.expected, job_event::reschedule,
                        [&](record& it) { set_due(it.job, what.due); });
}

change_answer memory_store::executor::operator()(fire_now& what) {
  return change_waiting(find(what.name), what.expected, job_event::fire_now, [&](record& it) {
    if (it.job.state != job_state::ready) it.job.due = utc_;
  });
}

pause_answer memory_store::executor::operator()(pause& what) {
  tube& it = known_tube(what.tube);
  if (what.length == milliseconds(0)) {
    if (it.paused_until.is_never()) {
      forget_if_idle(what.tube);
    } else {
      end_pause(what.tube, it);
    }
    return {};
  }
  if (!it.paused_until.is_never()) store_.pauses_.erase({it.paused_until, what.tube});
  it.paused_until = std::min(now_ + what.length, instant::latest());  // never() would be no pause
  store_.pauses_.insert({it.paused_until, what.tube});
  return {};
}

peek_answer memory_store::executor::operator()(peek& what) {
  const record* it = find(what.name);
  if (it == nullptr) return {};
  peek_answer seen{it->job, utc_, version_of(it->job)};
  if (!what.with_body) seen.job->body.clear();
  return seen;
}

peek_answer memory_store::executor::operator()(peek_first& what) {
  const tube* from = find_tube(what.tube);
  if (from == nullptr) return {};
  const auto first = [&](const auto& index) -> peek_answer {
    if (index.empty()) return {};
    const jobs::job& it = store_.jobs_.at(index.begin()->second).job;
    return {it, utc_, version_of(it)};
  };
  switch (what.state) {
    case job_state::delayed: return first(from->delayed);
    case job_state::ready: return first(from->ready);
    case job_state::buried: return first(from->buried);
    case job_state::reserved: break;
  }
  return {};
}

count_answer memory_store::executor::operator()(count_tube& what) {
  const tube* it = find_tube(what.tube);
  if (it == nullptr) return {};
  return {it->counts, it->paused_until};
}

count_answer memory_store::executor::operator()(count_all&) { return {store_.counts_}; }

tubes_answer memory_store::executor::operator()(list_tubes& what) {
  detail::tubes_page page(what);
  for (auto at = store_.tubes_.lower_bound(page.begin()); at != store_.tubes_.end(); ++at) {
    const auto& [name, it] = *at;
    if (!page.come_to(name)) break;
    if (it.counts.all() != 0) page.add(name, [&it] { return count_answer{it.counts, it.paused_until}; });
  }
  return std::move(page).take();
}

nodes_answer memory_store::executor::operator()(list_nodes&) { return {.nodes = {}, .now = utc_}; }

due_answer memory_store::executor::operator()(list_due& what) {
  detail::due_page page(what);
  const std::pair begin(what.from, what.after);
  if (what.prefix.empty()) {
    for (auto at = store_.due_.lower_bound(begin); at != store_.due_.end(); ++at) {
      if (!page.add(at->first, at->second, store_.jobs_.at(at->second).job.tube)) break;
    }
    return std::move(page).take();
  }
  for (auto at = store_.tubes_.lower_bound(what.prefix); at != store_.tubes_.end(); ++at) {
    const auto& [name, from] = *at;
    if (!name.starts_with(what.prefix)) break;
    for (auto job = from.delayed.lower_bound(begin); job != from.delayed.end(); ++job) {
      if (!page.add(job->first, job->second, name)) break;
    }
  }
  return std::move(page).take();
}

bulk_answer memory_store::executor::operator()(clear_tube& what) {
  bulk_answer result;
  for (; result.changed < what.count; ++result.changed) {
    const tube* from = find_tube(what.tube);  // again each time: the tube is forgotten with its last job
    if (from == nullptr) break;
    job_id first = 0;
    if (!from->ready.empty()) {
      first = from->ready.begin()->second;
    } else if (!from->delayed.empty()) {
      first = from->delayed.begin()->second;
    } else if (!from->buried.empty()) {
      first = from->buried.begin()->second;
    } else {
      break;
    }
    apply(store_.jobs_.at(first), job_event::cancel);
  }
  return result;
}

template <class Visit>
void memory_store::executor::visit_from(const tube& in, job_state state, const job_place& begin, Visit visit) {
  const auto go = [&visit](const auto& index, const auto& from, auto place_of) {
    for (auto at = index.lower_bound(from); at != index.end(); ++at) {
      if (!visit(place_of(*at))) return;
    }
  };
  if (state == job_state::delayed) {
    const utc_time due{milliseconds(static_cast<std::int64_t>(begin.rank))};
    go(in.delayed, std::pair(due, begin.id), [](const auto& entry) {
      return job_place{static_cast<std::uint64_t>(entry.first.time_since_epoch().count()), entry.second};
    });
  } else if (state == job_state::ready) {
    if (begin.rank > std::numeric_limits<priority>::max()) return;
    go(in.ready, std::pair(static_cast<priority>(begin.rank), begin.id),
       [](const auto& entry) { return job_place{entry.first, entry.second}; });
  } else {
    go(in.buried, begin.rank, [](const auto& entry) { return job_place{entry.first, entry.second}; });
  }
}

jobs_answer memory_store::executor::operator()(list_jobs& what) {
  detail::listed_page page(what);
  const auto visit = [&](const job_place& at) {
    if (at <= page.after()) return true;
    if (!page.come_to(at)) return false;
    const jobs::job& it = store_.jobs_.at(at.id).job;
    if (page.wants(it.tube)) page.add(detail::without_content(it), version_of(it));
    return true;
  };
  if (!page.is_by_id()) {
    if (const tube* const in = find_tube(what.tube)) visit_from(*in, *what.which, page.after(), visit);
  } else if (what.which) {
    for (auto at = store_.reserved_.upper_bound(what.after.id); at != store_.reserved_.end(); ++at) {
      if (!visit({0, *at})) break;
    }
  } else {
    for (auto at = store_.jobs_.upper_bound(what.after.id); at != store_.jobs_.end(); ++at) {
      if (!visit({0, at->first})) break;
    }
  }
  return std::move(page).take(utc_);
}

}  // namespace foliot::jobs
