#include "schedule_state.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <foliot/schedule/zone.hpp>

namespace foliot::program {

std::string key_of_occurrence(std::string_view schedule, const occurrence_name& which, std::uint64_t incarnation) {
  std::string key = key_prefix_of_occurrences(schedule) + schedule::text_of(which.at);
  if (which.ordinal != 0) key += fmt::format("+{}", which.ordinal);
  return key + fmt::format(".{:016x}", incarnation);
}

std::string key_prefix_of_occurrences(std::string_view schedule) { return std::string(schedule) + "@"; }

namespace {

using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t longest_zone_data = 64;

/// The number with the sign in its lowest bit, so that small ones stay short.
constexpr std::uint64_t folded(std::int64_t number) noexcept {
  return (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63);
}
constexpr std::int64_t unfolded(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>(number >> 1U) ^ -static_cast<std::int64_t>(number & 1U);
}

/// The longest part of a text that has so many bytes at most and does not end within a character.
std::string_view cut_to(std::string_view text, std::size_t longest) noexcept {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  return text.substr(0, longest);
}

/// Writes what code_fields() visits.
class state_writer {
 public:
  static constexpr bool reads = false;

  void number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  void within(std::int64_t value, std::int64_t /*least*/, std::int64_t /*most*/) { number(folded(value)); }
  void text(std::string_view value, std::size_t longest) {
    value = cut_to(value, longest);
    number(value.size());
    bytes_ += value;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what code_fields() visits. After what is malformed it reads zeros, and is_right() is false.
class state_reader {
 public:
  static constexpr bool reads = true;

  explicit state_reader(std::string_view bytes) noexcept : left_(bytes) {}

  [[nodiscard]] bool is_right() const noexcept { return is_right_; }
  [[nodiscard]] bool is_at_end() const noexcept { return left_.empty(); }
  void fail() noexcept {
    is_right_ = false;
    left_ = {};
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t most) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) != 0) continue;
      if ((byte == 0 && shift > 0) || value > most) break;
      return value;
    }
    fail();
    return 0;
  }
  [[nodiscard]] std::int64_t within(std::int64_t least, std::int64_t most) noexcept {
    const std::int64_t value = unfolded(number(~std::uint64_t{0}));
    if (value >= least && value <= most) return value;
    fail();
    return std::clamp(std::int64_t{0}, least, most);
  }
  void text(std::string& into, std::size_t longest) {
    const std::size_t size = number(longest);
    if (size > left_.size()) return fail();
    into = left_.substr(0, size);
    left_.remove_prefix(size);
  }

 private:
  std::string_view left_;
  bool is_right_ = true;
};

// code() writes a value, or reads it. What has fields has code_fields(), which visits them in the order of the
// encoding.

template <class Codec, std::unsigned_integral Number>
void code(Codec& by, Number& value) {
  using plain = std::remove_const_t<Number>;
  if constexpr (Codec::reads) {
    value = static_cast<plain>(by.number(std::same_as<plain, bool> ? 1 : std::numeric_limits<plain>::max()));
  } else {
    by.number(value);
  }
}

template <class Codec, class Enumeration>
void code_choice(Codec& by, Enumeration& value, std::size_t count) {
  if constexpr (Codec::reads) {
    value = static_cast<Enumeration>(by.number(count - 1));
  } else {
    by.number(static_cast<std::uint64_t>(value));
  }
}

/// A count of units since 1970, or of seconds.
template <class Codec, class Time>
void code_within(Codec& by, Time& value, std::int64_t least, std::int64_t most) {
  using plain = std::remove_const_t<Time>;
  if constexpr (Codec::reads) {
    value = plain(typename plain::duration(by.within(least, most)));
  } else {
    by.within(value.time_since_epoch().count(), least, most);
  }
}

/// A time, or a local one, may lie beyond the years by the offset of a zone.
constexpr std::int64_t least_time = (schedule::earliest - std::chrono::days(8)).time_since_epoch().count();
constexpr std::int64_t greatest_time = (schedule::latest + std::chrono::days(8)).time_since_epoch().count();

template <class Codec, class Time>
  requires std::same_as<std::remove_const_t<Time>, sys_seconds> ||
           std::same_as<std::remove_const_t<Time>, local_seconds>
void code(Codec& by, Time& value) {
  code_within(by, value, least_time, greatest_time);
}
template <class Codec, class Time>
  requires std::same_as<std::remove_const_t<Time>, jobs::utc_time>
