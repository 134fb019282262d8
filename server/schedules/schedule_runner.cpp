#include "schedule_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "schedule_record.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

/// A turn that would have nothing to do at once, and is due at once nevertheless, waits for so long.
constexpr jobs::milliseconds idle_turn_waits = std::chrono::seconds(1);

/// For an end that could not be told, or a lane that could not begin.
constexpr duration looks_for_end_every = std::chrono::seconds(10);

/// The state of a record that was made by another hand and cannot be followed: it keeps the reason.
schedule_state state_of_stranger(jobs::utc_time now) {
  schedule_state made;
  made.incarnation = random_stream::entropy();
  made.made = now;
  made.changed = now;
  made.cursor = std::chrono::floor<std::chrono::seconds>(now);
  return made;
}

/// The right to plan slow records, which one lane has.
class slow_lane {
 public:
  explicit slow_lane(seam::atomic<bool>& taken) noexcept : taken_(taken) {}
  slow_lane(const slow_lane&) = delete;
  slow_lane& operator=(const slow_lane&) = delete;
  ~slow_lane() {
    if (has_it_) taken_.store(false, seam::relaxed);
  }
  /// Whether this lane has it, from now on.
  [[nodiscard]] bool enter() noexcept {
    if (!has_it_) has_it_ = !taken_.exchange(true, seam::relaxed);
    return has_it_;
  }

 private:
  seam::atomic<bool>& taken_;
  bool has_it_ = false;
};

}  // namespace

/// What a round does with one record: read(), plan(), begin(), and end().
class schedule_runner::record_turn {
 public:
  explicit record_turn(jobs::claimed_job claimed) : claimed_(std::move(claimed)), due_(claimed_.job.due) {}

  /// Reads the record.
  void read() noexcept {
    try {
      record_ = schedule_record::in(claimed_.job);
      if (record_.is_sound()) look_ = living_look(record_, *record_.plan);
      claimed_.job = {};
    } catch (const std::bad_alloc&) {
      unread_waits_ = without_room_waits;
    } catch (const std::exception&) {
      unread_waits_ = refused_waits;  // it would be the same each time
    }
  }
  [[nodiscard]] const std::string& key() const noexcept { return record_.key; }
  [[nodiscard]] living_look& look() noexcept { return look_; }
  /// Plans the turn.
  void plan(schedule_runner& by, jobs::utc_time now) noexcept {
    now_ = now;
    try {
      try {
        if (unread_waits_) return postpone(unread_waits_);
        return plan_or_throw(by);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception& failure) {
        return refuse(failure.what());  // the next turn would end in the same way
      }
    } catch (const std::bad_alloc&) {
      // It comes again.
    }
    postpone(without_room_waits);
  }
  /// No turn, but a release: it is due again after this time, or at the same time as before.
  void postpone(std::optional<jobs::milliseconds> wait) noexcept {
    commit_.reset();
    release_ =
        jobs::release{claimed_.token, std::nullopt, wait ? jobs::due_at(*wait) : jobs::due_at(due_), std::nullopt};
  }
  /// The bytes that the commit brings.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t all = 0;
    if (commit_) {
      for (const jobs::put& each : commit_->puts) all += jobs::content_bytes(each);
    }
    return all;
  }
  /// Queues what was planned. Throws broker_full, broker_closed, and std::bad_alloc; then it can be called again.
  void begin(jobs::client& by) {
    if (commit_) {
      try {
        committing_.emplace(by, *commit_);
        commit_.reset();
        return;
      } catch (const std::invalid_argument& wrong) {
        refuse(wrong.what());
      }
    }
    releasing_.emplace(by, *release_);
  }
  /// Waits for it. Throws what the store throws.
  task<> end(jobs::client& by);
  /// Counts what end() has come to. `since`: how long ago the round of the turn began.
  void note(schedule_figures& in, duration since) const noexcept;

 private:
  void plan_or_throw(schedule_runner& by);
  void refuse(std::string_view why);
  /// Leaves the turn to another node, if one with newer data of the zone than these has planned the record, and it is
  /// not late yet. False: the turn is this node's.
  [[nodiscard]] bool leave_to_newer_data(record_memory& memory, std::string_view mine);
  /// Gives the record back, whose commit was refused.
  task<> leave(jobs::client& by, const jobs::put_all_answer& refused);
  task<> await_release(jobs::client& by);

  jobs::claimed_job claimed_;
  const jobs::utc_time due_;                        // of the record, before the claim
  std::optional<jobs::milliseconds> unread_waits_;  // why it could not be read is why it waits so long
  schedule_record record_;
  living_look look_;
  jobs::utc_time now_{};
  bool is_refused_ = false;
  bool is_committed_ = false;
  /// Of the jobs that the turn makes.
  std::vector<std::pair<occurrence_reason, std::chrono::sys_seconds>> made_;
  std::optional<jobs::put_all> commit_;
  std::optional<jobs::release> release_;
  std::optional<jobs::in_flight<jobs::put_all>> committing_;
  std::optional<jobs::in_flight<jobs::release>> releasing_;
};

