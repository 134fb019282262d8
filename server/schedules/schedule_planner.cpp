#include "schedule_planner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace foliot::program {

namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

/// What new data of a zone move is moved by less.
constexpr seconds farthest_move = std::chrono::hours(26);
/// Where so much is excluded that neither what was due first nor what was due last is found, the search goes on after
/// this.
constexpr seconds between_searches = std::chrono::minutes(1);
/// Of a question about one instant, or one near by.
constexpr std::size_t most_questions_near = 1'000;
/// What a job takes beside its body and its fields: tube, key, and the note on the occurrence.
constexpr std::size_t most_bytes_beside_fields = 2'048;
/// Of a schedule that has ended, living occurrences are looked at after this at most.
constexpr seconds longest_look_at_end = std::chrono::hours(1);

/// Whether the clock will show its time at an instant again.
bool shows_again(const schedule::zone& where, sys_seconds at) {
  const schedule::zone_period period = where.period_at(at);
  if (period.end >= schedule::latest) return false;
  const seconds after = where.period_at(period.end).offset;
  return after < period.offset && at + period.offset >= period.end + after;
}

/// The cursor is here now.
void set_cursor(schedule_state& state, const schedule_table& table, sys_seconds at) {
  state.cursor = at;
  state.cursor_offset = table.where().period_at(at).offset;
  state.will_repeat = shows_again(table.where(), at);
}

/// Adds a stretch in which nothing was made. Precondition: it has nothing in common with those that are there.
void add_hole(schedule_state& state, instant_stretch hole) {
  auto& holes = state.holes;
  if (!holes.empty() && holes.back().to < hole.from && state.made_to.value_or(schedule::earliest) <= holes.back().to) {
    holes.back().to = hole.to;
    return;
  }
  const auto behind = std::ranges::lower_bound(holes, hole.from, {}, &instant_stretch::from);
  auto place = holes.insert(behind, hole);
  if (const auto next = place + 1; next != holes.end() && next->from <= place->to + seconds(1)) {
    place->to = std::max(place->to, next->to);
    place = holes.erase(next) - 1;
  }
  if (place != holes.begin() && place->from <= (place - 1)->to + seconds(1)) {
    (place - 1)->to = std::max((place - 1)->to, place->to);
    holes.erase(place);
  }
  // What is forgotten may not be backfilled any more. The first one has the time before the making. A backfill may need
  // one more, where it begins within one.
  constexpr std::size_t most = schedule_state::most_holes - schedule_state::most_backfills;
  if (holes.size() > most) holes.erase(holes.begin() + 1, holes.end() - static_cast<std::ptrdiff_t>(most - 1));
}

/// Takes a stretch out of what was not made.
void cut_holes(schedule_state& state, instant_stretch made) {
  std::vector<instant_stretch> left;
  for (const instant_stretch& each : state.holes) {
    if (each.to < made.from || each.from > made.to) {
      left.push_back(each);
      continue;
    }
    if (each.from < made.from) left.push_back({each.from, made.from - seconds(1)});
    if (each.to > made.to) left.push_back({made.to + seconds(1), each.to});
  }
  if (left.size() > schedule_state::most_holes) left.erase(left.begin() + 1);
  state.holes = std::move(left);
}

/// The part of a stretch that is in the first hole that has some of it; nothing if none has.
std::optional<instant_stretch> first_part_in_holes(const schedule_state& state, const instant_stretch& of) {
  for (const instant_stretch& each : state.holes) {
    const instant_stretch part{std::max(each.from, of.from), std::min(each.to, of.to)};
    if (part.from <= part.to) return part;
  }
  return std::nullopt;
}

/// The next one, if it is near.
std::expected<schedule::occurrence, schedule::absence> near_behind(const schedule::timetable& table, sys_seconds at) {
  schedule::search_effort effort{most_questions_near};
  return table.next(at, effort);
}

/// Whether one of these rules has an occurrence at the instant.
bool has_at(const schedule::timetable& table, sys_seconds at) {
  const auto found = near_behind(table, at - seconds(1));
  return found && found->at == at;
}

/// At most so many bytes has a job of the plan.
std::size_t bytes_of_job(const schedule_plan& plan) noexcept {
  return plan.job.body.size() + plan.job.fields.bytes().size() + most_bytes_beside_fields;
}

/// What the plan's rules have behind the cursor may have been decided by older data of the zone. Whether this has.
bool is_decided_by_older_data(const schedule_table& table, const zone_refit& refit, const schedule::occurrence& one) {
  if (one.at > refit.until) return false;
  const bool is_fixed = table.fixed ? has_at(*table.fixed, one.at) : table.has_fixed_times;
  const bool is_elapsed = table.elapsed ? has_at(*table.elapsed, one.at) : !table.has_fixed_times;
  if (is_elapsed) return one.at <= refit.elapsed_to;
  if (!is_fixed) return true;
  const bool repeats = refit.will_repeat && one.pass == schedule::overlap_pass::second &&
                       table.all.options().overlap != schedule::overlap_policy::first;
  if (one.nominal <= refit.fixed_to()) return !repeats || one.at <= refit.elapsed_to;
  if (one.at > refit.elapsed_to) return false;
  // It was moved across the cursor. Is there one that the old clock showed at its instant? Then that was it.
  const seconds moved = refit.old_offset - one.offset;
  const auto old = near_behind(table.all, one.at + moved - seconds(1));
  return old && old->nominal == std::chrono::local_seconds((one.at + refit.old_offset).time_since_epoch());
}

