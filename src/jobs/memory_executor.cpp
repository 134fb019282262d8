#include "memory_executor.hpp"

namespace foliot::jobs {
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
    case job_state::reserved: store_.expiring_.insert({job.expires, job.id}); break;
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

}  // namespace foliot::jobs
