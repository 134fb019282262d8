// The operations of workers on an embedded store: claims, and what the holder of a reservation may do.
#include <utility>
#include <vector>

#include "core.hpp"

namespace foliot::jobs::detail {

std::optional<ready_entry> embedded_core::first_ready(tube& it) {
  if (it.ready.empty()) {
    if (it.stored.ready == 0) it.ready.set_complete();
    if (it.ready.complete() || it.stored.ready == it.reserved.size()) return std::nullopt;
    refill(it, it.ready);
    if (it.ready.empty()) return std::nullopt;
  }
  return it.ready.front();
}

claim_answer embedded_core::step(claim& what) {
  std::vector<tube*> open;
  for (const std::string& name : what.tubes) {
    tube* it = tubes_.find(name);
    if (it != nullptr && !it->paused()) open.push_back(it);
  }
  claim_answer answer;
  while (answer.jobs.size() < what.count) {
    tube* best = nullptr;
    std::optional<ready_entry> first;
    for (tube* each : open) {
      const std::optional<ready_entry> its_first = first_ready(*each);
      if (!its_first || (first && !(*its_first < *first))) continue;
      best = each;
      first = its_first;
    }
    if (best == nullptr) break;
    if (claimed_bytes_ >= what.bytes) {
      answer.what = claim_answer::kind::cut_short;
      break;
    }
    best->ready.pop_front();
    record it;
    load_known(first->id, it, true);
    answer.jobs.push_back(reserve(std::move(it), *best));
    if (is_bounded(what)) claimed_bytes_ += content_bytes(answer.jobs.back().job);
  }
  return answer;
}

claim_answer embedded_core::step(claim_job& what) {
  claim_answer answer;
  record it;
  if (holder(what.id) != nullptr || !load(what.id, it, true)) return answer;
  tube& home = home_of(it);
  const job_state state = waiting_state_of(it, home);
  if (state != job_state::ready) {
    if (!has_room_for(what)) {
      answer.what = claim_answer::kind::no_space;
      return answer;
    }
    // After a crash it is ready, wherever it was before the claim.
    unlink(it, home, state);
    link(it, home, job_state::ready);
    save(it);
    must_sync_ = true;
  }
  home.ready.erase(it.as_ready());
  answer.jobs.push_back(reserve(std::move(it), home));
  return answer;
}

holder_answer embedded_core::step(finish& what) {
  held_job* it = holder(what.token);
  if (it == nullptr) return {holder_answer::kind::not_held};
  unlink(it->data, *it->home, job_state::ready);
  erase(it->data, *it->home);
  leave(*it);
  must_sync_ = true;
  return {};
}

holder_answer embedded_core::step(release& what) {
  held_job* held = holder(what.token);
  if (held == nullptr) return {holder_answer::kind::not_held};
  if (!has_room_for(what)) return {holder_answer::kind::no_space};
  tube& home = *held->home;
  record it;
  load_known(what.token.id, it, true);
  it.counters = held->data.counters;
  unlink(it, home, job_state::ready);
  leave(*held);
  ++it.counters.releases;
  it.priority = what.priority.value_or(it.priority);
  if (what.history) it.history = *std::move(what.history);
  set_due(it, what.due);
  link(it, home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
  save(it);
  must_sync_ = true;
  return {};
}

holder_answer embedded_core::step(abandon& what) {
  held_job* it = holder(what.token);
  if (it == nullptr) return {holder_answer::kind::not_held};
  give_back(*it);
  return {};
}

holder_answer embedded_core::step(bury& what) {
  held_job* held = holder(what.token);
  if (held == nullptr) return {holder_answer::kind::not_held};
  if (!has_room_for(what)) return {holder_answer::kind::no_space};
  tube& home = *held->home;
  record it;
  load_known(what.token.id, it, true);
  it.counters = held->data.counters;
  unlink(it, home, job_state::ready);
  leave(*held);
  ++it.counters.buries;
  it.priority = what.priority.value_or(it.priority);
  if (what.history) it.history = *std::move(what.history);
  link(it, home, job_state::buried);
  save(it);
  must_sync_ = true;
  return {};
}

holder_answer embedded_core::step(touch& what) {
  held_job* it = holder(what.token);
  if (it == nullptr) return {holder_answer::kind::not_held};
  held_.set_expiry(*it, now_ + milliseconds(it->data.ttr));
  return {holder_answer::kind::done, it->expires};
}

}  // namespace foliot::jobs::detail