void schedule_runner::record_turn::refuse(std::string_view why) {
  is_refused_ = true;
  if (record_.is_damaged) {  // its bytes stay
    release_ = jobs::release{claimed_.token, std::nullopt, now_ + refused_waits, std::nullopt};
    return;
  }
  schedule_state state = record_.state ? *record_.state : state_of_stranger(now_);
  refuse_schedule(state, why, now_);
  commit_.reset();
  release_ = jobs::release{claimed_.token, std::nullopt, now_ + refused_waits, record_.history_with(state)};
}

void schedule_runner::record_turn::plan_or_throw(schedule_runner& by) {
  if (record_.is_of_later_version) {
    release_ = jobs::release{claimed_.token, std::nullopt, record_of_others_waits, std::nullopt};
    return;
  }
  if (!record_.plan) return refuse(record_.fault);
  schedule_plan& plan = *record_.plan;
  const bool was_settled = !plan.lacks_anchors();
  if (!was_settled) plan.settle_anchors(nullptr, std::chrono::floor<std::chrono::seconds>(now_));
  const std::expected<schedule::zone, std::string> zone = by.zones_.find(plan.zone);
  if (!zone) return refuse(sentence_of(plan_error{"/zone", zone.error()}));
  if (leave_to_newer_data(by.memory_, zone->version())) return;
  const std::expected<schedule_table, plan_error> table = plan.table_in(*zone, record_.tube, record_.name);
  if (!table) return refuse(sentence_of(table.error()));
  schedule_turn turn = by.how_.plan(
      plan, *table, record_.state ? *record_.state : begin_schedule(plan, *table, random_stream::entropy(), now_), now_,
      look_.facts());
  const bool is_new_state = !record_.state || turn.state != *record_.state;
  if (turn.make.empty() && was_settled && !is_new_state && turn.due && *turn.due <= now_) {
    turn.due = now_ + idle_turn_waits;
  }
  if (!turn.make.empty() || !was_settled) {
    for (const planned_occurrence& each : turn.make) made_.emplace_back(each.reason, each.when.at);
    commit_ = commit_of_turn(record_, plan, turn, look_, claimed_.token);
    return;
  }
  release_ = jobs::release{claimed_.token, std::nullopt,
                           std::min(turn.due.value_or(jobs::latest_due()), jobs::latest_due()), std::nullopt};
  if (is_new_state) release_->history = record_.history_with(turn.state);
}

bool schedule_runner::record_turn::leave_to_newer_data(record_memory& memory, std::string_view mine) {
  const auto& state = record_.state;
  if (!state || mine.empty() || mine >= state->zone_data) return false;
  const std::uint64_t known_by = std::hash<std::string>()(state->encoding());
  const jobs::utc_time since = memory.due_before_leaving(record_.key, known_by, due_);
  const jobs::milliseconds waited = std::max(now_ - since, jobs::milliseconds(0));
  jobs::milliseconds longest = newer_data_wait_for;
  if (record_.plan->deadline) longest = std::min<jobs::milliseconds>(longest, *record_.plan->deadline / 2);
  const bool is_by_hand = !state->by_hand.empty() || !state->backfills.empty();
  if (!is_by_hand && waited < longest) {
    const jobs::utc_time until = now_ + std::min(newer_data_wait, longest - waited);
    if (memory.leave(record_.key, known_by, since, until)) {
      release_ = jobs::release{claimed_.token, std::nullopt, until, std::nullopt};
      return true;
    }
  }
  // Where no node has those data any more, the turn is taken with what there is.
  memory.take(record_.key);
  return false;
}

task<> schedule_runner::record_turn::await_release(jobs::client& by) {
  jobs::in_flight<jobs::release>& releasing = *releasing_;
  const jobs::holder_answer done = co_await releasing;
  // Without room even for that it comes again when its TTR has ended.
  if (done.what == jobs::holder_answer::kind::no_space) by.part_with(claimed_.token);
}

task<> schedule_runner::record_turn::end(jobs::client& by) {
  if (committing_) {
    jobs::in_flight<jobs::put_all>& committing = *committing_;
    const jobs::put_all_answer done = co_await committing;
    is_committed_ = done.what == jobs::put_all_answer::kind::done;
    if (is_committed_) co_return;
    auto leaving = leave(by, done);
    co_await leaving;
    co_return;
  }
  auto awaiting = await_release(by);
  co_await awaiting;
}