/// The plan of the state is another one from now on. What was due has been decided, or cannot be known.
void begin_plan(const schedule_plan& plan, const schedule_table& table, schedule_state& state, jobs::utc_time now) {
  const sys_seconds from = state.cursor;
  const sys_seconds second = std::chrono::floor<seconds>(now);
  state.version += 1;
  state.plan_digest = plan.digest();
  state.changed = now;
  state.zone_data = table.where().version();
  state.refit.reset();
  state.wanted.reset();
  state.next.reset();
  state.ended.reset();
  state.delay_from.reset();
  set_cursor(state, table, std::max(from, second));
  if (second > from) add_hole(state, {from + seconds(1), second});
}

/// Makes one turn.
class turn_maker {
 public:
  turn_maker(const schedule_plan& plan, const schedule_table& table, schedule_state state, jobs::utc_time now,
             std::span<const living_fact> facts, const turn_bounds& bounds)
      : plan_(plan),
        table_(table),
        most_made_(std::clamp<std::size_t>(bounds.most_bytes / bytes_of_job(plan), 1, bounds.most_made)),
        most_questions_(bounds.most_questions),
        now_(now),
        second_(std::chrono::floor<seconds>(now)),
        state_(std::move(state)),
        facts_(facts.begin(), facts.end()),
        steps_left_(bounds.most_steps),
        effort_{bounds.most_questions} {}

  [[nodiscard]] schedule_turn run();

 private:
  /// How a piece of the turn has ended.
  enum class progress : std::uint8_t { complete, cut };

  void observe();
  void notice_other_plan();
  void notice_zone_data();
  void move_skips();
  void make_by_hand();
  void release_queue();
  [[nodiscard]] progress walk();
  [[nodiscard]] progress walk_delay();
  [[nodiscard]] std::expected<schedule::occurrence, schedule::absence> next_behind(sys_seconds place);
  [[nodiscard]] progress pass_over_what_is_excluded(sys_seconds place);
  [[nodiscard]] progress backfill();
  [[nodiscard]] progress backfill_one(backfill_request& request);
  void clear_pauses();
  void set_due();

  void decide(const schedule::occurrence& when);
  void decide_busy(const schedule::occurrence& when, occurrence_reason why);
  void replace_or_make(const schedule::occurrence& when, occurrence_reason why);
  [[nodiscard]] bool is_wanted(const schedule::occurrence& when);
  [[nodiscard]] sys_seconds end_of_stretch(sys_seconds from) const;
  [[nodiscard]] instant_stretch wanted_from(sys_seconds from) const;
  void leave_out(sys_seconds at, occurrence_reason why, occurrence_outcome what);
  void make(planned_occurrence one);

  [[nodiscard]] bool is_at_end_of_count() const noexcept { return plan_.count > 0 && state_.counted >= plan_.count; }
  [[nodiscard]] bool has_room() const noexcept { return make_.size() < most_made_; }
  /// Whether one that is asked for, or waits, may be made: what lives is no hindrance.
  [[nodiscard]] bool is_free() const noexcept { return plan_.busy == busy_policy::allow || state_.living.empty(); }
  [[nodiscard]] bool is_skipped(sys_seconds at) const {
    return std::ranges::binary_search(state_.skips, at, {}, &skip_request::at);
  }
  [[nodiscard]] bool is_expired(sys_seconds at) const {
    return (plan_.deadline && now_ - at > *plan_.deadline) || (now_ - at > grace && now_ - at > plan_.missed_window);
  }
  /// Takes a step; false: there are none left.
  [[nodiscard]] bool take_step() noexcept {
    const std::size_t cost = 1 + (plan_.rules.size() + plan_.excluded_rules.size()) / 8;
    if (steps_left_ < cost) return false;
    steps_left_ -= cost;
    return true;
  }

  const schedule_plan& plan_;
  const schedule_table& table_;
  const std::size_t most_made_;
  const std::size_t most_questions_;
  const jobs::utc_time now_;
  const sys_seconds second_;  // that of now_
  schedule_state state_;
  std::vector<living_fact> facts_;  // of state_.living
  std::vector<planned_occurrence> make_;
  std::optional<schedule::occurrence> next_;
  std::optional<jobs::utc_time> due_;
  std::size_t steps_left_;
  schedule::search_effort effort_;  // for what comes, then for backfills
  bool is_out_of_questions_ = false;
  bool has_given_up_ = false;
};

/// The next one. If the questions that are left do not find it, though some were asked for others, a further turn has
/// to ask again: is_out_of_questions_.
std::expected<schedule::occurrence, schedule::absence> turn_maker::next_behind(sys_seconds place) {
  const bool has_all = effort_.questions == most_questions_;
  auto next = table_.all.next(place, effort_);
  is_out_of_questions_ = !has_all && !next && next.error() == schedule::absence::given_up;
  return next;
}

