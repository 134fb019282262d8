#include "schedule/occurrences.hpp"

#include <algorithm>
#include <utility>

#include "schedule/zone_data.hpp"

namespace foliot::schedule {

namespace {

using detail::rule_body;

constexpr seconds longest_search = std::chrono::days(146'097 + 366);  // the calendar repeats itself after 146,097 days

local_seconds local_at(sys_seconds at, seconds offset) noexcept {
  return local_seconds(at.time_since_epoch() + offset);
}
sys_seconds instant_at(local_seconds time, seconds offset) noexcept {
  return sys_seconds(time.time_since_epoch() - offset);
}

/// A period with its neighbours, and which local times of the rule it has.
class period_view {
 public:
  period_view(const zone& where, clock_policy policy, sys_seconds at)
      : where_(where), policy_(policy), here_(where.period_at(at)) {
    look_around();
  }

  void advance() {
    before_ = std::exchange(here_, std::move(after_));
    has_before_ = true;
    look_ahead();
  }
  void retreat() {
    after_ = std::exchange(here_, std::move(before_));
    has_after_ = true;
    look_back();
  }

  [[nodiscard]] const zone_period& here() const noexcept { return here_; }
  [[nodiscard]] bool has_before() const noexcept { return has_before_; }
  [[nodiscard]] bool has_after() const noexcept { return has_after_; }
  /// What the clock shows at the beginning, and what it shows in the place of that without the change.
  [[nodiscard]] local_seconds begin() const noexcept { return local_at(here_.begin, here_.offset); }
  [[nodiscard]] local_seconds end_of_before() const noexcept {
    return has_before_ ? local_at(here_.begin, before_.offset) : begin();
  }
  [[nodiscard]] local_seconds end() const noexcept { return local_at(here_.end, here_.offset); }
  [[nodiscard]] local_seconds begin_of_after() const noexcept {
    return has_after_ ? local_at(here_.end, after_.offset) : end();
  }

  /// Whether the period has, at its first instant, what the gap before it left out.
  [[nodiscard]] bool takes_gap() const noexcept {
    const seconds gap = begin() - end_of_before();
    return policy_.gap == gap_policy::shift && gap > seconds(0) && gap <= longest_shifted_gap;
  }
  /// The first local time that the period has.
  [[nodiscard]] local_seconds lower() const noexcept {
    return policy_.overlap == overlap_policy::first ? std::max(begin(), end_of_before()) : begin();
  }
  /// The first local time that it no longer has.
  [[nodiscard]] local_seconds upper() const noexcept {
    return policy_.overlap == overlap_policy::last ? std::min(end(), begin_of_after()) : end();
  }

  [[nodiscard]] occurrence regular(local_seconds time) const {
    occurrence made{.at = instant_at(time, here_.offset),
                    .nominal = time,
                    .offset = here_.offset,
                    .abbreviation = here_.abbreviation};
    if (time < end_of_before())
      made.pass = overlap_pass::second;
    else if (time >= begin_of_after())
      made.pass = overlap_pass::first;
    return made;
  }
  [[nodiscard]] occurrence shifted(local_seconds time) const {
    return {.at = here_.begin,
            .nominal = time,
            .offset = here_.offset,
            .abbreviation = here_.abbreviation,
            .is_shifted = true};
  }

 private:
  void look_around() {
    look_back();
    look_ahead();
  }
  void look_back() {
    has_before_ = here_.begin > first_instant;
    if (has_before_) before_ = where_.period_at(here_.begin - seconds(1));
  }
  void look_ahead() {
    has_after_ = here_.end < last_instant;
    if (has_after_) after_ = where_.period_at(here_.end);
  }

  const zone& where_;
  const clock_policy policy_;
  zone_period here_;
  zone_period before_{}, after_{};
  bool has_before_ = false, has_after_ = false;
};

bool is_in_range(const occurrence& one) noexcept { return one.at >= earliest && one.at < latest; }

}  // namespace

clock_policy policy_of(const rule& which, const timetable_options& options) noexcept {
  if (!which.has_fixed_times()) return {};
  const bool is_twice = options.overlap == overlap_policy::both;
  return {options.gap, is_twice && which.kind() == rule_kind::once ? overlap_policy::first : options.overlap};
}

std::optional<local_seconds> next_local(const rule_body& body, local_seconds from) {
  if (const auto* const fields = std::get_if<cron_fields>(&body.what)) return fields->next(from);
  if (const auto* const weeks = std::get_if<every_weeks>(&body.what)) return weeks->next(from);
  const auto* const single = std::get_if<once>(&body.what);
  return single != nullptr && single->at.local >= from ? std::optional(single->at.local) : std::nullopt;
}

std::optional<local_seconds> previous_local(const rule_body& body, local_seconds from) {
  if (const auto* const fields = std::get_if<cron_fields>(&body.what)) return fields->previous(from);
  if (const auto* const weeks = std::get_if<every_weeks>(&body.what)) return weeks->previous(from);
  const auto* const single = std::get_if<once>(&body.what);
  return single != nullptr && single->at.local <= from ? std::optional(single->at.local) : std::nullopt;
}

occurrence occurrence_at(const zone& where, sys_seconds at) {
  zone_period period = where.period_at(at);
  occurrence made{
      .at = at, .nominal = local_at(at, period.offset), .offset = period.offset, .abbreviation = period.abbreviation};
  made.pass = period_view(where, {}, at).regular(made.nominal).pass;
  return made;
}

std::optional<occurrence> next_by_clock(const rule_body& body, const zone& where, clock_policy policy,
                                        sys_seconds after) {
  if (after >= latest) return std::nullopt;
  after = std::max(after, earliest - seconds(1));
  local_search search(body);
  const sys_seconds end = std::min(latest, after + longest_search);
  for (period_view period(where, policy, after + seconds(1));; period.advance()) {
    const sys_seconds first = std::max(period.here().begin, after + seconds(1));
    if (period.takes_gap() && first == period.here().begin) {
      const auto left_out = search.next(period.end_of_before());
      if (left_out && *left_out < period.begin()) {
        const auto regular = search.next(period.begin());
        if (regular && *regular == period.begin()) return period.regular(*regular);
        return period.shifted(*left_out);
      }
    }
    const auto time = search.next(std::max(period.lower(), local_at(first, period.here().offset)));
    if (time && *time < period.upper()) {
      const occurrence found = period.regular(*time);
      return is_in_range(found) ? std::optional(found) : std::nullopt;
    }
    if (!period.has_after() || period.here().end > end) return std::nullopt;
    // What an overlap shows once more is earlier than what was asked for so far.
    if (!time && !search.next(std::min(period.begin_of_after(), period.end()))) return std::nullopt;
  }
}

std::optional<occurrence> previous_by_clock(const rule_body& body, const zone& where, clock_policy policy,
                                            sys_seconds before) {
  if (before <= earliest) return std::nullopt;
  before = std::min(before, latest);
  local_search search(body);
  const sys_seconds end = std::max(earliest, before - longest_search);
  for (period_view period(where, policy, before - seconds(1));; period.retreat()) {
    const sys_seconds last = std::min(period.here().end, before) - seconds(1);
    const auto time = search.previous(std::min(period.upper() - seconds(1), local_at(last, period.here().offset)));
    if (time && *time >= period.lower()) {
      const occurrence found = period.regular(*time);
      return is_in_range(found) ? std::optional(found) : std::nullopt;
    }
    if (period.takes_gap()) {
      const auto left_out = next_local(body, period.end_of_before());
      if (left_out && *left_out < period.begin()) return period.shifted(*left_out);
    }
    if (!period.has_before() || period.here().begin <= end) return std::nullopt;
    if (!time && !search.previous(std::max(period.begin(), period.end_of_before()))) return std::nullopt;
  }
}

}  // namespace foliot::schedule
