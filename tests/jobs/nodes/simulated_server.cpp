#include "simulated_server.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

#include <foliot/core/clock.hpp>

#include "foliot_simulation/world.hpp"
#include "jobs/operation_parts.hpp"
#include "jobs/postgresql/lasting.hpp"

namespace foliot::jobs::nodes {

namespace {

using namespace std::chrono_literals;
using detail::database_failure;
using std::chrono::nanoseconds;

/// The settings of a connection: see sql_connection.cpp.
constexpr duration lock_timeout = 250ms;
constexpr duration idle_timeout = 2s;
constexpr std::size_t most_before = 6;
constexpr job_id id_step = 64;
/// As foliot.skip_numbers().
constexpr std::int64_t skipped = 1048576;

instant time_now() { return monotonic_clock::instance().now(); }

/// The jobs that an operation puts.
std::span<const put> puts_of(const operation& what) {
  if (const auto* const one = std::get_if<put>(&what)) return {one, 1};
  if (const auto* const all = std::get_if<put_all>(&what)) return all->puts;
  return {};
}

bool needs_room(const operation& what) { return !puts_of(what).empty(); }

bool is_poison(const operation& what) {
  return std::ranges::any_of(puts_of(what), [](const put& each) { return each.body.starts_with("poison"); });
}

/// Of an operation for which there is no room.
answer no_room_for(const operation& what) {
  constexpr put_answer none{put_answer::kind::no_space};
  if (std::holds_alternative<put>(what)) return none;
  return put_all_answer{.what = put_all_answer::kind::refused, .why = none};
}

/// Whether an answer says that something has changed.
bool has_changed(const answer& got) {
  if (const auto* const made = std::get_if<put_answer>(&got)) {
    if (made->is_replayed) return false;
    return made->what == put_answer::kind::inserted || made->what == put_answer::kind::replaced;
  }
  if (const auto* const all = std::get_if<put_all_answer>(&got)) {
    return !all->is_replayed && all->what == put_all_answer::kind::done;
  }
  if (const auto* const claimed = std::get_if<claim_answer>(&got)) {
    return !claimed->is_replayed && !claimed->jobs.empty();
  }
  if (const auto* const held = std::get_if<holder_answer>(&got)) return held->what == holder_answer::kind::done;
  if (const auto* const changed = std::get_if<change_answer>(&got)) return changed->what == change_answer::kind::done;
  if (const auto* const bulk = std::get_if<bulk_answer>(&got)) return bulk->changed > 0;
  return false;
}

/// Whether a put has put nothing, and is remembered.
bool keeps_a_record(const operation& what, const answer& got) {
  const auto* const made = std::get_if<put>(&what);
  if (made == nullptr || made->once.empty()) return false;
  const auto* const kept = std::get_if<put_answer>(&got);
  return kept != nullptr && kept->what == put_answer::kind::kept && !kept->is_replayed;
}

/// Times of the server's clock, by that of the node.
void to_local(answer& got, const detail::batch_time& time) {
  if (auto* const claimed = std::get_if<claim_answer>(&got)) {
    for (claimed_job& each : claimed->jobs) each.job.expires = time.to_local(each.job.expires.nanoseconds());
  } else if (auto* const held = std::get_if<holder_answer>(&got); held != nullptr && !held->expires.is_never()) {
    held->expires = time.to_local(held->expires.nanoseconds());
  } else if (auto* const shown = std::get_if<peek_answer>(&got); shown != nullptr && shown->job) {
    if (!shown->job->expires.is_never()) shown->job->expires = time.to_local(shown->job->expires.nanoseconds());
  }
}

}  // namespace

server_time simulated_server::wall() const {
  return wall_clock::to_sys(wall_clock::instance().now()) + nanoseconds(clock_ahead.count());
}

std::shared_ptr<backend> simulated_server::connect() {
  auto made = std::make_shared<backend>();
  made->process = host_ + "/" + std::to_string(timeline_) + "/" + std::to_string(++processes_);
  backends_.push_back(made);
  return made;
}

void simulated_server::stop(bool completes) {
  is_up = false;
  for (const auto& each : backends_) {
    if (!each->commits_at.is_never() && completes && !waits_for_standby) finish_commit(*each);
    roll_back(*each);
    each->has_ended = true;
  }
  backends_.clear();
}

void simulated_server::promote(content stored, std::vector<effect> log, std::int64_t timeline) {
  stored_ = std::move(stored);
  log_ = std::move(log);
  before_.clear();
  timeline_ = timeline;
  is_primary_ = true;
}

void simulated_server::advance() {
  const instant now = time_now();
  for (const auto& each : backends_) {
    if (each->commits_at <= now) finish_commit(*each);
    const bool is_idle = each->open != nullptr && each->commits_at.is_never() && each->last_use + idle_timeout <= now;
    if (each->ends_at > now && !is_idle) continue;
    roll_back(*each);
    each->has_ended = true;
  }
  std::erase_if(backends_, [](const auto& each) { return each->has_ended; });
}

backend::transaction& simulated_server::acquire(backend& by, instant deadline) {
  const instant until = time_now() + lock_timeout;
  for (;;) {
    advance();
    const instant now = time_now();
    const server_time wall_time = wall();
    if (by.has_ended || !is_up) throw database_failure("", "simulated: the server has closed the connection");
    if (holder_ == nullptr || holder_ == &by) {
      holder_ = &by;
      by.last_use = now;
      if (by.open == nullptr) {
        by.open = std::make_unique<backend::transaction>();
        by.open->after = stored_;
      }
      by.open->wall = wall_time;
      by.open->time = now;
      return *by.open;
    }
    if (now >= deadline) throw database_failure("", "simulated: the server did not answer in time");
    if (now >= until) throw database_failure("55P03", "simulated: a lock was not available");
    simulation::pass_time(nanoseconds(1'000'000 + static_cast<std::int64_t>(simulation::choose(20'000'000))));
  }
}

void simulated_server::roll_back(backend& by) {
  by.open = nullptr;
  by.commits_at = instant::never();
  if (holder_ == &by) holder_ = nullptr;
}

void simulated_server::commit(backend& by) {
  if (by.open != nullptr && by.open->changes) {
    before_.emplace_back(stored_, log_.size());
    if (before_.size() > most_before) before_.pop_front();
    stored_ = std::move(by.open->after);
    for (const auto& each : stored_.jobs.entries()) {
      const bool is_of_nobody =
          each.job.state == job_state::reserved && !stored_.registrations.contains(stored_.holders[each.job.id]);
      has_kept_for_nobody = has_kept_for_nobody || is_of_nobody;
    }
    log_.insert(log_.end(), by.open->effects.begin(), by.open->effects.end());
  }
  roll_back(by);
}

void simulated_server::finish_commit(backend& by) {
  commit(by);
  by.has_ended = true;
}

/// What a canary does when a connection is lost.
void simulated_server::end_reservations_of(const backend& by) {
  backend::transaction ending;
  ending.after = stored_;
  std::vector<operation> ends;
  for (const reservation& each : reservations_of(stored_, by.registration)) ends.emplace_back(abandon{each});
  static_cast<void>(abandon_all(ending, ends));
  stored_ = std::move(ending.after);
}

bool simulated_server::change_by_other_hand(std::span<const operation> what) {
  const server_time wall_time = wall();
  const instant now = time_now();
  if (holder_ != nullptr || !is_up) return false;
  static_cast<void>(stored_.jobs.execute_for(0, {}, what, wall_time, now));
  return true;
}

void simulated_server::lose(backend& by, duration noticed_after) {
  if (wrong_ == flaw::ends_with_connections && holder_ == nullptr) end_reservations_of(by);
  by.ends_at = time_now() + noticed_after;
  advance();
}

void simulated_server::lose_in_commit(backend& by, duration commits_after) {
  if (by.open == nullptr) return lose(by, duration::zero());
  by.commits_at = time_now() + (waits_for_standby ? duration(24h) : commits_after);
  advance();
}

bool simulated_server::ends(const std::string& process, bool terminates) {
  advance();
  const auto found = std::ranges::find(backends_, process, [](const auto& each) { return each->process; });
  if (found == backends_.end()) return true;
  if (!terminates || !(*found)->commits_at.is_never()) return false;
  roll_back(**found);
  (*found)->has_ended = true;
  return true;
}

bool simulated_server::is_committing(const std::string& process) {
  advance();
  const auto found = std::ranges::find(backends_, process, [](const auto& each) { return each->process; });
  return found != backends_.end() && !(*found)->commits_at.is_never();
}

std::string simulated_server::recognize(backend::transaction& in) const {
  const std::string here = "timeline " + std::to_string(timeline_);
  if (in.after.origin == here) return here;
  in.changes = true;
  if (!in.after.origin.empty()) {
    in.after.jobs.give_ids(in.after.jobs.last_id() + static_cast<job_id>(skipped) * id_step, id_step);
    in.after.last_registration += skipped;
  } else {
    in.after.jobs.give_ids(number_, id_step);
  }
  in.after.origin = here;
  return here;
}

std::optional<std::int64_t> simulated_server::announce(backend::transaction& in,
                                                       const detail::node_connection::announcement& who) {
  const instant time = in.now();
  const auto older =
      std::ranges::find_if(in.after.registrations, [&](const auto& each) { return each.second.name == who.node; });
  if (older != in.after.registrations.end()) {
    if (who.before != 0 && older->first > who.before && older->second.process != who.process) return std::nullopt;
    close_registration(in, older->first);
  }
  in.changes = true;
  in.after.registrations[++in.after.last_registration] = {std::string(who.node), who.process, who.timeout, time, time};
  return in.after.last_registration;
}

std::vector<reservation> simulated_server::reservations_of(const content& stored, std::int64_t registration) {
  std::vector<reservation> all;
  for (const auto& each : stored.jobs.entries()) {
    if (each.job.state != job_state::reserved) continue;
    const auto holder = stored.holders.find(each.job.id);
    if (holder != stored.holders.end() && holder->second == registration) {
      all.push_back({each.job.id, each.opening, each.attempts});
    }
  }
  return all;
}

std::vector<answer> simulated_server::abandon_all(backend::transaction& in, std::span<const operation> which) {
  // At this time no reservation is over, and no job is due.
  execution done = in.after.jobs.execute_for(0, {}, which, {}, instant::earliest());
  in.ready.insert(done.ready_tubes.begin(), done.ready_tubes.end());
  in.changes = in.changes || std::ranges::any_of(done.answers, has_changed);
  return std::move(done.answers);
}

bool simulated_server::is_of_other_node(const content& data, const reservation& token, std::int64_t registration) {
  const auto holder = data.holders.find(token.id);
  if (holder == data.holders.end()) return false;
  const auto theirs = data.registrations.find(holder->second);
  const auto ours = data.registrations.find(registration);
  const bool are_known = theirs != data.registrations.end() && ours != data.registrations.end();
  return are_known && theirs->second.process != ours->second.process;
}

void simulated_server::take_over(backend::transaction& in, const answer& got, std::int64_t registration) const {
  const auto* const claimed = std::get_if<claim_answer>(&got);
  if (claimed == nullptr || !claimed->is_replayed || wrong_ == flaw::leaves_with_first_node) return;
  for (const claimed_job& each : claimed->jobs) {
    in.changes = in.changes || in.after.holders[each.token.id] != registration;
    in.after.holders[each.token.id] = registration;
  }
}

void simulated_server::give_back(backend::transaction& in, std::span<const operation> batch,
                                 const detail::batch_frame& frame) const {
  std::vector<operation> unwanted;
  for (const reservation& each : frame.unwanted) {
    if (!is_of_other_node(in.after, each, frame.registration)) unwanted.emplace_back(abandon{each});
  }
  const auto is_abandon = [](const operation& each) { return std::holds_alternative<abandon>(each); };
  if (wrong_ == flaw::gives_back_all && (!unwanted.empty() || std::ranges::any_of(batch, is_abandon))) {
    for (const reservation& each : reservations_of(in.after, frame.registration)) unwanted.emplace_back(abandon{each});
  }
  const std::vector<answer> answers = abandon_all(in, unwanted);
  for (std::size_t i = 0; i < unwanted.size(); ++i) note(in, unwanted[i], answers[i], frame.registration);
}

namespace {

/// The put by a holder shows the reservation that the job has.
void take_any_holder(put& made, content& data) {
  if (!made.holder) return;
  const conformance::oracle::entry* const it = data.jobs.find(job_key{made.tube, made.key});
  const bool is_reserved = it != nullptr && it->job.state == job_state::reserved;
  if (is_reserved) made.holder = reservation{it->job.id, it->opening, it->attempts};
}

}  // namespace

/// What a canary executes instead of an operation.
operation simulated_server::alter(operation what, content& data) const {
  auto* const made = std::get_if<put>(&what);
  if (made != nullptr && wrong_ == flaw::is_early) made->due = std::get<milliseconds>(made->due) / 2;
  if (made != nullptr && wrong_ == flaw::ignores_priorities) made->priority = {};
  if (made != nullptr && wrong_ == flaw::ignores_once) made->once = {};
  if (auto* const some = std::get_if<claim>(&what); some != nullptr && wrong_ == flaw::claims_again) some->once = {};
  if (auto* const all = std::get_if<put_all>(&what); all != nullptr && wrong_ == flaw::puts_all_again) all->once = {};
  if (auto* const released = std::get_if<release>(&what);
      released != nullptr && wrong_ == flaw::is_early_after_release) {
    released->due = std::get<milliseconds>(released->due) / 2;
  }
  if (auto* const edit = std::get_if<reschedule>(&what); edit != nullptr && wrong_ == flaw::ignores_versions) {
    edit->expected = 0;
  }
  if (auto* const done = std::get_if<finish>(&what); done != nullptr && wrong_ == flaw::ends_by_id) {
    const conformance::oracle::entry* const it = data.jobs.find(done->token.id);
    const bool is_reserved = it != nullptr && it->job.state == job_state::reserved;
    if (is_reserved) done->token = {it->job.id, it->opening, it->attempts};
  }
  if (wrong_ == flaw::takes_any_holder) {
    if (made != nullptr) take_any_holder(*made, data);
    auto* const all = std::get_if<put_all>(&what);
    for (put& each : all == nullptr ? std::span<put>() : std::span<put>(all->puts)) take_any_holder(each, data);
  }
  if (const auto* const given = std::get_if<abandon>(&what); given != nullptr && wrong_ == flaw::finishes_abandoned) {
    what = finish{given->token};
  }
  return what;
}

void simulated_server::close_registration(backend::transaction& in, std::int64_t registration) const {
  const auto row = in.after.registrations.find(registration);
  if (row == in.after.registrations.end()) return;
  in.changes = true;
  std::vector<operation> ends;
  bool is_left = false;
  for (const reservation& each : reservations_of(in.after, registration)) {
    if (detail::is_lasting(each) && wrong_ != flaw::ends_lasting) {
      is_left = true;
    } else {
      ends.emplace_back(abandon{each});
    }
  }
  if (wrong_ != flaw::keeps_reservations) static_cast<void>(abandon_all(in, ends));
  if (!row->second.name.empty()) in.after.ended.emplace_back(row->second.name, in.time);
  if (is_left) {
    row->second.name.clear();
  } else {
    in.after.registrations.erase(row);
  }
}

bool simulated_server::end_lasting(backend::transaction& in, std::int64_t registration, instant now) {
  const std::vector<reservation> all = reservations_of(in.after, registration);
  execution done = in.after.jobs.execute_for(0, all, {}, {}, now);
  in.ready.insert(done.ready_tubes.begin(), done.ready_tubes.end());
  if (done.expired.size() == all.size()) in.after.registrations.erase(registration);
  return !done.expired.empty() || all.empty();
}

bool simulated_server::has_happened(backend::transaction& in, std::int64_t registration, std::int64_t number) const {
  if (wrong_ == flaw::repeats_batches) return false;
  in.changes = true;
  return !in.after.numbers.try_emplace({registration, number}, true).first->second;
}

bool simulated_server::heartbeat(backend::transaction& in, const detail::batch_frame& frame, instant time) {
  content& data = in.after;
  in.changes = true;
  for (auto& [registration, row] : data.registrations) {
    if (row.seen > time + row.timeout) row.seen = time;  // the clock has been set back
  }
  const auto own = data.registrations.find(frame.registration);
  if (own == data.registrations.end()) return false;
  node_row& row = own->second;
  if (row.seen < time - row.timeout / 2 || row.since > time) row.since = time;
  row.seen = time;
  std::erase_if(data.numbers, [&](const auto& each) {
    const auto& [registration, number] = each.first;
    return registration == frame.registration && number >= frame.forget_from && number < frame.forget_below;
  });
  for (const auto& [registration, other] : data.registrations) {
    if (other.name.empty()) {
      if (wrong_ != flaw::keeps_lasting && end_lasting(in, registration, time)) return true;
      continue;
    }
    const duration patience = wrong_ == flaw::takes_for_dead_early ? other.timeout / 4 : other.timeout;
    if (row.since >= time - patience || other.seen >= time - patience) continue;
    close_registration(in, registration);
    return true;
  }
  return false;
}

void simulated_server::note(backend::transaction& in, const operation& what, const answer& got,
                            std::int64_t registration) const {
  in.changes = in.changes || keeps_a_record(what, got);
  take_over(in, got, registration);
  if (!has_changed(got)) return;
  in.changes = true;
  if (const auto* const changed = std::get_if<change_answer>(&got)) ++in.after.changes[changed->id];
  const auto add = [&](effect::kind kind, std::string body, const reservation& token, std::string key = {}) {
    in.effects.push_back({kind, std::move(body), token, in.time, std::move(key)});
  };
  if (const auto* const made = std::get_if<put>(&what)) {
    if (made->holder) add(effect::kind::finish, {}, *made->holder);
    add(effect::kind::put, made->body, {std::get<put_answer>(got).id, 0, 0}, made->key);
  } else if (const auto* const all = std::get_if<put_all>(&what)) {
    for (std::size_t i = 0; i < all->puts.size(); ++i) {
      if (all->puts[i].holder) add(effect::kind::finish, {}, *all->puts[i].holder);
      add(effect::kind::put, all->puts[i].body, {std::get<put_all_answer>(got).puts[i].id, 0, 0}, all->puts[i].key);
    }
  } else if (const auto* const claimed = std::get_if<claim_answer>(&got)) {
    for (const claimed_job& each : claimed->jobs) {
      in.after.holders[each.token.id] = registration;
      add(effect::kind::claim, each.job.body, each.token);
    }
  } else if (const auto* const done = std::get_if<finish>(&what)) {
    add(effect::kind::finish, {}, done->token);
  } else if (const auto* const released = std::get_if<release>(&what)) {
    add(effect::kind::release, {}, released->token);
  } else if (const auto* const buried = std::get_if<bury>(&what)) {
    add(effect::kind::bury, {}, buried->token);
  } else if (const auto* const given = std::get_if<abandon>(&what)) {
    add(effect::kind::abandon, {}, given->token);
  }
}

void simulated_server::put_some(backend::transaction& in, std::span<const put> puts, std::size_t most,
                                std::int64_t registration) const {
  for (const put& each : puts.first(most)) {
    if (in.after.away.contains(each.tube)) continue;
    const operation what = each;
    std::vector<operation> one{what};
    const execution done = in.after.jobs.execute_for(0, {}, one, in.wall, in.time);
    note(in, what, done.answers.front(), registration);
  }
}

namespace {

/// Of the reservations that are over by the clock of the node, those that are not over by that of the server.
void note_still_held(content& data, const detail::batch_frame& frame, const detail::batch_time& time,
                     detail::batch_plan::outcome& result) {
  for (const reservation& each : frame.over) {
    const conformance::oracle::entry* const it = data.jobs.find(each.id);
    const bool is_this = it != nullptr && it->job.state == job_state::reserved &&
                         reservation{it->job.id, it->opening, it->attempts} == each;
    if (is_this) result.still.emplace_back(each.id, time.to_local(it->job.expires.nanoseconds()));
  }
}

/// Whether it is a put_all that only looks whether it has happened (sql/once.sql), and finds no record.
bool looks_in_vain(const operation& what, const backend::transaction& in) {
  const auto* const all = std::get_if<put_all>(&what);
  return all != nullptr && !all->once.empty() && all->once.lifetime() == milliseconds(0) &&
         !in.after.jobs.remembers(all->once.key(), std::chrono::floor<milliseconds>(in.wall));
}

/// Whether it is a put that has happened already: it is only answered again, also if its tube has left.
bool is_known(const operation& what, const backend::transaction& in) {
  const auto* const made = std::get_if<put>(&what);
  return made != nullptr && !made->once.empty() &&
         in.after.jobs.remembers(made->once.key(), std::chrono::floor<milliseconds>(in.wall));
}

}  // namespace

simulated_server::divided simulated_server::divide(std::span<const operation> batch, const detail::batch_frame& frame,
                                                   backend::transaction& in, detail::map_state& map) const {
  content& data = in.after;
  divided parts;
  parts.refused.resize(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::span<const put> puts = puts_of(batch[i]);
    if (looks_in_vain(batch[i], in)) {
      map.elsewhere.push_back(i);
      parts.refused[i] = passed_over_answer{};
      continue;
    }
    const auto left = std::ranges::count_if(puts, [&](const put& each) { return data.away.contains(each.tube); });
    if (left > 0 && !is_known(batch[i], in) && wrong_ != flaw::accepts_tubes_that_left) {
      if (std::cmp_equal(left, puts.size())) {
        map.elsewhere.push_back(i);
      } else {
        parts.undone.emplace_back(i, puts.size());
      }
      parts.refused[i] = passed_over_answer{};
    } else if (is_full && frame.lacks_room && needs_room(batch[i])) {
      parts.refused[i] = no_room_for(batch[i]);
    } else if (const auto* const given = std::get_if<abandon>(&batch[i]);
               given != nullptr && is_of_other_node(data, given->token, frame.registration)) {
      parts.refused[i] = holder_answer{holder_answer::kind::not_held};
    } else {
      parts.done.push_back(alter(batch[i], data));
    }
  }
  return parts;
}

detail::batch_plan::outcome simulated_server::execute(backend::transaction& in, std::span<const operation> batch,
                                                      const detail::batch_frame& frame, detail::batch_time& time) {
  const instant clock = in.now();
  content& data = in.after;
  const auto its = data.registrations.find(frame.registration);
  const bool is_over = its == data.registrations.end() || its->second.name.empty();
  if (is_over && wrong_ != flaw::ignores_registrations) {
    throw database_failure("FL001", "simulated: the registration of the node is over");
  }
  if (std::ranges::any_of(batch, is_poison)) throw database_failure("P0001", "simulated: a trigger refuses this");
  if (is_full && !frame.lacks_room && std::ranges::any_of(batch, needs_room)) {
    throw database_failure("53100", "simulated: no space left on device");
  }
  detail::batch_plan::outcome result;
  time.now_ms = std::chrono::floor<milliseconds>(in.wall).time_since_epoch().count();
  time.now_ns = clock.nanoseconds();
  if (frame.sends_heartbeat) result.wants_heartbeat = heartbeat(in, frame, clock);
  give_back(in, batch, frame);
  auto [done, refused, undone] = divide(batch, frame, in, result.map);
  execution got = data.jobs.execute_for(static_cast<std::uint64_t>(frame.opening), frame.over, done, in.wall, clock);
  in.changes = in.changes || !got.expired.empty() || !got.ready_tubes.empty();
  std::size_t next = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (refused[i]) {
      result.done.answers.push_back(*std::move(refused[i]));
      continue;
    }
    note(in, wrong_ == flaw::finishes_abandoned ? done[next] : batch[i], got.answers[next], frame.registration);
    answer& one = got.answers[next++];
    if (wrong_ == flaw::holds_what_is_over && std::holds_alternative<touch>(batch[i])) {
      one = holder_answer{holder_answer::kind::done, clock + duration(1min)};
    }
    const auto* const all = std::get_if<put_all_answer>(&one);
    if (all != nullptr && all->what == put_all_answer::kind::refused && all->place > 0) {
      undone.emplace_back(i, all->place);
    }
    to_local(one, time);
    result.done.answers.push_back(std::move(one));
  }
  if (wrong_ == flaw::repeats_tokens) {
    for (const auto& each : data.jobs.entries()) {
      if (each.job.state != job_state::reserved) data.jobs.find(each.job.id)->attempts = 0;
    }
  }
  std::ranges::sort(undone);
  if (!undone.empty() && wrong_ != flaw::hides_what_is_undone) result.undone = undone.front().first;
  for (const auto& [place, most] : undone) put_some(in, std::get<put_all>(batch[place]).puts, most, frame.registration);
  note_still_held(data, frame, time, result);
  in.ready.insert(got.ready_tubes.begin(), got.ready_tubes.end());
  result.done.ready_tubes.assign(in.ready.begin(), in.ready.end());
  const utc_time due = data.jobs.next().due;
  if (due != utc_time::max()) result.next.due = time.to_local_due(due.time_since_epoch().count());
  result.map.version = data.map_version;
  result.map.sends = !data.away.empty();
  if (in.changes) {
    const bool has_room = !is_full || simulation::choose(2) == 0;
    result.partition = has_room ? 0 : detail::batch_plan::outcome::no_partition;
    if (has_room && !data.numbers.try_emplace({frame.registration, frame.number}, false).second) {
      throw database_failure("40001", "simulated: the batch was given up");
    }
  }
  return result;
}

}  // namespace foliot::jobs::nodes