schedule_turn turn_maker::run() {
  state_.refused.clear();
  observe();
  notice_other_plan();
  notice_zone_data();
  make_by_hand();
  release_queue();
  progress done = table_.is_delay ? walk_delay() : walk();
  if (done == progress::complete && !has_given_up_) {
    clear_pauses();
    state_.wanted.reset();
    effort_.questions = most_questions_;
    done = backfill();
  }
  if (is_free() && !has_room() && !(state_.by_hand.empty() && state_.queue.empty())) done = progress::cut;
  std::erase_if(state_.skips, [&](const skip_request& each) { return each.at <= state_.cursor; });
  if (done == progress::cut) {
    due_ = now_;
  } else {
    set_due();
  }
  if (next_) {
    state_.next = next_occurrence{next_->at, next_->nominal, next_->offset};
  } else if (done == progress::complete) {
    state_.next.reset();
  }
  return {.state = std::move(state_), .make = std::move(make_), .due = due_, .is_complete = done == progress::complete};
}

/// Notes what has become of those that lived. Behind it, all that are left live.
void turn_maker::observe() {
  facts_.resize(state_.living.size(), living_fact::unknown);
  std::vector<living_occurrence> left;
  std::vector<living_fact> facts;
  for (std::size_t i = 0; i < state_.living.size(); ++i) {
    const living_occurrence& each = state_.living[i];
    if (facts_[i] != living_fact::gone && facts_[i] != living_fact::buried) {
      left.push_back(each);
      facts.push_back(facts_[i]);
      continue;
    }
    const bool has_failed = facts_[i] == living_fact::buried;
    const occurrence_outcome what = has_failed ? occurrence_outcome::failed : occurrence_outcome::ended;
    const recent_occurrence told{each.name, each.reason, what, now_};
    ++state_.counters.outcomes[static_cast<std::size_t>(what)];
    state_.tell(told);
    (has_failed ? state_.last_failure : state_.last_success) = told;
  }
  state_.living = std::move(left);
  facts_ = std::move(facts);
}

void turn_maker::notice_other_plan() {
  if (state_.plan_digest == plan_.digest()) return;
  const std::optional<next_occurrence> planned = state_.next;
  const bool was_due = planned && planned->at > state_.cursor && planned->at <= second_;
  begin_plan(plan_, table_, state_, now_);
  if (!was_due) return;
  constexpr auto what = occurrence_outcome::skipped_changed;
  ++state_.counters.decided;
  ++state_.counters.outcomes[static_cast<std::size_t>(what)];
  state_.tell({{planned->at, 0}, occurrence_reason::regular, what, now_});
}

void turn_maker::notice_zone_data() {
  const schedule::zone& where = table_.where();
  const sys_seconds cursor = state_.cursor;
  const seconds offset = where.period_at(cursor).offset;
  const bool is_moved = offset != state_.cursor_offset || shows_again(where, cursor) != state_.will_repeat;
  if (is_moved && !table_.is_delay) {
    zone_refit refit;
    refit.place = cursor;
    if (offset > state_.cursor_offset) refit.place = std::max(cursor - farthest_move, schedule::earliest);
    refit.until = cursor + farthest_move;
    refit.elapsed_to = cursor;
    refit.old_offset = state_.cursor_offset;
    // What was decided by data that are older still stays so.
    if (state_.refit) {
      const seconds older = state_.refit->fixed_to().time_since_epoch() - cursor.time_since_epoch();
      refit.old_offset = std::max(refit.old_offset, older);
    }
    refit.will_repeat = state_.will_repeat;
    state_.refit = refit;
    state_.wanted.reset();
  }
  if (is_moved) set_cursor(state_, table_, cursor);
  if (is_moved || state_.zone_data != where.version()) move_skips();
  state_.zone_data = where.version();
}

/// Finds the occurrences that are to be skipped again, where new data of the zone have moved them.
void turn_maker::move_skips() {
  if (table_.is_delay) return;
  for (skip_request& each : state_.skips) {
    if (each.at <= state_.cursor || has_at(table_.all, each.at)) continue;
    const seconds offset = table_.where().period_at(each.at).offset;
    const auto moved = near_behind(table_.all, sys_seconds(each.nominal.time_since_epoch()) - offset - seconds(1));
    if (moved && moved->nominal == each.nominal && moved->at > state_.cursor) each.at = moved->at;
  }
  std::ranges::sort(state_.skips, {}, &skip_request::at);
  const auto [first, last] = std::ranges::unique(state_.skips, {}, &skip_request::at);
  state_.skips.erase(first, last);
}

/// Puts a job. The occurrence is one of those that live from now on.
void turn_maker::make(planned_occurrence one) {
  one.due = std::max(one.due, now_);
  state_.living.push_back({one.name, one.key, one.reason});
  facts_.push_back(living_fact::waiting);
  while (state_.living.size() > schedule_state::most_living) {
    state_.living.erase(state_.living.begin());
    facts_.erase(facts_.begin());
    ++state_.counters.not_followed;
  }
  state_.look_after = 0;
  ++state_.counters.made[static_cast<std::size_t>(one.reason)];
  state_.tell({one.name, one.reason, occurrence_outcome::made, now_});
  make_.push_back(std::move(one));
}

void turn_maker::leave_out(sys_seconds at, occurrence_reason why, occurrence_outcome what) {
  ++state_.counters.outcomes[static_cast<std::size_t>(what)];
  state_.tell({{at, 0}, why, what, now_});
  if (!first_part_in_holes(state_, {at, at})) add_hole(state_, {at, at});
}

