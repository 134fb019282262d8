// The commands of a session, except those that session.cpp keeps in flight or waits for: put, reserve, and the delete
// of a job that the client holds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/task_mutex.hpp>

#include "session.hpp"

namespace foliot::program::beanstalk {

namespace {

constexpr std::size_t many_ended_reservations = 64;
/// The largest number of tubes that a client may watch: with more, each search for a job would be slow.
constexpr std::size_t most_watched = 1000;
constexpr std::uint64_t jobs_of_a_piece = 1000;

std::chrono::seconds whole_seconds(duration length) {
  return std::chrono::seconds(std::max<std::int64_t>(length.count(), 0) / 1'000'000'000);
}

std::chrono::seconds whole_seconds(jobs::milliseconds length) {
  return std::chrono::floor<std::chrono::seconds>(std::max(length, jobs::milliseconds::zero()));
}

/// `now`: the time of the store's wall clock.
job_statistics statistics_of(const jobs::job& job, jobs::utc_time now) {
  job_statistics shown;
  shown.id = job.id;
  shown.tube = job.tube;
  shown.state = job.state;
  shown.priority = job.priority;
  shown.age = whole_seconds(now - job.made);
  shown.delay = whole_seconds(job.delay);
  shown.ttr = whole_seconds(job.ttr);
  if (job.state == jobs::job_state::delayed) shown.time_left = whole_seconds(job.due - now);
  if (job.state == jobs::job_state::reserved) {
    shown.time_left = whole_seconds(job.expires - monotonic_clock::instance().now());
  }
  shown.counters = job.counters;
  return shown;
}

}  // namespace

void session::on(const body_discarded& what) {
  out_ += what.why == body_discarded::reason::too_big ? reply::job_too_big : reply::out_of_memory;
}

task<> session::on(const use& what) {
  held_tube next = server_.tubes.hold(what.tube, server_.max_tubes);
  bool is_full = !next;
  try {
    if (!is_full) client_.use(what.tube);
  } catch (const jobs::broker_full&) {
    is_full = true;
  }
  if (is_full) {
    out_ += reply::out_of_memory;
  } else {
    std::swap(used_, next);
    write_using(out_, used_->name);
  }
  co_await end_if_unused(next.release());
}

task<> session::on(const watch& what) {
  const auto is_that = [&](const held_tube& each) { return each->name == what.tube; };
  if (std::ranges::none_of(watched_, is_that)) {
    bool gets_room = memory_.take(bytes_of_watch);
    if (!gets_room) gets_room = co_await wait_for_room(bytes_of_watch);
    held_tube added;
    if (gets_room && watched_.size() < most_watched && keep_watches(watched_.size() + 1)) {
      added = server_.tubes.hold(what.tube, server_.max_tubes);
    }
    bool is_full = !added;
    try {
      if (!is_full) client_.watch(what.tube);
    } catch (const jobs::broker_full&) {
      is_full = true;
    }
    if (is_full) {
      static_cast<void>(keep_watches(watched_.size()));
      out_ += reply::out_of_memory;
      co_await end_if_unused(added.release());
      co_return;
    }
    watched_.push_back(std::move(added));
  }
  write_number(out_, numbered_reply::watching, watched_.size());
}

task<> session::on(const ignore& what) {
  const auto is_that = [&](const held_tube& each) { return each->name == what.tube; };
  const auto found = std::ranges::find_if(watched_, is_that);
  if (found == watched_.end()) {
    write_number(out_, numbered_reply::watching, watched_.size());
    co_return;
  }
  if (watched_.size() == 1) {
    out_ += reply::not_ignored;
    co_return;
  }
  std::swap(*found, watched_.back());
  held_tube ignored = std::move(watched_.back());
  watched_.pop_back();
  static_cast<void>(keep_watches(watched_.size()));
  client_.ignore(ignored->name);
  write_number(out_, numbered_reply::watching, watched_.size());
  co_await end_if_unused(ignored.release());
}

task<> session::on(const reserve_job& what) {
  bool gets_room = memory_.take(2 * server_.max_job_size);
  if (!gets_room) gets_room = co_await wait_for_room(2 * server_.max_job_size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  auto reserving = client_.reserve_job(what.id);
  const jobs::claim_answer got = co_await reserving;
  if (got.jobs.empty()) {
    out_ += got.what == jobs::claim_answer::kind::no_space ? reply::out_of_memory : reply::not_found;
  } else {
    become_worker();
    say_reserved(got.jobs.front());
  }
}

task<> session::on(const delete_job& what) {
  if (client_.held(what.id)) {
    delete_.emplace(client_, what.id);
    co_return;
  }
  auto looking = client_.execute(jobs::peek{what.id, false});  // for its tube, whose record counts deletes
  auto ending = client_.execute(jobs::cancel{what.id});
  jobs::peek_answer seen;
  try {
    seen = co_await looking;
  } catch (const jobs::store_unavailable&) {
    // The answer depends on the cancel alone, which may have been executed nevertheless.
  }
  const jobs::change_answer ended = co_await ending;
  const bool is_done = ended.what == jobs::change_answer::kind::done;
  out_ += is_done                                             ? reply::deleted
          : ended.what == jobs::change_answer::kind::no_space ? reply::out_of_memory
                                                              : reply::not_found;
  shared_record tube;
  if (is_done && seen.job) tube = server_.tubes.find(seen.job->tube);
  if (tube == nullptr) co_return;
  ++tube->deletes;
  co_await end_if_unused(std::move(tube));
}

task<> session::on(const release& what) {
  auto releasing = client_.release(what.id, what.priority, what.delay);
  const jobs::holder_answer released = co_await releasing;
  say_held(released, what.id, reply::released);
}

task<> session::on(const bury& what) {
  auto burying = client_.bury(what.id, what.priority);
  const jobs::holder_answer buried = co_await burying;
  say_held(buried, what.id, reply::buried);
}

task<> session::on(const touch& what) {
  auto touching = client_.touch(what.id);
  const jobs::holder_answer touched = co_await touching;
  out_ += touched.what == jobs::holder_answer::kind::done ? reply::touched : reply::not_found;
}

template <class Look>
task<> session::show(Look what) {
  // The body comes from the store, and is copied behind the answers.
  bool gets_room = memory_.take(2 * server_.max_job_size);
  if (!gets_room) gets_room = co_await wait_for_room(2 * server_.max_job_size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  auto looking = client_.execute(std::move(what));
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    write_found(out_, seen.job->id, seen.job->body);
  } else {
    out_ += reply::not_found;
  }
}

template task<> session::show(jobs::peek what);
template task<> session::show(jobs::peek_first what);

task<> session::on(const kick& what) {
  // In pieces, so that the other clients need not wait for all of them. A kick takes buried jobs if there are some,
  // else delayed ones, never both. If another client has taken all the buried jobs after the count, the kick counts
  // again.
  std::uint64_t kicked = 0;
  bool is_full = false;
  for (int look = 1; look <= 2; ++look) {
    auto counting = client_.execute(jobs::count_tube{used_->name});
    const jobs::count_answer before = co_await counting;
    const bool takes_buried = before.counts.buried > 0;
    std::uint64_t left = what.count;
    if (before.what == jobs::count_answer::kind::done) {
      left = std::min<std::uint64_t>(left, takes_buried ? before.counts.buried : before.counts.delayed);
    }
    for (bool goes_on = left > 0; goes_on;) {
      const std::uint64_t piece = std::min(left, jobs_of_a_piece);
      auto kicking = client_.execute(
          jobs::kick{used_->name, piece, takes_buried ? jobs::job_state::buried : jobs::job_state::delayed});
      jobs::bulk_answer some;
      try {
        some = co_await kicking;
      } catch (const jobs::store_unavailable& why) {
        if (why.is_in_doubt() || kicked == 0) throw;
        break;  // the answer has the number of those that have been kicked
      }
      kicked += some.changed;
      left -= some.changed;
      goes_on = some.changed == piece && left > 0;
      is_full = some.what == jobs::bulk_answer::kind::no_space;
    }
    if (kicked > 0 || is_full || !takes_buried) break;
  }
  if (is_full && kicked == 0) {
    out_ += reply::out_of_memory;
  } else {
    write_number(out_, numbered_reply::kicked, kicked);
  }
}

task<> session::on(const kick_job& what) {
  auto kicking = client_.execute(jobs::kick_job{what.id});
  const jobs::change_answer kicked = co_await kicking;
  out_ += kicked.what == jobs::change_answer::kind::done       ? reply::kicked
          : kicked.what == jobs::change_answer::kind::no_space ? reply::out_of_memory
                                                               : reply::not_found;
}

task<> session::on(const pause_tube& what) {
  const shared_record tube = server_.tubes.find(what.tube);
  bool lives = tube != nullptr;
  if (!lives && server_.brokers.has_other_nodes()) lives = co_await has_jobs(what.tube);
  if (!lives) {
    out_ += reply::not_found;
    co_return;
  }
  auto pausing = client_.execute(jobs::pause{std::string(what.tube), what.length});
  co_await pausing;
  out_ += reply::paused;
  if (tube == nullptr) co_return;
  ++tube->pauses;
  tube->pause_seconds = std::chrono::floor<std::chrono::seconds>(what.length).count();
}

task<> session::on(const stats&) {
  const bool is_shared = server_.brokers.has_other_nodes();
  std::optional<jobs::job_counts> counts;
  std::optional<std::uint64_t> tubes;
  try {
    auto counting = client_.execute(jobs::count_all{});
    const jobs::count_answer all = co_await counting;
    if (all.what == jobs::count_answer::kind::done) counts = all.counts;
    if (is_shared && memory_.take(bytes_of_next_list())) {  // it does not wait for room
      const auto living = co_await list_of_all_nodes();
      tubes = living->entries();
    }
  } catch (const jobs::store_unavailable&) {
    // When the store does not answer, clients need the rest of the statistics most.
  }
  server_statistics shown = server_.statistics();
  shown.counts = counts;
  if (is_shared) shown.current_tubes = tubes;
  write_statistics(out_, shown);
}

task<> session::on(const stats_job& what) {
  auto looking = client_.execute(jobs::peek{what.id, false});
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    write_statistics(out_, statistics_of(*seen.job, seen.now));
  } else {
    out_ += reply::not_found;
  }
}

task<> session::on(const extended_stats_job& what) {
  auto looking = client_.execute(jobs::peek{name_of(what.job), false});
  const jobs::peek_answer seen = co_await looking;
  if (seen.job) {
    const std::size_t bytes = seen.job->fields.bytes().size() + seen.job->history.bytes().size();
    if (bytes != 0) {  // as bytes, as digits, and behind the answers
      const bool gets_room = co_await take_room(5 * bytes);
      if (!gets_room) co_return;
    }
    extended_job_statistics shown;
    shown.job = statistics_of(*seen.job, seen.now);
    shown.key = seen.job->key;
    shown.due = seen.job->due;
    shown.ttr = seen.job->ttr;
    shown.fields = seen.job->fields;
    shown.history = seen.job->history;
    write_statistics(out_, shown);
  } else {
    out_ += reply::not_found;
  }
}

task<> session::on(const stats_tube& what) {
  const shared_record tube = server_.tubes.find(what.tube);
  if (tube == nullptr && !server_.brokers.has_other_nodes()) {
    out_ += reply::not_found;
    co_return;
  }
  auto counting = client_.execute(jobs::count_tube{std::string(what.tube)});
  const jobs::count_answer seen = co_await counting;
  const bool is_counted = seen.what == jobs::count_answer::kind::done;
  if (tube == nullptr && seen.counts.all() == 0 && is_counted) {
    out_ += reply::not_found;
    co_return;
  }
  const jobs::tube_clients clients = server_.brokers.clients_of(what.tube);
  tube_statistics shown;
  shown.name = what.tube;
  if (is_counted) shown.counts = seen.counts;
  shown.using_it = clients.users;
  shown.watching_it = clients.watchers;
  shown.waiting = clients.waiting;
  if (tube != nullptr) {
    shown.total_jobs = tube->total_jobs;
    shown.deletes = tube->deletes;
    shown.pauses = tube->pauses;
    shown.pause = std::chrono::seconds(tube->pause_seconds);
  }
  if (seen.paused_until.is_never()) {
    shown.pause = std::chrono::seconds::zero();
  } else {
    shown.pause_left = whole_seconds(seen.paused_until - monotonic_clock::instance().now());
    shown.pause = std::max(shown.pause, shown.pause_left);  // another node may have paused it
  }
  write_statistics(out_, shown);
}

template <class Change>
task<> session::change(Change what, numbered_reply done) {
  using kind = jobs::change_answer::kind;
  auto changing = client_.execute(std::move(what));
  const jobs::change_answer changed = co_await changing;
  switch (changed.what) {
    case kind::done: write_number(out_, done, changed.id); break;
    case kind::reserved: write_number(out_, numbered_reply::is_reserved, changed.id); break;
    case kind::refused:
    case kind::gone: out_ += reply::gone; break;
    case kind::no_space: out_ += reply::out_of_memory; break;
  }
}

task<> session::on(const cancel& what) {
  const jobs::job_name name = name_of(what.job);
  auto looking = client_.execute(jobs::peek{name, false});  // for its tube, which may end with the job
  auto cancelling = change(jobs::cancel{name}, numbered_reply::cancelled);
  const jobs::peek_answer seen = co_await looking;
  co_await cancelling;
  if (seen.job) co_await end_if_unused(server_.tubes.find(seen.job->tube));
}

task<> session::on(const reschedule& what) {
  return change(jobs::reschedule{name_of(what.job), what.due}, numbered_reply::rescheduled);
}

task<> session::on(const fire_now& what) { return change(jobs::fire_now{name_of(what.job)}, numbered_reply::fired); }

jobs::job_name session::name_of(const job_reference& job) const {
  if (const auto* const id = std::get_if<jobs::job_id>(&job)) return *id;
  return jobs::job_key{used_->name, std::string(std::get<std::string_view>(job))};
}

void session::say_reserved(const jobs::claimed_job& got) {
  forget_ended_reservations();
  // Where other nodes have clients, too, a record lives only while a client here uses or watches its tube.
  const bool is_shared = server_.brokers.has_other_nodes();
  held_.insert_or_assign(got.job.id, is_shared ? server_.tubes.find(got.job.tube) : server_.tubes.obtain(got.job.tube));
  write_reserved(out_, got.job.id, got.job.body);
}

void session::say_held(const jobs::holder_answer& what, jobs::job_id id, std::string_view done) {
  using kind = jobs::holder_answer::kind;
  out_ += what.what == kind::done ? done : what.what == kind::no_space ? reply::out_of_memory : reply::not_found;
  if (what.what == kind::done) held_.erase(id);
}

void session::forget_ended_reservations() {
  if (held_.size() < 2 * client_.reservations() + many_ended_reservations) return;
  std::erase_if(held_, [this](const auto& each) { return !client_.held(each.first); });
}

// The lists. Sessions that ask for the list of the tubes at the same time read it from the same memory.

task<> session::on(const list_tubes&) {
  const std::size_t wanted = bytes_of_next_list();
  bool gets_room = memory_.take(wanted);
  if (!gets_room) gets_room = co_await wait_for_room(wanted);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::shared_ptr<const shared_text> list;
  if (server_.brokers.has_other_nodes()) {
    list = co_await list_of_all_nodes();
  } else {
    list = server_.tubes.list(server_.memory);
  }
  note_memory();  // the room is free again: the list counts where it is kept
  co_await send_list(std::move(list));
}

task<> session::on(const list_tubes_watched&) {
  std::size_t size = 0;
  for (const held_tube& each : watched_) size += size_in_list(each->name);
  bool gets_room = memory_.take(4 * size);  // as names, as a text, and behind the answers
  if (!gets_room) gets_room = co_await wait_for_room(4 * size);
  if (!gets_room) {
    out_ += reply::out_of_memory;
    co_return;
  }
  std::vector<std::string> names;
  names.reserve(watched_.size());
  for (const held_tube& each : watched_) names.push_back(each->name);
  write_tubes(out_, names);
}

/// A short list is copied behind the answers. The pieces of a long one are written from where all its readers have
/// them.
task<> session::send_list(std::shared_ptr<const shared_text> list) {
  write_list_begin(out_, list->size());
  const bool is_short = list->size() < held_memory::allowance / 2;
  bool written = true;
  if (!is_short) {
    memory_.show(list);
    written = co_await write_answers();
  }
  for (const shared_piece& each : list->pieces()) {
    if (is_short) out_ += each->text();
    if (!is_short && written) written = co_await write_text(each->text());
  }
  list.reset();
  memory_.hide();
  out_ += list_end;
  if (!written) quits_ = true;
}

task<std::vector<std::string>> session::living_tubes() {
  std::vector<std::string> names = server_.tubes.names();
  if (!server_.brokers.has_other_nodes()) co_return names;
  auto listing = client_.execute(jobs::list_tubes{});
  jobs::tubes_answer stored = co_await listing;
  const std::set<std::string> here(names.begin(), names.end());
  for (std::string& each : stored.tubes) {
    if (!here.contains(each)) names.push_back(std::move(each));
  }
  co_return names;
}

std::size_t session::bytes_of_next_list() const {
  const std::size_t here = server_.tubes.bytes_of_list();
  if (!server_.brokers.has_other_nodes()) return here;
  // The names are strings before they are a list: those of this node, those of the store, and both together.
  return 4 * std::max(here, server_.list_of_store.bytes.load(seam::relaxed));
}

/// The store is asked after this session has taken its ticket, or was asked after that by another session: then the
/// list has every tube that lived when the command came.
task<std::shared_ptr<const shared_text>> session::list_of_all_nodes() {
  stored_list& known = server_.list_of_store;
  const std::uint64_t ticket = ++known.tickets;
  const runtime::task_lock turn = co_await known.turn.lock();
  if (known.as_of >= ticket && known.failure == nullptr) {
    if (auto latest = known.latest.lock()) co_return latest;
  }
  if (known.as_of >= ticket && known.failed_broker == &broker_) std::rethrow_exception(known.failure);
  const std::uint64_t as_of = known.tickets;
  std::vector<std::string> names;
  try {
    names = co_await living_tubes();
  } catch (const jobs::store_unavailable& why) {
    // A failure in doubt ends the session that gets it. The others do not take it over: they ask again.
    if (!why.is_in_doubt()) {
      known.failure = std::current_exception();
      known.failed_broker = &broker_;
      known.as_of = as_of;
    }
    throw;
  }
  auto list = make_list(server_.memory, names);
  known.bytes.store(list->size(), seam::relaxed);
  known.latest = list;
  known.failure = nullptr;
  known.failed_broker = nullptr;
  known.as_of = as_of;
  co_return list;
}

}  // namespace foliot::program::beanstalk
