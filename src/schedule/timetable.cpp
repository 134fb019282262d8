#include <foliot/schedule/timetable.hpp>

#include <algorithm>
#include <utility>

#include "schedule/occurrences.hpp"
#include "schedule/rule_body.hpp"
#include "schedule/zone_data.hpp"

namespace foliot::schedule {

namespace {

constexpr std::size_t most_counted = 100'000;
constexpr std::size_t most_rules = 100;
constexpr std::size_t most_dates = 10'000;
constexpr std::size_t most_passed_over = 600'000;  // more than a year of minutes
constexpr std::size_t most_questions = 2'000'000;
constexpr std::size_t most_times_of_a_change = 1'000;
constexpr seconds longest_jitter = std::chrono::days(7);

/// The earlier one; of two at the same instant, the regular one.
bool is_better(const occurrence& one, const std::optional<occurrence>& than) noexcept {
  if (!than || one.at < than->at) return true;
  return one.at == than->at && than->is_shifted && !one.is_shifted;
}

bool is_better_backwards(const occurrence& one, const std::optional<occurrence>& than) noexcept {
  if (!than || one.at > than->at) return true;
  return one.at == than->at && than->is_shifted && !one.is_shifted;
}

/// A bijection whose bits depend on all bits of the number (SplitMix64).
std::uint64_t mixed(std::uint64_t number) noexcept {
  number += 0x9E3779B97F4A7C15U;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9U;
  number = (number ^ number >> 27) * 0x94D049BB133111EBU;
  return number ^ number >> 31;
}

/// What is wrong with a time of `once`; "" if nothing is.
std::string fault_of(const once& single, const zone& where) {
  const sys_seconds near(single.at.local.time_since_epoch());
  if (single.at.offset) {
    const zone_period period = where.period_at(single.at.instant());
    if (period.offset == *single.at.offset || *single.at.offset == seconds(0)) return {};
    return "the clock of " + where.name() + " shows " +
           text_of(local_seconds(single.at.instant().time_since_epoch() + period.offset)) +
           " at the instant that 'once " + text_of(single.at.local) +
           "' names with its offset: leave the offset out, or write the instant with Z";
  }
  for (zone_period period = where.period_at(near - std::chrono::days(2)); period.begin < near + std::chrono::days(2);
       period = where.period_at(period.end)) {
    const auto begin = local_seconds(period.begin.time_since_epoch() + period.offset);
    const auto end = local_seconds(period.end.time_since_epoch() + period.offset);
    if (single.at.local >= begin && single.at.local < end) return {};
    if (period.end >= last_instant) break;
  }
  return "the clock of " + where.name() + " never shows " + text_of(single.at.local) +
         ", since it goes forward across that time: name another";
}

}  // namespace

timetable::timetable(timetable_options options) noexcept : options_(std::move(options)) {}

std::expected<timetable, std::string> timetable::make(timetable_options options) {
  timetable made(std::move(options));
  if (std::string wrong = made.fault(); !wrong.empty()) return std::unexpected(std::move(wrong));
  std::ranges::sort(made.options_.excluded_dates);
  if (std::string wrong = made.set_end(); !wrong.empty()) return std::unexpected(std::move(wrong));
  return made;
}

std::string timetable::fault() const {
  const auto is_delay = [](const rule& each) { return each.kind() == rule_kind::delay; };
  if (options_.rules.empty()) return "a timetable needs a rule: write one such as '0 9 * * MON-FRI'";
  if (options_.rules.size() > most_rules || options_.exclusions.size() > most_rules)
    return "there are more than 100 rules, or more than 100 exclusions: divide the timetable into several";
  if (options_.excluded_dates.size() > most_dates)
    return "there are more than 10000 excluded dates: leave out those that are past";
  const bool has_delay = std::ranges::any_of(options_.rules, is_delay);
  if (has_delay && (options_.rules.size() > 1 || options_.count > 0))
    return "a delay from the end of the last run ('after') is alone: leave out other rules and the count";
  if (std::ranges::any_of(options_.exclusions, is_delay))
    return "a delay from the end of the last run ('after') excludes nothing: name times that do not depend on runs";
  for (const auto& each : options_.excluded_dates) {
    if (!each.ok()) return "an excluded date does not exist: name days of the calendar";
  }
  if (std::string wrong = fault_of_bounds(); !wrong.empty()) return wrong;
  for (const auto* const rules : {&options_.rules, &options_.exclusions}) {
    for (const rule& each : *rules) {
      const auto* const single = std::get_if<once>(&each.body_->what);
      if (single == nullptr) continue;
      if (std::string wrong = fault_of(*single, options_.where); !wrong.empty()) return wrong;
    }
  }
  return {};
}

std::string timetable::fault_of_bounds() const {
  for (const auto& each : {options_.starts, options_.ends}) {
    if (each && (*each < earliest || *each > latest))
      return "the start or the end is not within the years 1 to 9999: name an instant within them";
  }
  if (options_.starts && options_.ends && *options_.ends <= *options_.starts)
    return "the end " + text_of(*options_.ends) + " is not after the start " + text_of(*options_.starts);
  if (options_.count > 0 && !options_.starts) return "a count needs a start: name from when it counts";
  if (options_.count > most_counted) return "the count is larger than 100000: name an end";
  if (options_.jitter < seconds(0) || options_.jitter > longest_jitter) return "the jitter must be 0 to 7 days";
  return {};
}

/// Goes over the occurrences of a timetable, and bounds the work. It keeps the last answer of each rule and exclusion:
/// nothing lies between a question and its answer, so one that never comes is asked once. For one direction.
class timetable::walk {
 public:
  explicit walk(const timetable& table, std::size_t most = most_questions)
      : table_(table),
        count_(table.options_.rules.size()),
        answers_(count_ + table.options_.exclusions.size()),
        left_(std::min(most, most_questions)) {}