void turn_maker::make_by_hand() {
  while (!state_.by_hand.empty() && has_room() && is_free()) {
    const occurrence_name name = state_.by_hand.front();
    state_.by_hand.erase(state_.by_hand.begin());
    const schedule::zone_period period = table_.where().period_at(name.at);
    planned_occurrence one{.name = name, .key = name, .reason = occurrence_reason::by_hand};
    one.when.at = name.at;
    one.when.offset = period.offset;
    one.when.abbreviation = period.abbreviation;
    one.when.nominal = one.when.local();
    make(std::move(one));
  }
}

void turn_maker::release_queue() {
  if (state_.is_paused_at(second_)) return;
  while (!state_.queue.empty()) {
    const queued_occurrence first = state_.queue.front();
    const bool is_too_late = plan_.deadline && now_ - first.at > *plan_.deadline;
    if (!is_too_late && !(is_free() && has_room())) return;
    state_.queue.erase(state_.queue.begin());
    if (is_too_late) {
      leave_out(first.at, first.reason, occurrence_outcome::expired_by_deadline);
      continue;
    }
    const schedule::zone_period period = table_.where().period_at(first.at);
    planned_occurrence one{.name = {first.at, 0}, .key = {first.at, 0}, .reason = first.reason};
    one.when = {.at = first.at,
                .nominal = first.nominal,
                .offset = period.offset,
                .abbreviation = period.abbreviation,
                .pass = first.pass,
                .is_shifted = first.is_shifted};
    one.due = first.at + table_.delay_of(first.at);
    make(std::move(one));
  }
}

/// Decides about an instant that has come.
void turn_maker::decide(const schedule::occurrence& when) {
  const jobs::milliseconds late = now_ - when.at;
  const bool is_missed = late > grace;
  const occurrence_reason why = is_missed ? occurrence_reason::late : occurrence_reason::regular;
  ++state_.counters.decided;
  if (plan_.count > 0) ++state_.counted;
  if (when.at > state_.cursor) set_cursor(state_, table_, when.at);
  if (is_skipped(when.at)) return leave_out(when.at, why, occurrence_outcome::skipped_by_request);
  if (state_.is_paused_at(when.at)) return leave_out(when.at, why, occurrence_outcome::skipped_paused);
  if (plan_.deadline && late > *plan_.deadline) return leave_out(when.at, why, occurrence_outcome::expired_by_deadline);
  if (is_missed && late > plan_.missed_window) return leave_out(when.at, why, occurrence_outcome::expired_by_window);
  if (is_missed && !is_wanted(when)) {
    const bool is_beyond = plan_.missed == missed_policy::all;
    return leave_out(when.at, why, is_beyond ? occurrence_outcome::skipped_limit : occurrence_outcome::skipped_missed);
  }
  decide_busy(when, why);
}

void turn_maker::decide_busy(const schedule::occurrence& when, occurrence_reason why) {
  const busy_policy policy = state_.living.empty() && state_.queue.empty() ? busy_policy::allow : plan_.busy;
  if (policy == busy_policy::skip) return leave_out(when.at, why, occurrence_outcome::skipped_busy);
  const bool has_place = state_.queue.size() < std::min<std::size_t>(plan_.busy_limit, schedule_state::most_queued);
  if (policy == busy_policy::queue && !has_place) return leave_out(when.at, why, occurrence_outcome::skipped_busy);
  cut_holes(state_, {when.at, when.at});
  state_.made_to = std::max(state_.made_to.value_or(when.at), when.at);
  if (policy != busy_policy::queue) return replace_or_make(when, why);
  state_.queue.push_back({when.at, when.nominal, when.pass, when.is_shifted, why});
  state_.tell({{when.at, 0}, why, occurrence_outcome::queued, now_});
}

/// Makes it, in the place of the latest one that waits if the plan says so.
void turn_maker::replace_or_make(const schedule::occurrence& when, occurrence_reason why) {
  planned_occurrence one{.name = {when.at, 0}, .key = {when.at, 0}, .reason = why, .when = when};
  one.due = when.at + table_.delay_of(when.at);
  if (plan_.busy != busy_policy::replace) return make(std::move(one));
  for (std::size_t i = state_.living.size(); i-- > 0;) {
    const living_occurrence old = state_.living[i];
    const bool is_regular = old.reason == occurrence_reason::regular || old.reason == occurrence_reason::late;
    if (facts_[i] != living_fact::waiting || !is_regular || old.name.at >= when.at) continue;
    state_.living.erase(state_.living.begin() + static_cast<std::ptrdiff_t>(i));
    facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(i));
    const auto planned = std::ranges::find(make_, old.name, &planned_occurrence::name);
    if (planned == make_.end()) {
      one.key = old.key;
      one.replaces = true;
      ++state_.counters.outcomes[static_cast<std::size_t>(occurrence_outcome::replaced)];
      state_.tell({old.name, old.reason, occurrence_outcome::replaced, now_});
    } else {  // it was never put
      if (planned->replaces) one.key = planned->key;
      one.replaces = planned->replaces;
      make_.erase(planned);
      --state_.counters.made[static_cast<std::size_t>(old.reason)];
      leave_out(old.name.at, old.reason, occurrence_outcome::skipped_busy);
    }
    break;
  }
  make(std::move(one));
}