void schedule_runner::record_turn::note(schedule_figures& in, duration since) const noexcept {
  if (is_refused_) in.note_refused();
  if (!is_committed_) return;
  for (const auto& [why, at] : made_) in.note_made(why, duration(now_ - at) + since);
}

task<> schedule_runner::record_turn::leave(jobs::client& by, const jobs::put_all_answer& refused) {
  using kind = jobs::put_answer::kind;
  release_ = jobs::release{claimed_.token, std::nullopt, without_room_waits, std::nullopt};
  if (refused.what == jobs::put_all_answer::kind::several_databases) {
    refuse(sentence_of_other_database);
  } else if (refused.why.what != kind::no_space) {
    // The record is the first of the puts: it is lost, and another node has taken the turn.
    if (refused.place == 0) co_return;
    // A job that was to be replaced has changed meanwhile: planned again, with what is known then.
    release_->due = jobs::milliseconds(0);
  }
  releasing_.emplace(by, std::move(*release_));
  auto awaiting = await_release(by);
  co_await awaiting;
}

void schedule_runner::end() noexcept {
  ends_.store(true, seam::relaxed);
  try {
    static_cast<void>(end_.try_send(ended{}));
  } catch (const std::bad_alloc&) {
    // keep_on() looks at ends_ now and then.
  }
}

task<> schedule_runner::keep_on() {
  std::vector<runtime::join_handle<>> running;
  running.reserve(lanes);
  while (!ends_.load(seam::relaxed)) {
    try {
      while (running.size() < lanes) running.push_back(runtime::spawn(take_rounds(), "schedules"));
    } catch (const std::bad_alloc&) {
      // It is tried again.
    }
    auto what = co_await runtime::select(end_.receive(), runtime::after(looks_for_end_every));
    static_cast<void>(what);
  }
  for (const runtime::join_handle<>& each : running) each.request_stop();
  for (runtime::join_handle<>& each : running) {
    try {
      co_await each.join();
    } catch (const std::exception&) {
      // It was asked to stop.
    }
  }
}

task<> schedule_runner::take_rounds() {
  while (!ends_.load(seam::relaxed)) {
    bool has_failed = false;
    try {
      jobs::client by(by_);
      by.watch(tube_of_schedules);
      bool goes_on = true;
      while (goes_on && !ends_.load(seam::relaxed)) {
        auto taking = take_round(by);
        goes_on = co_await taking;
      }
    } catch (const jobs::broker_closed&) {
      co_return;
    } catch (const jobs::store_failure&) {
      co_return;  // the server ends with it
    } catch (const runtime::cancelled&) {
      throw;
    } catch (const std::exception&) {
      // The store does not answer, or memory or room in the broker is missing. Whatever this connection has held is
      // given back, and looked at again.
      has_failed = true;
    }
    if (has_failed) co_await runtime::sleep(after_failure);
  }
}

task<jobs::utc_time> schedule_runner::look(jobs::client& by, std::deque<record_turn>& turns) {
  struct living {
    living(jobs::client& with, record_turn& of, std::size_t at)
        : turn(of), place(at), answer(with, jobs::peek{of.look().names()[at], false}) {}
    record_turn& turn;
    std::size_t place;
    jobs::in_flight<jobs::peek> answer;
  };
  jobs::list_jobs nothing;  // for the time: no record is buried
  nothing.tube = tube_of_schedules;
  nothing.which = jobs::job_state::buried;
  nothing.count = 1;
  auto listing = by.execute(std::move(nothing));
  std::deque<living> looks;
  const auto await_all = [&looks]() -> task<> {
    for (living& each : looks) {
      try {
        jobs::in_flight<jobs::peek>& answer = each.answer;
        const jobs::peek_answer seen = co_await answer;
        each.turn.look().note(each.place, seen);
      } catch (const jobs::store_unavailable&) {
        // Then it is not known.
      }
    }
    looks.clear();
  };
  for (record_turn& each : turns) {
    for (std::size_t place = 0; place < each.look().names().size(); ++place) {
      if (looks.size() == most_looks) {
        auto awaiting = await_all();
        co_await awaiting;
      }
      looks.emplace_back(by, each, place);
    }
  }
  auto awaiting = await_all();
  co_await awaiting;
  const jobs::jobs_answer listed = co_await listing;
  co_return listed.now;
}