  [[nodiscard]] std::expected<occurrence, absence> next(sys_seconds after);
  [[nodiscard]] std::expected<occurrence, absence> previous(sys_seconds before);
  /// Whether an occurrence is excluded, of next().
  [[nodiscard]] bool is_excluded(const occurrence& one) {
    return is_on_excluded_date(one) || any_exclusion([&](std::size_t i) {
             const auto& found = next_of(i, one.at - seconds(1));
             return found && found->at == one.at;
           });
  }
  [[nodiscard]] bool is_on_excluded_date(const occurrence& one) const {
    const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(one.nominal));
    return std::ranges::binary_search(table_.options_.excluded_dates, day);
  }
  /// Whether one more time may be looked at.
  [[nodiscard]] bool may_go_on() const noexcept { return left_ > answers_.size(); }
  /// Counts a question that somebody else asks.
  void count_question() noexcept { --left_; }
  /// Of next() or previous() that gave up: so far there is none.
  [[nodiscard]] sys_seconds reached() const noexcept { return reached_; }
  /// How many questions may still be asked.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }

 private:
  struct answer {
    std::optional<sys_seconds> asked{};
    std::optional<occurrence> found{};
  };

  [[nodiscard]] const rule& rule_at(std::size_t i) const noexcept {
    return i < count_ ? table_.options_.rules[i] : table_.options_.exclusions[i - count_];
  }
  template <typename Test>
  [[nodiscard]] bool any_exclusion(Test test) const {
    for (std::size_t i = count_; i < answers_.size(); ++i) {
      if (test(i)) return true;
    }
    return false;
  }
  [[nodiscard]] const std::optional<occurrence>& next_of(std::size_t i, sys_seconds after) {
    answer& last = answers_[i];
    if (last.asked && after >= *last.asked &&
        (last.found ? after < last.found->at : after < *last.asked + never_comes_for))
      return last.found;
    --left_;
    last = {after, table_.next_of(rule_at(i), after)};
    return last.found;
  }
  [[nodiscard]] const std::optional<occurrence>& previous_of(std::size_t i, sys_seconds before) {
    answer& last = answers_[i];
    if (last.asked && before <= *last.asked &&
        (last.found ? before > last.found->at : before > *last.asked - never_comes_for))
      return last.found;
    --left_;
    last = {before, table_.previous_of(rule_at(i), before)};
    return last.found;
  }

  const timetable& table_;
  const std::size_t count_;  // of the rules, whose answers come first
  std::vector<answer> answers_;
  std::size_t left_;  // each time asks no more questions than there are answers
  sys_seconds reached_{};
};