/// Whether a missed one is to be made.
bool turn_maker::is_wanted(const schedule::occurrence& when) {
  if (plan_.missed == missed_policy::none) return false;
  if (table_.is_delay) return true;
  if (!state_.wanted || when.at > state_.wanted->to) state_.wanted = wanted_from(when.at);
  return when.at >= state_.wanted->from;
}

/// The first instant that is not missed, or that the plan's count does not reach. `from`: the first missed one.
sys_seconds turn_maker::end_of_stretch(sys_seconds from) const {
  const sys_seconds end = std::chrono::ceil<seconds>(now_ - grace);
  if (plan_.count == 0) return end;
  schedule::search_effort effort{most_questions_ / 2};
  sys_seconds last = from;
  for (std::size_t i = 0; i + state_.counted < plan_.count; ++i) {
    const auto next = table_.all.next(last, effort);
    if (!next && next.error() == schedule::absence::given_up) break;  // the rest is a stretch of its own
    if (!next || next->at >= end) return end;
    last = next->at;
  }
  return last + seconds(1);
}

/// The stretch of missed ones that begins with this one, without those at its beginning that are not wanted.
instant_stretch turn_maker::wanted_from(sys_seconds from) const {
  const sys_seconds end = end_of_stretch(from);
  const std::size_t most = plan_.missed == missed_policy::all ? plan_.missed_limit : 1;
  schedule::search_effort effort{most_questions_ / 2};
  sys_seconds first = end;
  sys_seconds place = end;
  for (std::size_t found = 0; found < most;) {
    const auto one = table_.all.previous(place, effort);
    if (!one || one->at < from || is_expired(one->at)) break;
    place = one->at;
    const auto pause = std::ranges::find_if(state_.pauses, [&](const schedule_pause& each) {
      return place > each.since && (!each.until || place < *each.until);
    });
    if (pause != state_.pauses.end()) {
      place = pause->since + seconds(1);
      continue;
    }
    if (is_skipped(place) || (state_.refit && is_decided_by_older_data(table_, *state_.refit, *one))) continue;
    first = place;
    ++found;
  }
  return {first, std::max(end - seconds(1), from)};
}

/// Goes over the instants that have come.
turn_maker::progress turn_maker::walk() {
  while (true) {
    if (is_at_end_of_count()) {
      state_.ended = end_reason::count;
      return progress::complete;
    }
    const sys_seconds place = state_.refit ? state_.refit->place : state_.cursor;
    if (!take_step()) return progress::cut;
    auto next = next_behind(place);
    if (is_out_of_questions_) return progress::cut;
    if (!next && next.error() == schedule::absence::given_up) return pass_over_what_is_excluded(place);
    if (state_.refit && second_ > state_.refit->until && (!next || next->at > state_.refit->until)) {
      if (place > state_.cursor) set_cursor(state_, table_, place);
      state_.refit.reset();
      continue;
    }
    if (!next) {
      state_.ended = plan_.ends ? end_reason::ends : end_reason::never;
      return progress::complete;
    }
    const bool is_decided = state_.refit && is_decided_by_older_data(table_, *state_.refit, *next);
    if (next->at > second_ && !is_decided) {
      state_.ended.reset();
      next_ = *std::move(next);
      return progress::complete;
    }
    if (!is_decided && !has_room()) return progress::cut;
    if (state_.refit) state_.refit->place = next->at;
    if (!is_decided) {
      decide(*next);
    } else if (next->at > state_.cursor && next->at <= second_) {
      set_cursor(state_, table_, next->at);
    }
  }
}

/// So much is excluded behind this place that all questions found none. If they have come up to now, nothing is due,
/// and so far there is nothing to do. Else it is not known what was due, but for the last.
turn_maker::progress turn_maker::pass_over_what_is_excluded(sys_seconds place) {
  state_.refit.reset();
  state_.wanted.reset();
  if (effort_.reached >= second_) {
    if (second_ > state_.cursor) {
      const sys_seconds from = state_.cursor + seconds(1);
      set_cursor(state_, table_, second_);
      add_hole(state_, {from, second_});
    }
    due_ = std::max<jobs::utc_time>(effort_.reached, now_ + seconds(1));
    return progress::complete;
  }
  has_given_up_ = true;
  schedule::search_effort effort{most_questions_};
  const auto last = table_.all.previous(second_ + seconds(1), effort);
  if (!last && last.error() == schedule::absence::given_up) {
    due_ = now_ + between_searches;
    if (effort_.reached > state_.cursor) {
      const sys_seconds from = state_.cursor + seconds(1);
      set_cursor(state_, table_, effort_.reached);
      add_hole(state_, {from, effort_.reached});
    }
    return progress::complete;
  }
  due_ = now_ + between_looks_at_refused;
  const bool is_due = last && last->at > place;
  const sys_seconds known = std::max(is_due ? last->at - seconds(1) : second_, state_.cursor);
  if (is_due) ++state_.counters.uncounted;
  if (known > state_.cursor) {
    const sys_seconds from = state_.cursor + seconds(1);
    set_cursor(state_, table_, known);
    add_hole(state_, {from, known});
  }
  return is_due ? progress::cut : progress::complete;
}

