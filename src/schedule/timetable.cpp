#include <foliot/schedule/timetable.hpp>

#include <algorithm>
#include <utility>

#include "schedule/occurrences.hpp"
#include "schedule/rule_body.hpp"
#include "schedule/zone_data.hpp"

namespace foliot::schedule {

namespace {

constexpr std::size_t most_counted = 100'000;
constexpr std::size_t most_passed_over = 600'000;  // more than a year of minutes
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
  made.set_end_by_count();
  return made;
}

std::string timetable::fault() const {
  const auto is_delay = [](const rule& each) { return each.kind() == rule_kind::delay; };
  if (options_.rules.empty()) return "a timetable needs a rule: write one such as '0 9 * * MON-FRI'";
  const bool has_delay = std::ranges::any_of(options_.rules, is_delay);
  if (has_delay && (options_.rules.size() > 1 || options_.count > 0))
    return "a delay from the end of the last run ('after') is alone: leave out other rules and the count";
  if (std::ranges::any_of(options_.exclusions, is_delay))
    return "a delay from the end of the last run ('after') excludes nothing: name times that do not depend on runs";
  for (const auto& each : options_.excluded_dates) {
    if (!each.ok()) return "an excluded date does not exist: name days of the calendar";
  }
  if (options_.starts && options_.ends && *options_.ends <= *options_.starts)
    return "the end " + text_of(*options_.ends) + " is not after the start " + text_of(*options_.starts);
  if (options_.count > 0 && !options_.starts) return "a count needs a start: name from when it counts";
  if (options_.count > most_counted) return "the count is larger than 100000: name an end";
  if (options_.jitter < seconds(0) || options_.jitter > longest_jitter) return "the jitter must be 0 to 7 days";
  for (const auto* const rules : {&options_.rules, &options_.exclusions}) {
    for (const rule& each : *rules) {
      const auto* const single = std::get_if<once>(&each.body_->what);
      if (single == nullptr) continue;
      if (std::string wrong = fault_of(*single, options_.where); !wrong.empty()) return wrong;
    }
  }
  return {};
}

void timetable::set_end_by_count() {
  if (options_.count == 0) return;
  sys_seconds last = *options_.starts - seconds(1);
  for (std::size_t i = 0; i < options_.count; ++i) {
    const auto found = next(last);
    if (!found) return;
    last = found->at;
  }
  options_.ends = last + seconds(1);
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

bool timetable::is_excluded(const occurrence& one) const {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(one.nominal));
  if (std::ranges::binary_search(options_.excluded_dates, day)) return true;
  return std::ranges::any_of(options_.exclusions, [&](const rule& each) {
    const auto found = next_of(each, one.at - seconds(1));
    return found && found->at == one.at;
  });
}

std::optional<occurrence> timetable::next(sys_seconds after) const {
  const bool is_from_the_end = options_.rules.front().kind() == rule_kind::delay;
  if (options_.starts && !is_from_the_end) after = std::max(after, *options_.starts - seconds(1));
  for (std::size_t i = 0; i <= most_passed_over; ++i) {
    std::optional<occurrence> best;
    for (const rule& each : options_.rules) {
      auto found = next_of(each, after);
      if (found && is_better(*found, best)) best = std::move(found);
    }
    if (best && is_from_the_end && options_.starts && best->at < *options_.starts)
      best = occurrence_at(options_.where, *options_.starts);
    if (!best || (options_.ends && best->at >= *options_.ends)) return std::nullopt;
    if (!is_excluded(*best)) return best;
    after = best->at;
  }
  return std::nullopt;
}

std::optional<occurrence> timetable::previous(sys_seconds before) const {
  if (options_.ends) before = std::min(before, *options_.ends);
  for (std::size_t i = 0; i <= most_passed_over; ++i) {
    std::optional<occurrence> best;
    for (const rule& each : options_.rules) {
      auto found = previous_of(each, before);
      if (found && is_better_backwards(*found, best)) best = std::move(found);
    }
    if (!best || (options_.starts && best->at < *options_.starts)) return std::nullopt;
    if (!is_excluded(*best)) return best;
    before = best->at;
  }
  return std::nullopt;
}

std::vector<clock_change> timetable::clock_changes(sys_seconds from, sys_seconds to, std::size_t most) const {
  std::vector<clock_change> found;
  from = std::max(from, earliest);
  to = std::min(to, latest);
  for (zone_period period = options_.where.period_at(from - seconds(1)); period.end < to && found.size() < most;) {
    const zone_period after = options_.where.period_at(period.end);
    clock_change change{.at = period.end, .before = period.offset, .after = after.offset};
    const bool is_gap = change.to() > change.from();
    for (change.rule = 0; change.rule < options_.rules.size(); ++change.rule) {
      const rule& each = options_.rules[change.rule];
      const auto* const fields = std::get_if<cron_fields>(&each.body_->what);
      if (fields != nullptr && !fields->has_fixed_times && fields->hours.has_all(0, 23)) continue;
      const clock_policy policy = policy_of(each, options_);
      const bool is_shifted = policy.gap == gap_policy::shift && change.to() - change.from() <= longest_shifted_gap;
      change.effect = is_gap ? (is_shifted ? change_effect::shifted : change_effect::skipped)
                      : policy.overlap == overlap_policy::first ? change_effect::first
                      : policy.overlap == overlap_policy::last  ? change_effect::last
                                                                : change_effect::twice;
      change.times = 0;
      const local_seconds end = std::max(change.from(), change.to());
      for (auto time = next_local(*each.body_, std::min(change.from(), change.to()));
           time && *time < end && change.times < most_times_of_a_change;
           time = next_local(*each.body_, *time + seconds(1))) {
        if (change.times++ == 0) change.first = *time;
      }
      if (change.times > 0 && found.size() < most) found.push_back(change);
    }
    period = after;
  }
  return found;
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
