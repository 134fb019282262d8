#include "facts.hpp"

#include <algorithm>

namespace foliot::program::worlds {

namespace {

bool is_acknowledged(const event& it) {
  return it.what == verb::put && (it.answer == "INSERTED" || it.answer == "REPLACED");
}

bool is_reserve(const event& it) { return it.what == verb::reserve || it.what == verb::reserve_job; }

/// Whether one of the moments lies between two others.
bool has_between(const std::vector<std::uint64_t>& moments, std::uint64_t from, std::uint64_t to) {
  return std::ranges::any_of(moments, [&](std::uint64_t each) { return from < each && each < to; });
}

/// Whether its connection lets go of the job by it, or would have.
bool gives_up(const event& it) {
  return (it.what == verb::remove || it.what == verb::release || it.what == verb::bury) && it.answer != "NOT_FOUND";
}

}  // namespace

facts::facts(const history& of) : all_(of) {
  for (const event& each : of.events) {
    if (is_acknowledged(each)) puts_.emplace(each.job, &each);
    if (each.asked != 0) by_id_[each.asked].push_back(&each);
    if (each.job != 0 && each.job != each.asked) by_id_[each.job].push_back(&each);
    if (!each.key.empty()) by_key_[{each.tube, each.key}].push_back(&each);
    if (each.what == verb::reserve) reserves_.push_back(&each);
    if (each.what == verb::pause) pauses_.push_back(&each);
    if (each.what == verb::kick) kicks_.push_back(&each);
    if (each.what == verb::clear) clears_.push_back(&each);
    if (!each.token.empty()) by_token_[each.token].push_back(&each);
  }
}

const event* facts::put_of(jobs::job_id id) const {
  const auto found = puts_.find(id);
  return found == puts_.end() ? nullptr : found->second;
}

std::vector<const event*> facts::about(jobs::job_id id) const {
  std::vector<const event*> found;
  if (const auto by_id = by_id_.find(id); by_id != by_id_.end()) found = by_id->second;
  const event* const put = put_of(id);
  if (put == nullptr || put->key.empty()) return found;
  for (const event* each : by_key_.at({put->tube, put->key})) {
    if (std::ranges::find(found, each) == found.end()) found.push_back(each);
  }
  return found;
}

bool facts::is_after(const event& it, const event& earlier) const {
  if (!earlier.end) return false;
  if (it.begin.order > earlier.end->order) return true;
  return it.what == verb::reserve && is_exact(it) && it.end && it.end->time > earlier.end->time;
}

bool facts::may_have_reserved(const event& it, instant until) const {
  if (it.begin.time > until) return false;
  if (!is_exact(it)) return true;
  const std::optional<moment>& known = it.end ? it.end : it.given_up;
  return known && known->time <= until;
}

bool facts::names(const event& it, jobs::job_id id) const {
  if (it.job != 0 && it.what != verb::put) return it.job == id;
  if (it.asked != 0) return it.asked == id;
  const event* const put = put_of(id);
  return put != nullptr && !it.key.empty() && it.key == put->key && it.tube == put->tube;
}

bool facts::may_end(const event& it, jobs::job_id id) const {
  if (it.what == verb::clear) return it.tube == put_of(id)->tube && (!it.end || it.changed > 0);
  if (it.what == verb::remove) return it.asked == id && it.answer != "NOT_FOUND";
  if (it.what == verb::cancel) return names(it, id) && (it.answer == "CANCELLED" || !it.end);
  if (it.what != verb::put || !it.replaces || !names(it, id)) return false;
  return it.end ? it.answer == "REPLACED" && it.job > id : true;
}

/// Whether its answer says that the job is gone.
bool facts::ends(const event& it, jobs::job_id id) const {
  if (it.is(verb::clear, "CLEARED")) {
    const event& put = *put_of(id);
    const bool meant_all = it.tube == put.tube && it.changed < it.count && it.begin.order > put.end->order;
    const auto may_have_ended_it = [&](const event* each) {
      return each->begin.order < it.end->order && may_end(*each, id);
    };
    return meant_all && !may_have_been_held(id, it.end->order) && std::ranges::none_of(about(id), may_have_ended_it);
  }
  if (it.is(verb::remove, "DELETED")) return it.asked == id;
  if (it.is(verb::cancel, "CANCELLED")) return it.job == id;
  if (!it.is(verb::put, "REPLACED") || !names(it, id) || it.job <= id) return false;
  return is_after(it, *put_of(id));
}

bool facts::may_have_ended(jobs::job_id id, std::uint64_t order) const {
  const auto may_end_it = [&](const event* each) { return each->begin.order < order && may_end(*each, id); };
  return std::ranges::any_of(about(id), may_end_it) || std::ranges::any_of(clears_, may_end_it);
}

const event* facts::end_of(jobs::job_id id) const {
  const event* first = nullptr;
  const auto look_at = [&](const event* each) {
    if (ends(*each, id) && (first == nullptr || each->end->order < first->end->order)) first = each;
  };
  std::ranges::for_each(about(id), look_at);
  std::ranges::for_each(clears_, look_at);
  return first;
}

bool facts::never_was(const event& put) const {
  if (!put.key.empty()) return false;
  if (std::ranges::any_of(clears_, [&](const event* each) { return each->tube == put.tube; })) return false;
  // A client may name a job of which nobody has heard, by its id.
  return std::ranges::none_of(all_.events, [&](const event& each) {
    const bool may_end_it = each.what == verb::remove || each.what == verb::cancel;
    return may_end_it && each.key.empty() && !puts_.contains(each.asked) && each.answer != "GONE" &&
           each.answer != "NOT_FOUND";
  });
}

bool facts::may_have_been_held(jobs::job_id id, std::uint64_t order) const {
  const auto may_have_it = [&](const event& it) {
    if (it.begin.order > order || !is_reserve(it)) return false;
    return may_hide_a_job(it) ? it.asked == 0 || it.asked == id : it.job == id;
  };
  return std::ranges::any_of(all_.events, may_have_it);
}

std::vector<hold> facts::holds(jobs::job_id id) const {
  std::vector<hold> found;
  const event* const put = put_of(id);
  if (put == nullptr || all_.has_clocks_apart) return found;
  const std::vector<const event*> named = about(id);
  for (const event* each : named) {
    if (!is_reserve(*each) || each->answer != "RESERVED") continue;
    hold one{each, whole_history, each->begin.time + duration(put->ttr)};
    std::uint64_t next_reserve = whole_history;  // of this connection: later touches may belong to that one
    for (const event* other : named) {
      if (!one.is_shown_by(*other) || other->begin.order <= each->begin.order) continue;
      if (gives_up(*other)) one.until = std::min(one.until, other->begin.order);
      if (is_reserve(*other)) next_reserve = std::min(next_reserve, other->begin.order);
    }
    const auto end = all_.connection_ends.find(each->connection);
    if (each->by == protocol_of::beanstalk && end != all_.connection_ends.end()) {
      one.until = std::min(one.until, end->second);
    }
    for (const auto* const restarts : {&all_.server_ends, &all_.server_starts}) {
      const auto next = std::ranges::upper_bound(*restarts, each->begin.order);
      if (next != restarts->end()) one.until = std::min(one.until, *next);
    }
    for (const event* other : named) {
      const bool extends = one.is_shown_by(*other) && other->begin.order > each->begin.order &&
                           other->begin.order < std::min(one.until, next_reserve) && other->is(verb::touch, "TOUCHED");
      if (extends) one.until_time = std::max(one.until_time, other->begin.time + duration(put->ttr));
    }
    if (one.until > each->end->order) found.push_back(one);
  }
  return found;
}

const char* facts::why_ended(const event& reserve, const event& it) const {
  if (has_between(all_.server_starts, reserve.end->order, it.begin.order)) return "the server was started again";
  const event* const put = put_of(reserve.job);
  instant latest = put == nullptr ? instant::never() : reserve.end->time + duration(put->ttr);
  for (const event* each : by_token_.at(reserve.token)) {
    if (each == &it || each == &reserve) continue;
    const bool ended = each->answer == "DELETED" || each->answer == "RELEASED" || each->answer == "BURIED";
    if (ended && each->end->order < it.begin.order) return "it was ended";
    if (each->what != verb::touch || each->answer == "NOT_FOUND" || latest == instant::never()) continue;
    latest = each->end ? std::max(latest, each->end->time + duration(put->ttr)) : instant::never();
  }
  return it.begin.time > latest && !all_.has_clocks_apart ? "its time was over" : nullptr;
}

bool facts::may_have_restarted(std::uint64_t from, std::uint64_t to) const {
  return has_between(all_.server_ends, from, to) || has_between(all_.server_starts, from, to);
}

const event* facts::change_between(jobs::job_id id, const event& look, const event& it) const {
  if (may_have_restarted(look.begin.order, it.end->order)) return nullptr;  // which may bring back an earlier version
  for (const event* each : about(id)) {
    // Each is counted by the job. A reservation is not, once it has been given back.
    const bool changes = each->answer == "RELEASED" || each->answer == "BURIED" || each->is(verb::kick_job, "KICKED");
    const bool is_between = each->begin.order > look.end->order && each->end && each->end->order < it.begin.order;
    if (changes && is_between && each->job == id) return each;
  }
  return nullptr;
}

bool facts::may_have_changed(jobs::job_id id, const event& look, const event& it) const {
  if (look.state == "reserved" || may_have_restarted(look.begin.order, it.end->order)) return true;
  const auto may_be_between = [&](const event* each) {
    if (each == &look || each == &it || each->what == verb::peek || each->what == verb::page) return false;
    const bool is_before = each->end && each->end->order < look.begin.order;
    const bool is_given_up = !each->end && !all_.has_stalls && each->given_up &&
                             each->given_up->time < look.begin.time;  // what it may have had was given back
    return each->begin.order < it.end->order && !is_before && !is_given_up;
  };
  const std::string& tube = put_of(id)->tube;
  const auto may_change = [&](const event* each) {
    if (!may_be_between(each)) return false;
    return each->what == verb::reserve ? may_hide_a_job(*each) && each->watched.contains(tube) : each->tube == tube;
  };
  return std::ranges::any_of(about(id), may_be_between) || std::ranges::any_of(reserves_, may_change) ||
         std::ranges::any_of(kicks_, may_change) || std::ranges::any_of(clears_, may_change);
}

bool facts::may_be_paused(const std::string& tube, std::uint64_t order) const {
  return std::ranges::any_of(pauses_,
                             [&](const event* each) { return each->tube == tube && each->begin.order < order; });
}

bool facts::is_untouched(jobs::job_id id, instant until, const event* but) const {
  const event& put = *put_of(id);
  for (const event* each : about(id)) {
    if (each == but || each == &put || each->what == verb::peek || each->begin.time > until) continue;
    if (each->what != verb::reserve || may_have_reserved(*each, until)) return false;
  }
  // What a client that had gone before the put got nevertheless is given back at once.
  const auto has_gone = [&](const event* each) {
    return !all_.has_stalls && each->given_up && each->given_up->order < put.begin.order;
  };
  const auto may_have_ended_it = [&](const event* each) {
    return each != but && each->tube == put.tube && each->begin.time <= until;
  };
  if (std::ranges::any_of(clears_, may_have_ended_it)) return false;
  return std::ranges::none_of(reserves_, [&](const event* each) {
    return each != but && may_hide_a_job(*each) && each->watched.contains(put.tube) && !has_gone(each) &&
           may_have_reserved(*each, until);
  });
}

bool facts::stays_delayed(const event& put, const event& page) const {
  if (put.end->order > page.begin.order) return false;
  if (all_.wall.peak(put.begin.time, page.end->time) >= earliest_due(put)) return false;
  const auto may_be_between = [&](const event* each) {
    return each->begin.order < page.end->order && !(each->end && each->end->order < put.begin.order);
  };
  const auto is_of_tube = [&](const event* each) { return each->tube == put.tube && may_be_between(each); };
  if (std::ranges::any_of(kicks_, is_of_tube) || std::ranges::any_of(clears_, is_of_tube)) return false;
  return std::ranges::none_of(about(put.job), [&](const event* each) {
    return each != &put && each->what != verb::peek && each->what != verb::touch && may_be_between(each);
  });
}

jobs::utc_time facts::earliest_due(const event& by) const {
  return by.at ? *by.at : all_.wall.trough(by.begin.time, by.end->time) + by.delay;
}

jobs::utc_time facts::latest_due(const event& by) const {
  return by.at ? *by.at : all_.wall.peak(by.begin.time, by.end->time) + jobs::milliseconds(1) + by.delay;
}

}  // namespace foliot::program::worlds