/// Of a rule `after`: one at a time, from the end of the last.
turn_maker::progress turn_maker::walk_delay() {
  if (is_at_end_of_count()) {
    state_.ended = end_reason::count;
    return progress::complete;
  }
  if (!state_.living.empty()) return progress::complete;
  if (!state_.delay_from) state_.delay_from = second_;
  while (true) {
    auto next = next_behind(std::max(*state_.delay_from, state_.cursor));
    if (is_out_of_questions_) return progress::cut;
    if (!next && next.error() == schedule::absence::given_up) {
      has_given_up_ = true;
      due_ = std::max<jobs::utc_time>(effort_.reached, now_ + between_looks_at_refused);
      return progress::complete;
    }
    if (!next) {
      state_.ended = plan_.ends ? end_reason::ends : end_reason::never;
      return progress::complete;
    }
    state_.ended.reset();
    const auto pause = std::ranges::find_if(state_.pauses, [&](const schedule_pause& each) {
      return next->at > each.since && (!each.until || next->at < *each.until);
    });
    if (pause != state_.pauses.end()) {  // the delay begins again with its end
      if (!pause->until || *pause->until > second_) return progress::complete;
      state_.delay_from = *pause->until;
      continue;
    }
    if (next->at > second_) {
      next_ = *std::move(next);
      return progress::complete;
    }
    if (!take_step() || !has_room()) return progress::cut;
    decide(*next);
    state_.delay_from.reset();
    if (!state_.living.empty()) return progress::complete;
    if (is_at_end_of_count()) {
      state_.ended = end_reason::count;
      return progress::complete;
    }
    state_.delay_from = second_;
  }
}

/// Makes what was asked for of the past. All up to now is decided.
turn_maker::progress turn_maker::backfill() {
  if (state_.refit && state_.refit->place < state_.refit->elapsed_to) return progress::complete;
  while (!state_.backfills.empty() && is_free()) {
    if (backfill_one(state_.backfills.front()) == progress::cut) return progress::cut;
    const instant_stretch& left = state_.backfills.front().left;
    if (left.from > left.to) state_.backfills.erase(state_.backfills.begin());
  }
  return progress::complete;
}

/// Makes the next one of a request, or finds that there is none.
turn_maker::progress turn_maker::backfill_one(backfill_request& request) {
  const auto part = first_part_in_holes(state_, request.left);
  if (!part || table_.is_delay) {
    request.left.from = request.left.to + seconds(1);
    return progress::complete;
  }
  if (!has_room() || !take_step()) return progress::cut;
  auto next = next_behind(part->from - seconds(1));
  if (is_out_of_questions_) return progress::cut;
  if (!next && next.error() == schedule::absence::given_up) ++state_.counters.uncounted;
  if (!next || next->at > part->to) {
    request.left.from = part->to + seconds(1);
    return progress::complete;
  }
  cut_holes(state_, {part->from, next->at});
  state_.made_to = std::max(state_.made_to.value_or(next->at), next->at);
  request.left.from = next->at + seconds(1);
  ++request.made;
  const occurrence_name name{next->at, 0};
  make({.name = name, .key = name, .reason = occurrence_reason::backfill, .when = *std::move(next), .due = now_});
  return progress::complete;
}

/// All up to now is decided: pauses that have ended are of no use any more.
void turn_maker::clear_pauses() {
  std::erase_if(state_.pauses, [&](const schedule_pause& each) { return each.until && *each.until <= second_; });
  if (!state_.pauses.empty()) return;
  state_.pause_note.clear();
  state_.paused_by.clear();
}

/// When there is something to do again.
void turn_maker::set_due() {
  const auto not_after = [&](jobs::utc_time time) { due_ = std::max(now_, due_ ? std::min(*due_, time) : time); };
  const bool is_paused = state_.is_paused_at(second_ + seconds(1));
  if (is_paused && !state_.ended) {
    const auto& until = state_.pauses.back().until;
    if (until) not_after(*until);
    if (next_) not_after(now_ + between_looks_at_paused);
  } else if (next_) {
    not_after(next_->at);
  }
  if (state_.living.empty()) {
    state_.look_after = 0;
    return;
  }
  const bool something_waits =
      (!state_.queue.empty() && !is_paused) || !state_.by_hand.empty() || !state_.backfills.empty() || table_.is_delay;
  if (!something_waits && !state_.ended) return;
  const auto longest = something_waits ? longest_look : longest_look_at_end;
  state_.look_after = std::clamp<std::uint32_t>(2 * state_.look_after, 1, static_cast<std::uint32_t>(longest.count()));
  not_after(now_ + seconds(state_.look_after));
}

plan_error fault_of_request(std::string_view pointer, std::string detail) {
  return {std::string(pointer), std::move(detail)};
}

std::string_view start_of(std::string_view text) noexcept { return text.substr(0, schedule_state::longest_text); }

}  // namespace

std::optional<plan_error> fault_of_times(const schedule_plan& plan, const schedule_table& table, jobs::utc_time now) {
  const auto next = table.all.next(std::chrono::floor<seconds>(now));
  if (next) return std::nullopt;
  if (next.error() == schedule::absence::given_up)
    return fault_of_request("/exclude", "so much is excluded that no occurrence is found: exclude less");
  if (plan.ends && *plan.ends <= now)
    return fault_of_request(
        "/ends", fmt::format("`ends` has passed: it is {} now", schedule::text_of(std::chrono::floor<seconds>(now))));
  return fault_of_request("/rules", "no rule has a time to come: the schedule would never make a job");
}

