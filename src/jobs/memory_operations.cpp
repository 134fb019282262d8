// What each operation does on a memory_store.
#include "memory_executor.hpp"

namespace foliot::jobs {

put_answer memory_store::executor::operator()(put& what) {
  using enum put_answer::kind;
  put_answer result{inserted, 0};
  record* const old = what.key.empty() ? nullptr : find(job_key{what.tube, what.key});
  if (old != nullptr) {
    if (what.existing == on_existing::keep) return {kept, old->job.id};
    if (what.existing == on_existing::refuse) return {exists, old->job.id};
    if (old->job.state == job_state::reserved) return {reserved, old->job.id};
  }
  if (!has_room(what, old)) return {no_space, 0};
  if (old != nullptr) {
    apply(*old, job_event::cancel);
    result.what = replaced;
  }
  result.id = store_.next_id_++;
  record& it = store_.jobs_[result.id];
  it.home = &known_tube(what.tube);
  it.job = {.id = result.id,
            .tube = std::move(what.tube),
            .key = std::move(what.key),
            .body = std::move(what.body),
            .priority = what.priority,
            .made = utc_,
            .ttr = what.ttr};
  set_due(it.job, what.due);
  it.job.state = waiting_state(it.job.due, utc_);
  store_.bytes_ += memory_bytes_of(it.job);
  if (!it.job.key.empty()) it.home->keys.emplace(it.job.key, it.job.id);
  enter_indexes(it);
  return result;
}

bool memory_store::executor::has_room(const put& what, const record* old) const noexcept {
  const std::uint64_t jobs = store_.jobs_.size() - (old != nullptr ? 1 : 0);
  const std::uint64_t bytes = store_.bytes_ - (old != nullptr ? memory_bytes_of(old->job) : 0);
  const memory_bounds& bounds = store_.bounds_;
  return jobs < bounds.jobs && bytes <= bounds.bytes && memory_bytes_of(what) <= bounds.bytes - bytes;
}

claim_answer memory_store::executor::operator()(claim& what) {
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
    if (is_bounded(what)) claimed_bytes_ += result.jobs.back().job.body.size();
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
  return change_held(what.token, job_event::release, [&](record& it) {
    ++it.job.counters.releases;
    it.job.priority = what.priority.value_or(it.job.priority);
    set_due(it.job, what.due);
  });
}

holder_answer memory_store::executor::operator()(abandon& what) {
  return change_held(what.token, job_event::expire, [](record&) {});
}

holder_answer memory_store::executor::operator()(bury& what) {
  return change_held(what.token, job_event::bury, [&](record& it) {
    ++it.job.counters.buries;
    it.job.priority = what.priority.value_or(it.job.priority);
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
  return change_waiting(find(what.id), job_event::kick, [&](record& it) {
    ++it.job.counters.kicks;
    it.job.due = utc_;
  });
}

change_answer memory_store::executor::operator()(cancel& what) {
  return change_waiting(find(what.name), job_event::cancel, [](record&) {});
}

change_answer memory_store::executor::operator()(reschedule& what) {
  return change_waiting(find(what.name), job_event::reschedule, [&](record& it) { set_due(it.job, what.due); });
}

change_answer memory_store::executor::operator()(fire_now& what) {
  return change_waiting(find(what.name), job_event::fire_now, [&](record& it) {
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
  peek_answer seen{it->job, utc_};
  if (!what.with_body) seen.job->body.clear();
  return seen;
}

peek_answer memory_store::executor::operator()(peek_first& what) {
  const tube* from = find_tube(what.tube);
  if (from == nullptr) return {};
  const auto first = [&](const auto& index) -> peek_answer {
    if (index.empty()) return {};
    return {store_.jobs_.at(index.begin()->second).job, utc_};
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

tubes_answer memory_store::executor::operator()(list_tubes&) {
  tubes_answer result;
  for (const auto& [name, it] : store_.tubes_) {
    if (it.counts.all() != 0) result.tubes.push_back(name);
  }
  return result;
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

}  // namespace foliot::jobs