std::vector<schedule_runner::record_turn*> schedule_runner::in_order(std::deque<record_turn>& turns) const {
  std::vector<record_turn*> order;
  order.reserve(turns.size());
  for (const bool slow : {false, true}) {
    for (record_turn& each : turns) {
      if (memory_.is_slow(each.key()) == slow) order.push_back(&each);
    }
  }
  return order;
}

std::size_t schedule_runner::plan_some(std::span<record_turn* const> left, jobs::utc_time now, instant begun) {
  std::uint64_t bytes = 0;
  std::size_t planned = 0;
  for (record_turn* const each : left) {
    const bool is_alone = memory_.is_slow(each->key());
    if (planned > 0 && (is_alone || bytes >= most_bytes_of_portion || is_over(begun))) break;
    const instant before = how_.time->now();
    each->plan(*this, now);
    bytes += each->bytes();
    ++planned;
    const duration taken = how_.time->now() - before;
    memory_.note_planning(each->key(), taken);
    // What was planned before it must not wait for more of that kind.
    if (is_alone || taken >= record_memory::slow_from) break;
  }
  return planned;
}

task<> schedule_runner::postpone(jobs::client& by, std::span<record_turn* const> left,
                                 std::optional<jobs::milliseconds> wait) {
  std::size_t begun = 0;
  try {
    for (; begun < left.size(); ++begun) {
      left[begun]->postpone(wait);
      left[begun]->begin(by);
    }
  } catch (const std::exception&) {
    // The broker has no room at all, or is closed: the rest is given back with this connection.
  }
  for (std::size_t i = 0; i < begun; ++i) {
    try {
      auto ending = left[i]->end(by);
      co_await ending;
    } catch (const jobs::store_unavailable&) {
      // The same.
    }
  }
}

task<std::exception_ptr> schedule_runner::commit(jobs::client& by, std::span<record_turn* const> planned,
                                                 instant begun_round) {
  std::exception_ptr failure;
  std::size_t begun = 0;
  for (std::size_t done = 0; done < planned.size();) {
    try {
      for (; begun < planned.size(); ++begun) planned[begun]->begin(by);
    } catch (const jobs::broker_full&) {
      // When these have been committed, there may be room. If there are none, others take it.
      if (begun == done) failure = std::current_exception();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    for (; done < begun; ++done) {
      try {
        auto ending = planned[done]->end(by);
        co_await ending;
        planned[done]->note(figures_, how_.time->now() - begun_round);
      } catch (const jobs::store_unavailable&) {
        failure = std::current_exception();  // of the others there may be answers
      }
    }
    if (failure != nullptr) break;
  }
  if (begun < planned.size()) {
    // In another order than before: this one shall not stand in the way of the others for ever.
    auto postponing = postpone(by, planned.subspan(begun, 1), without_room_waits);
    co_await postponing;
    auto postponing_others = postpone(by, planned.subspan(begun + 1), without_broker_waits);
    co_await postponing_others;
  }
  co_return failure;
}

task<bool> schedule_runner::take_round(jobs::client& by) {
  jobs::claim due;
  due.count = most_at_once;
  due.bytes = most_bytes_at_once;
  auto claiming = by.reserve(std::move(due));
  jobs::claim_answer got = co_await claiming;
  const instant begun = how_.time->now();
  std::deque<record_turn> turns;
  for (jobs::claimed_job& each : got.jobs) turns.emplace_back(std::move(each));
  // Not on a thread of the runtime: a rule may take long, and the connections must not wait for it.
  auto reading = [&turns] {
    for (record_turn& each : turns) each.read();
  };
  co_await runtime::blocking(reading);
  auto looking = look(by, turns);
  const jobs::utc_time now = co_await looking;
  const std::vector<record_turn*> order = in_order(turns);
  std::exception_ptr failure;
  std::optional<jobs::milliseconds> rest_waits;
  slow_lane slow(has_slow_lane_);
  std::span<record_turn* const> left(order);
  // One in any case: however slow the store is, each round gets on.
  while (!left.empty() && failure == nullptr && (left.size() == order.size() || !is_over(begun))) {
    if (memory_.is_slow(left.front()->key()) && !slow.enter()) {
      rest_waits = slow_record_waits;
      break;
    }
    std::size_t count = 0;
    auto planning_some = [&] { count = plan_some(left, now, begun); };
    co_await runtime::blocking(planning_some);
    auto committing = commit(by, left.first(count), begun);
    failure = co_await committing;
    left = left.subspan(count);
  }
  if (failure != nullptr) rest_waits = without_broker_waits;
  auto postponing = postpone(by, left, rest_waits);
  co_await postponing;
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return by.reservations() == 0;
}

}  // namespace foliot::program