schedule_state begin_schedule(const schedule_plan& plan, const schedule_table& table, std::uint64_t incarnation,
                              jobs::utc_time now) {
  schedule_state state;
  state.incarnation = incarnation;
  state.plan_digest = plan.digest();
  state.made = now;
  state.changed = now;
  state.zone_data = table.where().version();
  set_cursor(state, table, std::chrono::floor<seconds>(now));
  state.holes.push_back({schedule::earliest, state.cursor});
  if (table.is_delay) state.delay_from = state.cursor;
  return state;
}

schedule_turn plan_turn(const schedule_plan& plan, const schedule_table& table, schedule_state state,
                        jobs::utc_time now, std::span<const living_fact> facts, const turn_bounds& bounds) {
  return turn_maker(plan, table, std::move(state), now, facts, bounds).run();
}

schedule_turn change_plan(const schedule_plan& before, const schedule_table& table_before, const schedule_plan& after,
                          const schedule_table& table_after, schedule_state state, jobs::utc_time now,
                          std::span<const living_fact> facts, const turn_bounds& bounds) {
  schedule_turn first = plan_turn(before, table_before, std::move(state), now, facts, bounds);
  if (!first.is_complete) return first;
  if (!first.make.empty() && std::max(bytes_of_job(before), bytes_of_job(after)) > bounds.most_bytes) {
    first.is_complete = false;  // those of the new plan may have no room beside them
    first.due = now;
    return first;
  }
  first.is_changed = true;
  if (before.digest() == after.digest()) {
    ++first.state.version;
    first.state.changed = now;
    return first;
  }
  begin_plan(after, table_after, first.state, now);
  if (before.count != after.count || before.starts != after.starts) first.state.counted = 0;
  schedule_turn second = plan_turn(after, table_after, std::move(first.state), now, {}, bounds);
  second.is_changed = true;
  second.make.insert(second.make.begin(), std::make_move_iterator(first.make.begin()),
                     std::make_move_iterator(first.make.end()));
  return second;
}

schedule_turn change_lost_plan(const schedule_plan& before, const schedule_plan& after,
                               const schedule_table& table_after, schedule_state state, jobs::utc_time now,
                               std::span<const living_fact> facts, const turn_bounds& bounds) {
  begin_plan(after, table_after, state, now);
  if (before.count != after.count || before.starts != after.starts) state.counted = 0;
  schedule_turn turn = plan_turn(after, table_after, std::move(state), now, facts, bounds);
  turn.is_changed = true;
  return turn;
}

void refuse_schedule(schedule_state& state, std::string_view why, jobs::utc_time now) {
  if (state.refused.empty()) state.changed = now;
  state.refused = start_of(why);
  state.next.reset();
}

std::expected<void, plan_error> pause_schedule(schedule_state& state, jobs::utc_time now, std::string_view by,
                                               std::string_view note, std::optional<jobs::utc_time> until) {
  const sys_seconds second = std::chrono::floor<seconds>(now);
  std::optional<sys_seconds> end;
  if (until) end = std::chrono::ceil<seconds>(*until);
  if (end && *end <= second)
    return std::unexpected(
        fault_of_request("/until", fmt::format("`until` must be after now, {}", schedule::text_of(second))));
  if (note.size() > schedule_state::longest_text)
    return std::unexpected(
        fault_of_request("/note", fmt::format("`note` has at most {} bytes", schedule_state::longest_text)));
  const bool is_paused = !state.pauses.empty() && (!state.pauses.back().until || *state.pauses.back().until > second);
  if (!is_paused) {
    if (state.pauses.size() == schedule_state::most_pauses)
      return std::unexpected(fault_of_request(
          "", "the schedule has not decided yet what was due in its last pauses: ask again in a moment"));
    const sys_seconds since = state.pauses.empty() ? second : std::max(second, *state.pauses.back().until);
    state.pauses.push_back({since, std::nullopt});
  }
  state.pauses.back().until = end ? std::optional(std::max(*end, state.pauses.back().since)) : std::nullopt;
  state.pause_note = note;
  state.paused_by = start_of(by);
  state.changed = now;
  return {};
}

bool resume_schedule(schedule_state& state, jobs::utc_time now) {
  const sys_seconds second = std::chrono::floor<seconds>(now);
  if (state.pauses.empty()) return false;
  schedule_pause& last = state.pauses.back();
  if (last.until && *last.until <= second) return false;
  // What is due in this very second has been skipped if it came before the request, and nobody can tell.
  last.until = std::max(last.since, second);
  state.changed = now;
  state.pause_note.clear();
  state.paused_by.clear();
  return true;
}