void code(Codec& by, Time& value) {
  code_within(by, value, 1000 * least_time, 1000 * greatest_time);
}
template <class Codec, class Length>
  requires std::same_as<std::remove_const_t<Length>, seconds>
void code(Codec& by, Length& value) {
  constexpr std::int64_t most = seconds(std::chrono::days(8)).count();
  if constexpr (Codec::reads) {
    value = seconds(by.within(-most, most));
  } else {
    by.within(value.count(), -most, most);
  }
}

template <class Codec, class Text>
void code_text(Codec& by, Text& value, std::size_t longest) {
  by.text(value, longest);
}

template <class Codec, class Reason>
  requires std::same_as<std::remove_const_t<Reason>, occurrence_reason>
void code(Codec& by, Reason& value) {
  code_choice(by, value, names_of_reasons.size());
}
template <class Codec, class Outcome>
  requires std::same_as<std::remove_const_t<Outcome>, occurrence_outcome>
void code(Codec& by, Outcome& value) {
  code_choice(by, value, names_of_occurrence_outcomes.size());
}
template <class Codec, class End>
  requires std::same_as<std::remove_const_t<End>, end_reason>
void code(Codec& by, End& value) {
  code_choice(by, value, names_of_ends.size());
}
template <class Codec, class Pass>
  requires std::same_as<std::remove_const_t<Pass>, schedule::overlap_pass>
void code(Codec& by, Pass& value) {
  code_choice(by, value, 3);
}

template <class Codec, class Value>
  requires requires(Codec& by, Value& it) { code_fields(by, it); }
void code(Codec& by, Value& value) {
  code_fields(by, value);
}

template <class Codec, class Value>
void code_optional(Codec& by, Value& value) {
  bool has = value.has_value();
  code(by, has);
  if constexpr (Codec::reads) {
    if (has) value.emplace();
  }
  if (has) code(by, *value);
}

template <class Codec, class List>
void code_list(Codec& by, List& list, std::size_t most) {
  if constexpr (Codec::reads) {
    list.resize(by.number(most));
  } else {
    by.number(list.size());
  }
  for (auto& each : list) code(by, each);
}

template <class Value, class Plain>
concept is_a = std::same_as<std::remove_const_t<Value>, Plain>;

template <class Codec, is_a<occurrence_name> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.at);
  code(by, it.ordinal);
}
template <class Codec, is_a<instant_stretch> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.from);
  code(by, it.to);
}
template <class Codec, is_a<schedule_pause> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.since);
  code_optional(by, it.until);
}
template <class Codec, is_a<living_occurrence> Value>
void code_fields(Codec& by, Value& it) {
  code_fields(by, it.name);
  code_fields(by, it.key);
  code(by, it.reason);
}
template <class Codec, is_a<queued_occurrence> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.at);
  code(by, it.nominal);
  code(by, it.pass);
  code(by, it.is_shifted);
  code(by, it.reason);
}
template <class Codec, is_a<recent_occurrence> Value>
void code_fields(Codec& by, Value& it) {
  code_fields(by, it.name);
  code(by, it.reason);
  code(by, it.outcome);
  code(by, it.when);
}
template <class Codec, is_a<skip_request> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.at);
  code(by, it.nominal);
}
template <class Codec, is_a<backfill_request> Value>
void code_fields(Codec& by, Value& it) {
  code_fields(by, it.left);
  code(by, it.made);
}
template <class Codec, is_a<next_occurrence> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.at);
  code(by, it.nominal);
  code(by, it.offset);
}
template <class Codec, is_a<zone_refit> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.place);
  code(by, it.until);
  code(by, it.elapsed_to);
  code(by, it.old_offset);
  code(by, it.will_repeat);
}
template <class Codec, is_a<schedule_counters> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.decided);
  for (auto& each : it.made) code(by, each);
  for (auto& each : it.outcomes) code(by, each);
  code(by, it.not_followed);
  code(by, it.uncounted);
}