std::expected<occurrence, absence> timetable::walk::next(sys_seconds after) {
  const timetable_options& options = table_.options_;
  after = std::clamp(after, earliest - seconds(1), latest);
  const bool is_from_the_end = options.rules.front().kind() == rule_kind::delay;
  if (options.starts && !is_from_the_end) after = std::max(after, *options.starts - seconds(1));
  for (std::size_t i = 0; i <= most_passed_over && may_go_on(); ++i) {
    std::optional<occurrence> best;
    for (std::size_t each = 0; each < count_; ++each) {
      const auto& found = next_of(each, after);
      if (found && is_better(*found, best)) best = found;
    }
    if (best && is_from_the_end && options.starts && best->at < *options.starts)
      best = occurrence_at(options.where, *options.starts);
    if (!best || (table_.end_ && best->at >= *table_.end_)) return std::unexpected(absence::never);
    if (!is_excluded(*best)) return *std::move(best);
    after = best->at;
  }
  reached_ = after;
  return std::unexpected(absence::given_up);
}

std::expected<occurrence, absence> timetable::walk::previous(sys_seconds before) {
  const timetable_options& options = table_.options_;
  before = std::clamp(before, earliest, latest);
  if (table_.end_) before = std::min(before, *table_.end_);
  for (std::size_t i = 0; i <= most_passed_over && may_go_on(); ++i) {
    std::optional<occurrence> best;
    for (std::size_t each = 0; each < count_; ++each) {
      const auto& found = previous_of(each, before);
      if (found && is_better_backwards(*found, best)) best = found;
    }
    if (!best || (options.starts && best->at < *options.starts)) return std::unexpected(absence::never);
    const bool is_left_out = is_on_excluded_date(*best) || any_exclusion([&](std::size_t exclusion) {
                               const auto& found = previous_of(exclusion, best->at + seconds(1));
                               return found && found->at == best->at;
                             });
    if (!is_left_out) return *std::move(best);
    before = best->at;
  }
  reached_ = before;
  return std::unexpected(absence::given_up);
}

std::string timetable::set_end() {
  end_ = options_.ends;
  if (options_.count == 0) return {};
  walk times(*this);
  sys_seconds last = *options_.starts - seconds(1);
  for (std::size_t i = 0; i < options_.count; ++i) {
    const auto found = times.next(last);
    if (!found && found.error() == absence::never) return {};
    if (!found) return "so much is excluded that the end of the count is not found: name an end";
    last = found->at;
  }
  end_ = last + seconds(1);
  return {};
}

std::optional<occurrence> timetable::next_of(const rule& which, sys_seconds after) const {
  const detail::rule_body& body = *which.body_;
  const auto at = [&](std::optional<sys_seconds> instant) {
    return instant && *instant >= earliest && *instant < latest ? std::optional(occurrence_at(options_.where, *instant))
                                                                : std::nullopt;
  };
  if (const auto* const every = std::get_if<every_interval>(&body.what)) return at(every->next(after));
  if (const auto* const delay = std::get_if<delay_after>(&body.what))
    return after < latest ? at(after + delay->delay) : std::nullopt;
  if (const auto* const single = std::get_if<once>(&body.what); single != nullptr && single->at.offset)
    return single->at.instant() > after ? at(single->at.instant()) : std::nullopt;
  return next_by_clock(body, options_.where, policy_of(which, options_), after);
}

std::optional<occurrence> timetable::previous_of(const rule& which, sys_seconds before) const {
  const detail::rule_body& body = *which.body_;
  const auto at = [&](std::optional<sys_seconds> instant) {
    return instant && *instant >= earliest && *instant < latest ? std::optional(occurrence_at(options_.where, *instant))
                                                                : std::nullopt;
  };
  if (const auto* const every = std::get_if<every_interval>(&body.what)) return at(every->previous(before));
  if (std::holds_alternative<delay_after>(body.what)) return std::nullopt;
  if (const auto* const single = std::get_if<once>(&body.what); single != nullptr && single->at.offset)
    return single->at.instant() < before ? at(single->at.instant()) : std::nullopt;
  return previous_by_clock(body, options_.where, policy_of(which, options_), before);
}

std::expected<occurrence, absence> timetable::next(sys_seconds after) const { return walk(*this).next(after); }

std::expected<occurrence, absence> timetable::previous(sys_seconds before) const {
  return walk(*this).previous(before);
}

std::expected<occurrence, absence> timetable::next(sys_seconds after, search_effort& effort) const {
  const std::size_t most = std::min(effort.questions, most_questions);
  walk times(*this, most);
  auto found = times.next(after);
  effort.questions -= most - times.left();
  effort.reached = times.reached();
  return found;
}