std::expected<schedule::occurrence, plan_error> skip_occurrence(const schedule_plan& plan, const schedule_table& table,
                                                                schedule_state& state, jobs::utc_time now,
                                                                std::optional<jobs::utc_time> at) {
  if (table.is_delay)
    return std::unexpected(
        fault_of_request("", "a delay from the end of the last run (`after`) has no times: pause it"));
  const auto upcoming = upcoming_occurrences(plan, table, state, now, schedule_state::most_skips + 1);
  std::optional<schedule::occurrence> found;
  if (!at) {
    const auto first = std::ranges::find(upcoming, false, &upcoming_occurrence::is_skipped);
    if (first == upcoming.end())
      return std::unexpected(fault_of_request("", "there is no occurrence to come that is not skipped already"));
    found = first->when;
  } else {
    const sys_seconds second = std::chrono::floor<seconds>(*at);
    auto next = near_behind(table.all, second - seconds(1));
    const bool is_one = next && next->at == second && second == *at && second > state.cursor;
    if (!is_one) {
      std::string detail = "there is no occurrence to come at that instant";
      if (!upcoming.empty()) detail += fmt::format(": the next is {}", schedule::text_of(upcoming.front().when.at));
      return std::unexpected(fault_of_request("/at", std::move(detail)));
    }
    found = *std::move(next);
  }
  const auto place = std::ranges::lower_bound(state.skips, found->at, {}, &skip_request::at);
  if (place != state.skips.end() && place->at == found->at) return *found;
  if (state.skips.size() == schedule_state::most_skips)
    return std::unexpected(fault_of_request(
        "", fmt::format(
                "{} occurrences to come are skipped already, which is the most: pause the schedule, or exclude dates",
                schedule_state::most_skips)));
  state.skips.insert(place, {found->at, found->nominal});
  return *found;
}

std::expected<occurrence_name, plan_error> run_by_hand(schedule_state& state, jobs::utc_time now) {
  if (state.by_hand.size() == schedule_state::most_by_hand)
    return std::unexpected(fault_of_request(
        "", fmt::format("{} runs by hand wait already, which is the most: try again when some have ended",
                        schedule_state::most_by_hand)));
  const occurrence_name name{std::chrono::floor<seconds>(now), ++state.last_ordinal};
  state.by_hand.push_back(name);
  return name;
}

std::expected<backfill_count, plan_error> count_backfill(const schedule_plan& plan, const schedule_table& table,
                                                         const schedule_state& state, jobs::utc_time from,
                                                         jobs::utc_time to) {
  if (table.is_delay)
    return std::unexpected(
        fault_of_request("", "a delay from the end of the last run (`after`) has no past: run it by hand"));
  if (from > to) return std::unexpected(fault_of_request("/to", "`to` must not be before `from`"));
  backfill_count made;
  sys_seconds place = std::chrono::ceil<seconds>(from) - seconds(1);
  const sys_seconds last = std::chrono::floor<seconds>(to);
  const std::size_t most = 2 * most_backfilled / (1 + (plan.rules.size() + plan.excluded_rules.size()) / 8);
  schedule::search_effort effort{most_questions_of_look};
  for (std::size_t steps = 0;; ++steps) {
    const auto next = table.all.next(place, effort);
    if (!next && next.error() == schedule::absence::given_up)
      return std::unexpected(
          fault_of_request("/from", "too much of the stretch is excluded to count it: name a shorter one"));
    if (!next || next->at > last) return made;
    if (made.to_make == most_backfilled || steps == most)
      return std::unexpected(
          fault_of_request("/to", fmt::format("there are more than {} occurrences in the stretch: name a shorter one",
                                              std::min(most_backfilled, most))));
    place = next->at;
    if (!first_part_in_holes(state, {place, place})) {
      ++made.left_out;
      continue;
    }
    ++made.to_make;
    if (!made.first) made.first = place;
    made.last = place;
    if (made.soonest.size() < most_shown_of_backfill) made.soonest.push_back(*next);
  }
}

std::expected<backfill_count, plan_error> request_backfill(const schedule_plan& plan, const schedule_table& table,
                                                           schedule_state& state, jobs::utc_time from,
                                                           jobs::utc_time to) {
  auto counted = count_backfill(plan, table, state, from, to);
  if (!counted || counted->to_make == 0) return counted;
  if (state.backfills.size() == schedule_state::most_backfills)
    return std::unexpected(
        fault_of_request("", fmt::format("{} backfills are under way, which is the most: wait until some are done",
                                         schedule_state::most_backfills)));
  state.backfills.push_back({{*counted->first, *counted->last}, 0});
  return counted;
}

std::vector<upcoming_occurrence> upcoming_occurrences(const schedule_plan& plan, const schedule_table& table,
                                                      const schedule_state& state, jobs::utc_time now,
                                                      std::size_t most) {
  std::vector<upcoming_occurrence> made;
  const auto add = [&](const schedule::occurrence& one) {
    made.push_back({.when = one,
                    .due = one.at + table.delay_of(one.at),
                    .is_skipped = std::ranges::binary_search(state.skips, one.at, {}, &skip_request::at),
                    .is_paused = state.is_paused_at(one.at)});
  };
  std::size_t left = most;
  if (plan.count > 0) left = std::min<std::size_t>(left, plan.count - std::min(plan.count, state.counted));
  if (table.is_delay) {
    if (left == 0 || !state.living.empty() || !state.delay_from) return made;
    if (const auto next = table.all.next(std::max(*state.delay_from, state.cursor))) add(*next);
    return made;
  }
  sys_seconds place = std::max(state.cursor, std::chrono::floor<seconds>(now) - grace);
  schedule::search_effort effort{most_questions_of_look};
  for (std::size_t steps = 0; made.size() < left && steps < left + 1000; ++steps) {
    const auto next = table.all.next(place, effort);
    if (!next) break;
    place = next->at;
    if (!state.refit || !is_decided_by_older_data(table, *state.refit, *next)) add(*next);
  }
  return made;
}

}  // namespace foliot::program
