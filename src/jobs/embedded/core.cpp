#include "core.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include <rocksdb/perf_level.h>

#include "check.hpp"
#include "jobs/due_page.hpp"
#include "jobs/listed_page.hpp"
#include "jobs/tubes_page.hpp"
#include "jobs/version.hpp"
#include "opening.hpp"
#include "private_files.hpp"

namespace foliot::jobs::detail {

namespace {

job_version version_of(const record& it, job_state state, instant expires) noexcept {
  return detail::version_of({.id = it.id,
                             .priority = it.priority,
                             .due = it.due,
                             .delay = it.delay,
                             .counters = it.counters,
                             .state = state,
                             .expires = expires});
}

/// How many ids are given between two writes of the limit.
constexpr job_id ids_at_once = 10'000;
/// How often a store looks whether the disk has room for due jobs again.
constexpr milliseconds between_looks{100};
/// How often a store tells that it cannot write the mark of what has been synced.
constexpr milliseconds between_mark_warnings{10'000};
/// How many reservations, and how many pauses, end in one batch at most: some 6 ms of work.
constexpr std::size_t ends_at_once = 512;

/// RocksDB counts what each thread does, unless it is told not to: each comparison of two keys for itself, which was a
/// tenth of the instructions of a put. A program that has chosen what is counted, or does so after the first batch of
/// the thread, keeps its choice.
void leave_uncounted() noexcept {
  thread_local bool is_done = false;
  if (std::exchange(is_done, true) || rocksdb::GetPerfLevel() != rocksdb::PerfLevel::kEnableCount) return;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
}

}  // namespace

embedded_core::embedded_core(const embedded_options& options, std::shared_ptr<rocksdb::FileSystem> files,
                             std::size_t widest_window)
    : options_(options),
      disk_(prepared_folder(options.folder, files, options.for_check), files, options.salvage, options.for_check),
      space_(disk_, options.disk_reserve),
      tubes_(widest_window),
      format_(disk_),
      records_(disk_, format_),
      indexes_(disk_, tubes_, held_, records_),
      once_(disk_, format_, options.once_bytes) {
  open();
}

embedded_core::~embedded_core() {
  while (pause_timers_.pop_any() != nullptr) {
  }
  try {
    close();
  } catch (const std::exception&) {
    // A destructor cannot report it, as close() does.
  }
}

void embedded_core::close() {
  if (!std::exchange(is_usable_, false)) return;
  try {
    failure_ = "the job store " + disk_.folder() + " has been closed";
    disk_.put(family::meta, "ids", view(number_key(next_id_)));
    disk_.write(true);
    unsynced_ = false;
    disk_.flush();
    disk_.write_mark();
  } catch (const std::exception&) {
    if (unsynced_) throw;  // else the log has everything
  }
}

void embedded_core::open() {
  const opened_format format = open_format(disk_);
  opening_ = format.opening;
  format_.set(format.version);
  next_id_ = id_limit_ = format.next_id;
  tubes_.open(disk_);
  disk_.write(true);
  mark(options_.clocks.monotonic->now());
  indexes_.open();
  once_.open();
  warn_of_open_folder();
  if (!disk_.damage().empty()) end_salvage();
}

void embedded_core::warn_of_open_folder() const {
  if (const open_to_others how = openness(disk_.folder()); how != open_to_others::no) {
    warn("other users can " + std::string(how == open_to_others::enterable ? "enter" : "read") + " the folder " +
         disk_.folder() + (how == open_to_others::enterable ? ", read the jobs in it," : ",") +
         " and keep the store from being opened again: make it private (chmod 700)");
  }
  if (!disk_.lock_failure().empty()) {
    warn("the file system cannot lock the folder " + disk_.folder() + " (" + disk_.lock_failure() +
         "): only its file LOCK keeps a second server out, so do not remove that file");
  }
}

void embedded_core::end_salvage() {
  // Tables that were written from changes behind the damage, in some families only, contradict the others.
  if (const check_result whole = check(); !whole) {
    throw store_failure("cannot salvage the job store " + disk_.folder() + ": " + disk_.damage() +
                            "; what is left contradicts itself (" + whole.error() + "): restore a backup",
                        store_failure::remedies::restore_backup);
  }
  disk_.forget_salvage();
  warn("the job store " + disk_.folder() + " was salvaged: " + disk_.damage() +
       ": what had been changed from there on is lost");
}

void embedded_core::warn(const std::string& sentence) const {
  if (options_.warn) options_.warn(sentence);
}

void embedded_core::mark(instant now) {
  if (disk_.mark(now) || disk_.mark_failure().empty() || now < next_mark_warning_) return;
  next_mark_warning_ = now + between_mark_warnings;
  warn("cannot write the file SYNCED of the job store " + disk_.folder() + " (" + disk_.mark_failure() +
       "): without it damage at the end of the log would not be noticed");
}

execution embedded_core::execute(std::span<operation> batch) {
  if (!is_usable_)
    throw store_failure(failure_.empty() ? "the job store cannot go on: open it again" : failure_, remedy_);
  is_usable_ = false;  // until all of the batch has been done
  try {
    execution done = execute_steps(batch);
    is_usable_ = true;
    return done;
  } catch (const store_failure& failed) {
    failure_ = failed.what();
    remedy_ = failed.remedy();
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failed) {
    // Of a step that was half done, memory and disk do not agree. The text may need more memory than there is.
    failure_ = "the job store " + disk_.folder() + " cannot go on: " + failed.what() + "; open it again";
    throw store_failure(failure_);
  }
}

execution embedded_core::execute_steps(std::span<operation> batch) {
  leave_uncounted();
  disk_.check_background();
  const std::chrono::sys_time<std::chrono::nanoseconds> wall = options_.clocks.wall_time();
  utc_ = std::chrono::floor<milliseconds>(wall);
  utc_up_ = std::chrono::ceil<milliseconds>(wall);
  now_ = options_.clocks.monotonic->now();
  claimed_bytes_ = 0;
  if (const std::string change = space_.look(now_); !change.empty()) warn(change);
  tubes_.forget_empty(disk_);

  execution done;
  advance();
  done.answers.reserve(batch.size());
  for (operation& each : batch) {
    std::visit([&](auto& what) { done.answers.emplace_back(step(what)); }, each);
    indexes_.end_step();
  }
  commit();

  indexes_.tell_of_tubes(done);
  done.expired = std::exchange(expired_, {});
  done.has_room = space_.room_for_jobs() && tubes_.totals().stored.all() < options_.most_jobs;
  return done;
}

void embedded_core::advance() {
  once_.remove_ended(utc_);
  for (held_job* each : held_.ended(now_, ends_at_once)) expire(*each);
  pause_timers_.expire(now_, ends_at_once,
                       [this](timer_node& node) { end_pause(*static_cast<tube_timer&>(node).owner); });
  if (space_.room_for_due_jobs()) indexes_.promote(utc_);
}

void embedded_core::commit() {
  // A limit of ids that a crash took back would give ids again that clients have seen.
  const bool sync_now = std::exchange(ids_raised_, false) ||
                        (options_.sync_every ? unsynced_ && sync_at_ <= now_ : must_sync_ || unsynced_);
  tubes_.gather_rows(disk_);
  const instant began = sync_now ? options_.clocks.monotonic->now() : now_;
  if (disk_.has_gathered()) {
    disk_.write(sync_now);
  } else if (sync_now) {
    disk_.sync();
  }
  if (sync_now) syncs_.record(options_.clocks.monotonic->now() - began);
  records_.end_batch();
  once_.end_batch();
  if (sync_now) {
    unsynced_ = false;
    sync_at_ = instant::never();
  } else if (must_sync_ && !unsynced_) {
    unsynced_ = true;
    sync_at_ = now_ + *options_.sync_every;
  }
  must_sync_ = false;
  mark(now_);
}

// What a caller may ask between two batches.

store_figures embedded_core::figures() const {
  store_figures seen;
  seen.syncs = syncs_.seen();
  seen.disk_free = disk_.free_space();
  if (options_.disk_reserve != 0) seen.disk_reserve = options_.disk_reserve;
  if (options_.most_jobs != std::numeric_limits<std::uint64_t>::max()) seen.most_jobs = options_.most_jobs;
  return seen;
}

next_change embedded_core::next() const noexcept {
  next_change next;
  const instant due = indexes_.next_due();
  if (!due.is_never()) next.due = std::chrono::ceil<milliseconds>(wall_clock::to_sys(due));
  if (indexes_.has_overdue()) next.due = utc_time{};  // in the past, also if the clock is set back
  next.expiry = std::min({held_.next(), pause_timers_.next_deadline(), sync_at_, disk_.mark_due()});
  if (!space_.room_for_due_jobs() && next.due <= utc_) {
    next.due = utc_time::max();
    next.expiry = std::min(next.expiry, now_ + between_looks);
  }
  next.due = std::min(next.due, once_.next_removal());
  return next;
}

check_result embedded_core::check() {
  if (!is_usable_) return std::unexpected(failure_.empty() ? "the store has failed" : failure_);
  try {
    if (const rocksdb::Status read = disk_.verify_checksums(); !read.ok()) {
      return std::unexpected("a table of the database is damaged: " + read.ToString());
    }
    return store_check(disk_, tubes_, held_, records_, indexes_, once_, format_, next_id_).run();
  } catch (const store_failure& failed) {
    return std::unexpected(failed.what());
  }
}

void embedded_core::back_up(const std::string& to) {
  const std::optional<std::uint64_t> free = disk_.free_space();
  if (free && *free < options_.disk_reserve) {
    throw store_failure("cannot make the backup " + to + ": the disk has " + std::to_string(*free) +
                        " bytes free, fewer than the " + std::to_string(options_.disk_reserve) +
                        " in reserve: free some space");
  }
  disk_.back_up(to);
}

// Reservations.

held_job* embedded_core::holder(job_id id) {
  held_job* const it = held_.find(id);
  if (it == nullptr || it->expires >= now_) return it;
  expire(*it);
  return nullptr;
}

held_job* embedded_core::holder(const reservation& token) {
  held_job* const it = held_.find(token);
  if (it == nullptr || it->expires >= now_) return it;
  expire(*it);
  return nullptr;
}

claimed_job embedded_core::reserve(record&& it, tube& home) {
  const instant expires = now_ + milliseconds(it.ttr);
  ++it.counters.reserves;
  const reservation token{it.id, opening_, it.counters.reserves};
  indexes_.reserve(it.as_ready(), home);
  records_.forget(it.id);
  held_.add(without_content(it), home, token, expires);
  return {token, shown(std::move(it), home, job_state::reserved, expires, true)};
}

void embedded_core::end_reservation(held_job& it) {
  indexes_.end_reservation(it.data.as_ready(), *it.home);
  held_.remove(it);
}

void embedded_core::end(held_job& it, void (job_records::*erase)(const record&)) {
  indexes_.remove(it.data, *it.home, job_state::ready);
  (records_.*erase)(it.data);
  end_reservation(it);
}

void embedded_core::give_back(held_job& it) {
  record back;
  records_.load_known(it.data.id, back, true);
  back.counters = it.data.counters;
  back.place = index_of::ready;
  records_.save(back);
  indexes_.give_back(back.as_ready(), *it.home);
  held_.remove(it);
}

void embedded_core::expire(held_job& it) {
  expired_.push_back(it.token);
  ++it.data.counters.timeouts;
  give_back(it);
}

// Operations of clients: puts, changes of jobs that nobody has reserved, and looks.

job_id embedded_core::new_id() {
  if (next_id_ == id_limit_) {
    id_limit_ += ids_at_once;
    disk_.put(family::meta, "ids", view(number_key(id_limit_)));
    ids_raised_ = true;
  }
  return next_id_++;
}

job_id embedded_core::find_name(const job_name& name) {
  if (const auto* id = std::get_if<job_id>(&name)) return *id;
  const auto& by_key = std::get<job_key>(name);
  const tube* in = tubes_.find(by_key.tube);
  return in == nullptr || by_key.key.empty() ? 0 : records_.find_key(in->number, by_key.key);
}

tube& embedded_core::home_of(const record& it) {
  tube* home = tubes_.find(it.tube);
  if (home == nullptr) throw_damaged(disk_.folder(), "job " + std::to_string(it.id) + " is in no tube");
  return *home;
}

job embedded_core::shown(record&& it, tube& home, job_state state, instant expires, bool with_body) {
  return {.id = it.id,
          .tube = home.name,
          .key = std::move(it.key),
          .body = with_body ? records_.body_of(it) : std::string(),
          .priority = it.priority,
          .state = state,
          .made = utc_time(milliseconds(it.made)),
          .due = utc_time(milliseconds(it.due)),
          .delay = milliseconds(it.delay),
          .ttr = milliseconds(it.ttr),
          .expires = expires,
          .counters = it.counters,
          .fields = std::move(it.fields),
          .history = std::move(it.history)};
}

peek_answer embedded_core::look(record&& it, tube& home, job_state state, instant expires, bool with_body) {
  const job_version version = version_of(it, state, expires);
  return {shown(std::move(it), home, state, expires, with_body), utc_, version};
}

job_version embedded_core::present_version(job_id id) {
  if (id == 0) return 0;
  if (const held_job* const held = holder(id)) return version_of(held->data, job_state::reserved, held->expires);
  record it;
  if (!records_.load(id, it, false)) return 0;
  return version_of(it, indexes_.waiting_state_of(it, home_of(it)), instant::never());
}

void embedded_core::set_due(record& it, const due_at& due) const {
  if (const auto* delay = std::get_if<milliseconds>(&due)) {
    const utc_time from = *delay > milliseconds(0) ? utc_up_ : utc_;
    it.due = (from + *delay).time_since_epoch().count();
    it.delay = delay->count();
  } else {
    it.due = std::get<utc_time>(due).time_since_epoch().count();
    it.delay = it.due > now_ms() ? it.due - now_ms() : 0;
  }
}

job_id embedded_core::holder_of_key(const put& what) {
  const tube* const known = tubes_.find(what.tube);
  return known == nullptr || what.key.empty() ? 0 : records_.find_key(known->number, what.key);
}

put_answer embedded_core::outcome_of(const put& what, job_id old, std::uint64_t jobs_before) {
  using enum put_answer::kind;
  if (what.expected != 0) {
    const job_version present = present_version(old);
    if (present != what.expected) return {other_version, old, present};
  }
  if (what.holder) {
    const held_job* const held = old == 0 ? nullptr : holder(old);
    if (held == nullptr) return {other_version, old, present_version(old)};
    if (held->token != *what.holder) return {reserved, old};
  } else if (old != 0) {
    if (what.existing == on_existing::keep) return {kept, old};
    if (what.existing == on_existing::refuse) return {exists, old};
    if (holder(old) != nullptr) return {reserved, old};
  }
  if (!has_room_for(what) || (old == 0 && jobs_before >= options_.most_jobs)) return {no_space, 0};
  return {old == 0 ? inserted : replaced, 0};
}

void embedded_core::remember(const once& what, once_result result) {
  const bool is_on_disk = !std::holds_alternative<std::vector<reservation>>(result);
  once_.add(what.key(), {what.request(), utc_up_ + what.lifetime(), std::move(result)});
  must_sync_ = must_sync_ || is_on_disk;
}

put_answer embedded_core::step(put& what) {
  using enum put_answer::kind;
  const bool is_once = !what.once.empty();
  if (is_once) [[unlikely]] {
    const auto [before, is_other] = known<put_answer>(what.once);
    if (is_other) return {other_request};
    if (before != nullptr) return {before->what, before->id, 0, true};
  }
  const job_id old = holder_of_key(what);
  put_answer answer = outcome_of(what, old, tubes_.totals().stored.all());
  if (is_once && !is_refused(answer) && !has_room_for(what)) [[unlikely]]
    return {no_space};
  if (answer.what == inserted || answer.what == replaced) answer.id = make(what, old);
  if (is_once && !is_refused(answer)) [[unlikely]]
    remember(what.once, answer);
  return answer;
}

put_all_answer embedded_core::step(put_all& what) {
  using enum put_answer::kind;
  const bool is_once = !what.once.empty();
  if (is_once) {
    const auto [before, is_other] = known<std::vector<put_answer>>(what.once);
    if (is_other) return {.what = put_all_answer::kind::other_request};
    if (before != nullptr) return {.is_replayed = true, .puts = *before};
  }
  put_all_answer answer;
  std::vector<job_id> old;
  std::uint64_t jobs = tubes_.totals().stored.all();
  for (const put& each : what.puts) {
    old.push_back(holder_of_key(each));
    const put_answer outcome = outcome_of(each, old.back(), jobs);
    if (is_refused(outcome)) {
      return {.what = put_all_answer::kind::refused, .place = answer.puts.size(), .why = outcome};
    }
    if (outcome.what == inserted) ++jobs;
    answer.puts.push_back(outcome);
  }
  if (is_once && !has_room_for(what)) return {.what = put_all_answer::kind::refused, .why = {no_space}};
  for (std::size_t i = 0; i < what.puts.size(); ++i) {
    put_answer& outcome = answer.puts[i];
    if (outcome.what != kept) outcome.id = make(what.puts[i], old[i]);
    indexes_.end_step();
  }
  if (is_once) remember(what.once, answer.puts);
  return answer;
}

job_id embedded_core::make(put& what, job_id old) {
  tube& home = tubes_.get(what.tube);
  if (held_job* const held = old == 0 ? nullptr : held_.find(old)) {  // by put::holder
    end(*held, &job_records::erase_replaced);
  } else if (old != 0) {
    record replaced_one;
    records_.load_known(old, replaced_one, false);
    indexes_.remove(replaced_one, home, indexes_.waiting_state_of(replaced_one, home));
    records_.erase_replaced(replaced_one);
  }
  record it;
  it.id = new_id();
  it.tube = home.number;
  it.priority = what.priority;
  it.made = now_ms();
  it.ttr = what.ttr.count();
  it.key = std::move(what.key);
  it.fields = std::move(what.fields);
  it.history = std::move(what.history);
  set_due(it, what.due);
  records_.add_key_and_body(it, std::move(what.body));
  indexes_.add(it, home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
  records_.save(it);
  must_sync_ = true;
  return it.id;
}

void embedded_core::kick_one(record& it, tube& home, job_state state) {
  indexes_.remove(it, home, state);
  ++it.counters.kicks;
  it.due = now_ms();
  indexes_.add(it, home, job_state::ready);
  records_.save(it);
}

template <class Operation, class Change>
change_answer embedded_core::change_waiting(const Operation& what, const job_name& name, job_event event,
                                            Change change) {
  using enum change_answer::kind;
  const job_id id = find_name(name);
  if (what.expected != 0) {
    const job_version present = present_version(id);
    if (present != 0 && present != what.expected) return {other_version, id, present};
  }
  if (id != 0 && holder(id) != nullptr) return {reserved, id};
  record it;
  if (id == 0 || !records_.load(id, it, event != job_event::cancel)) return {gone, 0};
  tube& home = home_of(it);
  const job_state state = indexes_.waiting_state_of(it, home);
  if (transition_of(state, event) == transition::refused) return {refused, id};
  if (!has_room_for(what)) return {no_space, id};
  change(it, home, state);
  must_sync_ = must_sync_ || disk_.has_gathered();
  return {done, id};
}

change_answer embedded_core::step(kick_job& what) {
  return change_waiting(what, what.id, job_event::kick,
                        [this](record& it, tube& home, job_state state) { kick_one(it, home, state); });
}

change_answer embedded_core::step(cancel& what) {
  return change_waiting(what, what.name, job_event::cancel, [this](record& it, tube& home, job_state state) {
    indexes_.remove(it, home, state);
    records_.erase(it);
  });
}

change_answer embedded_core::step(reschedule& what) {
  return change_waiting(what, what.name, job_event::reschedule, [&](record& it, tube& home, job_state state) {
    indexes_.remove(it, home, state);
    set_due(it, what.due);
    indexes_.add(it, home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
    records_.save(it);
  });
}

change_answer embedded_core::step(fire_now& what) {
  return change_waiting(what, what.name, job_event::fire_now, [this](record& it, tube& home, job_state state) {
    if (state == job_state::ready) return;
    indexes_.remove(it, home, state);
    it.due = now_ms();
    indexes_.add(it, home, job_state::ready);
    records_.save(it);
  });
}

peek_answer embedded_core::step(peek& what) {
  const job_id id = find_name(what.name);
  const held_job* const held = id == 0 ? nullptr : holder(id);  // may write the record
  record it;
  if (id == 0 || !records_.load(id, it, what.with_body)) return {};
  tube& home = home_of(it);
  if (held != nullptr) {
    it.counters = held->data.counters;
    return look(std::move(it), home, job_state::reserved, held->expires, what.with_body);
  }
  const job_state state = indexes_.waiting_state_of(it, home);
  return look(std::move(it), home, state, instant::never(), what.with_body);
}

// Operations on tubes.

bulk_answer embedded_core::step(kick& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  const job_state state = what.only.value_or(home->stored.buried != 0 ? job_state::buried : job_state::delayed);
  if ((state == job_state::buried ? home->stored.buried : home->stored.delayed) == 0) return {};
  if (!has_room_for(what)) return {0, bulk_answer::kind::no_space};
  std::vector<job_id> ids;
  if (state == job_state::buried) {
    for (const auto& [sequence, id] : indexes_.first_buried(*home, what.count)) ids.push_back(id);
  } else {
    for (const due_entry& each : indexes_.first_delayed(*home, what.count)) ids.push_back(each.id);
  }
  for (const job_id id : ids) {
    record it;
    records_.load_known(id, it, true);
    kick_one(it, *home, state);
  }
  must_sync_ = must_sync_ || !ids.empty();
  return {.changed = ids.size()};
}

due_answer embedded_core::step(list_due& what) {
  const due_entry begin{what.from.time_since_epoch().count(), what.after, 0};
  const auto& by_due = indexes_.tubes_by_due();
  // Tubes that may have something from `begin` on, and where. Those whose first job comes behind it need no look.
  std::vector<std::pair<due_entry, tube*>> begun;
  const auto look_at = [&](tube& it) {
    if (const auto lowest = it.due.lowest_from(begin)) begun.emplace_back(*lowest, &it);
  };
  auto later = by_due.end();
  if (what.prefix.empty()) {
    later = by_due.lower_bound({begin, nullptr});
    for (auto at = by_due.begin(); at != later; ++at) look_at(*at->second);
  } else {
    const auto& all = tubes_.all();
    for (auto at = all.lower_bound(what.prefix); at != all.end() && at->first.starts_with(what.prefix); ++at) {
      if (at->second->stored.delayed != 0) look_at(*at->second);
    }
  }
  std::ranges::sort(begun, {}, [](const auto& each) { return each.first; });
  // In the order of what they may have on the page: the rest has nothing as soon as one has nothing.
  due_page page(what);
  for (auto next = begun.cbegin(); next != begun.cend() || later != by_due.end();) {
    const bool is_later = next == begun.cend() || (later != by_due.end() && later->first < next->first);
    const auto& [from, it] = is_later ? *later++ : *next++;
    if (!page.has_room_for(utc_time(milliseconds(from.due)), from.id)) break;
    indexes_.add_due(*it, from, page);
  }
  return std::move(page).take();
}

bulk_answer embedded_core::step(clear_tube& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  std::vector<std::pair<job_id, job_state>> ended;
  const auto left = [&] { return what.count - ended.size(); };
  if (home->stored.ready != home->reserved.size()) {
    for (const ready_entry& each : indexes_.first_ready(*home, left())) {
      ended.emplace_back(each.id, job_state::ready);
    }
  }
  if (home->stored.delayed != 0 && left() != 0) {
    for (const due_entry& each : indexes_.first_delayed(*home, left())) {
      ended.emplace_back(each.id, job_state::delayed);
    }
  }
  if (home->stored.buried != 0 && left() != 0) {
    for (const auto& [sequence, id] : indexes_.first_buried(*home, left())) ended.emplace_back(id, job_state::buried);
  }
  for (const auto& [id, state] : ended) {
    record it;
    records_.load_known(id, it, false);
    indexes_.remove(it, *home, state);
    records_.erase(it);
  }
  must_sync_ = must_sync_ || !ended.empty();
  return {.changed = ended.size()};
}

pause_answer embedded_core::step(pause& what) {
  if (what.length == milliseconds(0)) {
    tube* it = tubes_.find(what.tube);
    if (it != nullptr && it->paused()) end_pause(*it);
    return {};
  }
  tube& it = tubes_.get(what.tube);
  it.paused_until = std::min(now_ + what.length, instant::latest());  // never() means: not paused
  pause_timers_.reset(it.pause_timer, it.paused_until);
  return {};
}

void embedded_core::end_pause(tube& it) {
  pause_timers_.stop(it.pause_timer);
  it.paused_until = instant::never();
  indexes_.note_ready(it);
}

peek_answer embedded_core::step(peek_first& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  job_id id = 0;
  if (what.state == job_state::ready) {
    if (const std::optional<ready_entry> first = indexes_.first_ready(*home)) id = first->id;
  } else if (what.state == job_state::delayed) {
    if (!home->due.empty()) id = home->due.front().id;
  } else if (what.state == job_state::buried && home->stored.buried != 0) {
    if (const auto first = indexes_.first_buried(*home, 1); !first.empty()) id = first.front().second;
  }
  if (id == 0) return {};
  record it;
  records_.load_known(id, it, true);
  return look(std::move(it), *home, what.state, instant::never(), true);
}

count_answer embedded_core::step(count_tube& what) {
  const tube* it = tubes_.find(what.tube);
  return it == nullptr ? count_answer{} : count_answer{it->counts(), it->paused_until};
}

count_answer embedded_core::step(count_all& /*what*/) {
  const store_totals& all = tubes_.totals();
  return {visible_counts(all.stored, all.reserved, all.reserved_urgent)};
}

tubes_answer embedded_core::step(list_tubes& what) {
  tubes_page page(what);
  const auto& all = tubes_.all();
  for (auto at = all.lower_bound(page.begin()); at != all.end(); ++at) {
    const auto& [name, it] = *at;
    if (!page.come_to(name)) break;
    if (it->stored.all() != 0) page.add(name, [&it] { return count_answer{it->counts(), it->paused_until}; });
  }
  return std::move(page).take();
}

nodes_answer embedded_core::step(list_nodes& /*what*/) { return {.nodes = {}, .now = utc_}; }

// Lists of jobs.

jobs_answer embedded_core::step(list_jobs& what) {
  listed_page page(what);
  if (!what.which) {
    list_by_id(page);
  } else if (page.is_by_id()) {
    const auto& all = held_.all();
    for (auto at = all.upper_bound(page.after().id); at != all.end(); ++at) {
      if (!page.come_to({0, at->first})) break;
      const held_job& held = *at->second;
      if (page.wants(held.home->name)) {
        list(without_content(held.data), *held.home, job_state::reserved, held.expires, page);
      }
    }
  } else if (tube* const home = tubes_.find(what.tube)) {
    indexes_.visit_from(*home, *what.which, page.after(), [&](const job_place& at, bool is_held) {
      if (at <= page.after()) return true;
      if (!page.come_to(at)) return false;
      if (is_held) return true;  // but read: it counts for the bound
      record it;
      records_.load_known(at.id, it, false);
      list(std::move(it), *home, *what.which, instant::never(), page);
      return true;
    });
  }
  return std::move(page).take(utc_);
}

void embedded_core::list_by_id(listed_page& page) {
  if (page.after().id >= next_id_) return;
  const job_id from = std::max(page.after().id, first_id_ - 1) + 1;
  const bool is_from_first = from == first_id_;
  job_id first = next_id_;
  for (disk::scan all(disk_, family::jobs, view(number_key(from)), ""); all.valid(); all.next()) {
    const auto id = read_big<job_id>(all.key().data());
    first = std::min(first, id);
    if (!page.come_to({0, id})) break;
    record it;
    if (!decode(id, all.value(), it, false)) {
      throw_damaged(disk_.folder(), "the record of job " + std::to_string(id) + " cannot be read");
    }
    tube& home = home_of(it);
    if (!page.wants(home.name)) continue;
    if (const held_job* const held = held_.find(id)) {
      list(without_content(held->data), home, job_state::reserved, held->expires, page);
    } else {
      const job_state state = indexes_.waiting_state_of(it, home);
      list(std::move(it), home, state, instant::never(), page);
    }
  }
  if (is_from_first) first_id_ = first;
}

void embedded_core::list(record&& it, tube& home, job_state state, instant expires, listed_page& page) {
  it.fields = {};
  it.history = {};
  const job_version version = version_of(it, state, expires);
  page.add(shown(std::move(it), home, state, expires, false), version);
}

// Operations of workers: claims, and what the holder of a reservation may do.

claim_answer embedded_core::step(claim& what) {
  if (what.once.empty()) [[likely]]
    return claim_ready(what);
  using tokens = std::vector<reservation>;
  const auto [before, is_other] = known<tokens>(what.once);
  if (is_other) return {{}, claim_answer::kind::other_request};
  if (before != nullptr) return claim_again(*before, is_bounded(what));
  if (!once_.has_room_for_claim()) return {{}, claim_answer::kind::no_space};
  claim_answer answer = claim_ready(what);
  tokens claimed;
  for (const claimed_job& each : answer.jobs) claimed.push_back(each.token);
  if (!claimed.empty()) remember(what.once, std::move(claimed));
  return answer;
}

claim_answer embedded_core::claim_again(const std::vector<reservation>& tokens, bool is_bounded) {
  claim_answer answer;
  answer.is_replayed = true;
  for (const reservation& each : tokens) {
    const held_job* const held = holder(each);
    if (held == nullptr) continue;
    record it;
    records_.load_known(each.id, it, true);
    it.counters = held->data.counters;
    answer.jobs.push_back({each, shown(std::move(it), *held->home, job_state::reserved, held->expires, true)});
    if (is_bounded) claimed_bytes_ += content_bytes(answer.jobs.back().job);
  }
  return answer;
}

claim_answer embedded_core::claim_ready(const claim& what) {
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
      const std::optional<ready_entry> its_first = indexes_.first_ready(*each);
      if (!its_first || (first && !(*its_first < *first))) continue;
      best = each;
      first = its_first;
    }
    if (best == nullptr) break;
    if (claimed_bytes_ >= what.bytes) {
      answer.what = claim_answer::kind::cut_short;
      break;
    }
    indexes_.take_first_ready(*best);
    record it;
    records_.load_known(first->id, it, true);
    answer.jobs.push_back(reserve(std::move(it), *best));
    if (is_bounded(what)) claimed_bytes_ += content_bytes(answer.jobs.back().job);
  }
  return answer;
}

claim_answer embedded_core::step(claim_job& what) {
  claim_answer answer;
  record it;
  if (holder(what.id) != nullptr || !records_.load(what.id, it, true)) return answer;
  tube& home = home_of(it);
  const job_state state = indexes_.waiting_state_of(it, home);
  if (state != job_state::ready) {
    if (!has_room_for(what)) {
      answer.what = claim_answer::kind::no_space;
      return answer;
    }
    // After a crash it is ready, wherever it was before the claim.
    indexes_.remove(it, home, state);
    indexes_.add(it, home, job_state::ready);
    records_.save(it);
    must_sync_ = true;
  }
  indexes_.take_ready(it.as_ready(), home);
  answer.jobs.push_back(reserve(std::move(it), home));
  return answer;
}

holder_answer embedded_core::step(finish& what) {
  held_job* it = holder(what.token);
  if (it == nullptr) return {holder_answer::kind::not_held};
  end(*it, &job_records::erase);
  must_sync_ = true;
  return {};
}

holder_answer embedded_core::step(release& what) {
  held_job* held = holder(what.token);
  if (held == nullptr) return {holder_answer::kind::not_held};
  if (!has_room_for(what)) return {holder_answer::kind::no_space};
  tube& home = *held->home;
  record it;
  records_.load_known(what.token.id, it, true);
  it.counters = held->data.counters;
  indexes_.remove(it, home, job_state::ready);
  end_reservation(*held);
  ++it.counters.releases;
  it.priority = what.priority.value_or(it.priority);
  if (what.history) it.history = *std::move(what.history);
  set_due(it, what.due);
  indexes_.add(it, home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
  records_.save(it);
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
  records_.load_known(what.token.id, it, true);
  it.counters = held->data.counters;
  indexes_.remove(it, home, job_state::ready);
  end_reservation(*held);
  ++it.counters.buries;
  it.priority = what.priority.value_or(it.priority);
  if (what.history) it.history = *std::move(what.history);
  indexes_.add(it, home, job_state::buried);
  records_.save(it);
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

// The store that users see, which hands everything to its core.

namespace foliot::jobs {

embedded_store::embedded_store(const embedded_options& options)
    : core_(std::make_unique<detail::embedded_core>(options, nullptr)) {}
embedded_store::embedded_store(std::unique_ptr<detail::embedded_core> core) noexcept : core_(std::move(core)) {}
embedded_store::~embedded_store() = default;

execution embedded_store::execute(std::span<operation> batch) { return core_->execute(batch); }
next_change embedded_store::next() const noexcept { return core_->next(); }
check_result embedded_store::check() { return core_->check(); }
void embedded_store::close() { core_->close(); }
store_figures embedded_store::figures() const { return core_->figures(); }
void embedded_store::back_up(const std::string& to) { core_->back_up(to); }

}  // namespace foliot::jobs