std::expected<occurrence, absence> timetable::previous(sys_seconds before, search_effort& effort) const {
  const std::size_t most = std::min(effort.questions, most_questions);
  walk times(*this, most);
  auto found = times.previous(before);
  effort.questions -= most - times.left();
  effort.reached = times.reached();
  return found;
}

namespace {

change_effect effect_of(const clock_change& change, const clock_policy& policy) noexcept {
  if (change.to() > change.from()) {
    const bool is_shifted = policy.gap == gap_policy::shift && change.to() - change.from() <= longest_shifted_gap;
    return is_shifted ? change_effect::shifted : change_effect::skipped;
  }
  return policy.overlap == overlap_policy::first  ? change_effect::first
         : policy.overlap == overlap_policy::last ? change_effect::last
                                                  : change_effect::twice;
}

/// The instants at which a local time comes, by what a change does to it: where it is skipped, that of the change.
std::pair<sys_seconds, sys_seconds> instants_of(const clock_change& change, local_seconds time) noexcept {
  const sys_seconds first(time.time_since_epoch() - change.before);
  const sys_seconds second(time.time_since_epoch() - change.after);
  switch (change.effect) {
    case change_effect::first: return {first, first};
    case change_effect::last: return {second, second};
    case change_effect::twice: return {first, second};
    default: return {change.at, change.at};
  }
}

}  // namespace

clock_change_list timetable::clock_changes(sys_seconds from, sys_seconds to, std::size_t most) const {
  clock_change_list list;
  walk times(*this);
  std::vector<local_search> searches;
  for (const rule& each : options_.rules) searches.emplace_back(*each.body_);
  const auto is_left = [&](const clock_change& change, local_seconds time) {
    const auto [first, last] = instants_of(change, time);
    if ((options_.starts && first < *options_.starts) || (end_ && last >= *end_)) return false;
    const auto is_excluded = [&](sys_seconds at) { return times.is_excluded({.at = at, .nominal = time}); };
    return !is_excluded(first) && (first == last || !is_excluded(last));
  };
  from = std::clamp(from, earliest, latest);
  to = std::clamp(to, earliest, latest);
  for (zone_period period = options_.where.period_at(from - seconds(1)); period.end < to;) {
    const zone_period after = options_.where.period_at(period.end);
    clock_change change{.at = period.end, .before = period.offset, .after = after.offset};
    const auto [begin, end] = std::minmax({change.from(), change.to()});  // values, not references
    for (change.rule = 0; change.rule < options_.rules.size(); ++change.rule) {
      const rule& each = options_.rules[change.rule];
      const auto* const fields = std::get_if<cron_fields>(&each.body_->what);
      if (fields != nullptr && !fields->has_fixed_times && fields->hours.has_all(0, 23)) continue;
      change.effect = effect_of(change, policy_of(each, options_));
      change.times = 0;
      for (auto time = searches[change.rule].next(begin);
           time && *time < end && change.times < most_times_of_a_change && times.may_go_on();
           time = searches[change.rule].next(*time + seconds(1))) {
        times.count_question();
        if (is_left(change, *time) && change.times++ == 0) change.first = *time;
      }
      list.is_cut = !times.may_go_on() || (change.times > 0 && list.changes.size() == most);
      if (list.is_cut) return list;
      if (change.times > 0) list.changes.push_back(change);
    }
    period = after;
  }
  return list;
}

std::chrono::milliseconds timetable::delay_of(std::string_view name, sys_seconds at) const noexcept {
  const auto range = static_cast<std::uint64_t>(std::chrono::milliseconds(options_.jitter).count());
  if (range == 0) return {};
  std::uint64_t sum = 14695981039346656037U;  // FNV-1a
  for (const char each : name) sum = (sum ^ static_cast<unsigned char>(each)) * 1099511628211U;
  sum = mixed(sum ^ mixed(static_cast<std::uint64_t>(at.time_since_epoch().count())));
  return std::chrono::milliseconds(static_cast<std::int64_t>(sum % range));
}

std::vector<std::string> timetable::warnings() const {
  std::vector<std::string> all;
  for (const auto* const rules : {&options_.rules, &options_.exclusions}) {
    for (const rule& each : *rules) all.insert(all.end(), each.warnings().begin(), each.warnings().end());
  }
  return all;
}

}  // namespace foliot::schedule