template <class Codec, is_a<schedule_state> Value>
void code_fields(Codec& by, Value& it) {
  code(by, it.incarnation);
  code(by, it.version);
  code(by, it.plan_digest);
  code(by, it.made);
  code(by, it.changed);
  code(by, it.cursor);
  code(by, it.cursor_offset);
  code(by, it.will_repeat);
  code_text(by, it.zone_data, longest_zone_data);
  code_optional(by, it.refit);
  code_optional(by, it.next);
  code_optional(by, it.delay_from);
  code_optional(by, it.wanted);
  code(by, it.counted);
  code_list(by, it.pauses, schedule_state::most_pauses);
  code_text(by, it.pause_note, schedule_state::longest_text);
  code_text(by, it.paused_by, schedule_state::longest_text);
  code_list(by, it.skips, schedule_state::most_skips);
  code_list(by, it.queue, schedule_state::most_queued);
  code_list(by, it.by_hand, schedule_state::most_by_hand);
  code(by, it.last_ordinal);
  code_list(by, it.backfills, schedule_state::most_backfills);
  code_list(by, it.holes, schedule_state::most_holes);
  code_optional(by, it.made_to);
  code_list(by, it.living, schedule_state::most_living);
  code(by, it.look_after);
  code_list(by, it.recent, schedule_state::most_recent);
  code_fields(by, it.counters);
  code_optional(by, it.last_success);
  code_optional(by, it.last_failure);
  code_optional(by, it.ended);
  code_text(by, it.refused, schedule_state::longest_text);
}

/// Whether what the planner relies on holds.
bool is_sound(const schedule_state& it) {
  const auto is_stretch = [](const instant_stretch& each) { return each.from <= each.to; };
  const auto touches = [](const instant_stretch& one, const instant_stretch& other) {
    return other.from <= one.to + seconds(1);
  };
  if (!std::ranges::all_of(it.holes, is_stretch) || std::ranges::adjacent_find(it.holes, touches) != it.holes.end())
    return false;
  if (!it.holes.empty() && it.holes.back().to > it.cursor) return false;
  for (std::size_t i = 0; i < it.pauses.size(); ++i) {
    const schedule_pause& each = it.pauses[i];
    if (!each.until ? i + 1 < it.pauses.size() : *each.until < each.since) return false;
    if (i > 0 && each.since < *it.pauses[i - 1].until) return false;
  }
  const auto by_hand = [](const occurrence_name& each) { return each.ordinal > 0; };
  return std::ranges::is_sorted(it.skips, {}, &skip_request::at) && std::ranges::all_of(it.by_hand, by_hand);
}

}  // namespace

const schedule_pause* schedule_state::pause_from(sys_seconds time) const noexcept {
  for (const schedule_pause& each : pauses) {
    if (!each.until || *each.until > time) return &each;
  }
  return nullptr;
}

schedule_standing schedule_state::standing_at(sys_seconds time) const noexcept {
  if (!refused.empty()) return schedule_standing::refused;
  const schedule_pause* const pause = pause_from(time);
  if (pause != nullptr && pause->since <= time) return schedule_standing::paused;
  return ended ? schedule_standing::ended : schedule_standing::active;
}

bool schedule_state::is_paused_at(sys_seconds time) const noexcept {
  return std::ranges::any_of(
      pauses, [&](const schedule_pause& each) { return time > each.since && (!each.until || time < *each.until); });
}

void schedule_state::tell(const recent_occurrence& what) {
  const auto same = std::ranges::find(recent, what.name, &recent_occurrence::name);
  if (same != recent.end()) {
    *same = what;
    return;
  }
  if (recent.size() == most_recent) recent.erase(recent.begin());
  recent.push_back(what);
}

std::string schedule_state::encoding() const {
  state_writer by;
  by.number(state_format);
  code_fields(by, *this);
  return by.take();
}

std::expected<schedule_state, state_error> schedule_state::parse(std::string_view encoding) {
  if (encoding.size() > longest_state) return std::unexpected(state_error::malformed);
  state_reader by(encoding);
  const std::uint64_t format = by.number(~std::uint64_t{0});
  if (by.is_right() && format > state_format) return std::unexpected(state_error::later_version);
  if (!by.is_right() || format < state_format) return std::unexpected(state_error::malformed);
  schedule_state read;
  code_fields(by, read);
  if (!by.is_right() || !by.is_at_end() || !is_sound(read)) return std::unexpected(state_error::malformed);
  return read;
}

jobs::job_fields schedule_state::history() const {
  jobs::job_fields all;
  static_cast<void>(all.set(tag_of_schedule_state, encoding()));  // it has at most longest_state bytes
  return all;
}

std::expected<std::optional<schedule_state>, state_error> schedule_state::in(const jobs::job_fields& history) {
  const auto found = history.find(tag_of_schedule_state);
  if (!found) return std::optional<schedule_state>();
  auto read = parse(*found);
  if (!read) return std::unexpected(read.error());
  return std::optional(*std::move(read));
}

}  // namespace foliot::program
