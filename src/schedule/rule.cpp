#include <foliot/schedule/rule.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include <foliot/schedule/timetable.hpp>

#include "schedule/rule_body.hpp"

namespace foliot::schedule {

namespace {

using detail::rule_body;
using std::chrono::days;

constexpr std::size_t longest_text = 1000;
constexpr seconds longest_interval = days(366 * 100);
constexpr int most_weeks = 5200;
constexpr std::size_t most_times = 100;

constexpr std::pair<dialect, std::string_view> dialect_names[] = {{dialect::vixie, "vixie"},
                                                                  {dialect::with_seconds, "seconds"},
                                                                  {dialect::quartz, "quartz"},
                                                                  {dialect::eventbridge, "eventbridge"}};

constexpr std::pair<std::string_view, std::string_view> nicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

std::string_view without_blanks(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// Monday of the week that has the day.
local_days monday_of(local_days day) noexcept { return day - (std::chrono::weekday(day) - std::chrono::Monday); }

constexpr const char* beyond_years = " is not within the years 1 to 9999";
constexpr const char* name_another = "name an instant within them";

bool is_a_time(sys_seconds at) noexcept { return at >= earliest && at <= latest; }

/// Reads one rule.
class rule_parser {
 public:
  rule_parser(std::string_view text, const rule_options& how) : text_(text), how_(how) {}

  [[nodiscard]] std::expected<rule_body, rule_error> parse();

 private:
  using outcome = std::optional<rule_error>;

  [[nodiscard]] outcome parse_nickname(std::string_view name);
  [[nodiscard]] outcome parse_every(std::string_view rest);
  [[nodiscard]] outcome parse_weeks(std::string_view count, std::string_view rest);
  [[nodiscard]] outcome parse_once(std::string_view rest);
  [[nodiscard]] outcome parse_delay(std::string_view rest);
  [[nodiscard]] outcome parse_cron_fields(std::string_view text);
  [[nodiscard]] outcome add_weekdays(every_weeks& made, std::string_view list) const;
  [[nodiscard]] outcome add_times(every_weeks& made, std::string_view list) const;
  [[nodiscard]] outcome check_interval(std::string_view text, std::optional<seconds> read) const;

  /// Takes the next word, which ends at a blank.
  [[nodiscard]] static std::string_view take_word(std::string_view& rest) noexcept {
    rest = without_blanks(rest);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest = without_blanks(rest.substr(word.size()));
    return word;
  }
  /// A part of text_, for its place.
  [[nodiscard]] rule_error fault(std::string_view at, std::string problem, std::string remedy) const {
    return {"", static_cast<std::size_t>(at.data() - text_.data()) + 1, std::move(problem), std::move(remedy)};
  }
  [[nodiscard]] static std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

  std::string_view text_;
  const rule_options& how_;
  rule_body made_{};
};

std::expected<rule_body, rule_error> rule_parser::parse() {
  made_.text = text_;
  const std::string_view all = without_blanks(text_);
  if (all.empty())
    return std::unexpected(rule_error{"", 0, "the rule is empty", "write one such as '0 9 * * MON-FRI'"});
  if (text_.size() > longest_text)
    return std::unexpected(rule_error{"", 0, "the rule has more than 1000 characters", "divide it into several"});
  const auto odd = std::ranges::find_if(text_, [](char each) { return (each < ' ' && each != '\t') || each > '~'; });
  if (odd != text_.end())
    return std::unexpected(rule_error{"", static_cast<std::size_t>(odd - text_.begin()) + 1,
                                      "there is a character that is not printable ASCII", "leave it out"});
  std::string_view rest = all;
  const std::string_view first = take_word(rest);
  outcome wrong = first.starts_with('@') ? parse_nickname(all)
                  : first == "every"     ? parse_every(rest)
                  : first == "once"      ? parse_once(rest)
                  : first == "after"     ? parse_delay(rest)
                                         : parse_cron_fields(all);
  if (wrong) return std::unexpected(*std::move(wrong));
  return std::move(made_);
}

rule_parser::outcome rule_parser::parse_nickname(std::string_view name) {
  std::string lower(name);
  for (char& each : lower) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  for (const auto& [nickname, fields] : nicknames) {
    if (nickname != lower) continue;
    if (name != nickname) return fault(name, quoted(name) + " is not in lower case", "write " + std::string(nickname));
    made_.what = *parse_cron(fields, 0, dialect::vixie, made_.warnings);
    return std::nullopt;
  }
  if (lower == "@reboot") return fault(name, "a schedule does not know when a machine starts", "name a time");
  if (lower.starts_with("@every")) return fault(name, quoted(name) + " has an @", "write 'every', and an interval");
  return fault(name, "there is no " + quoted(name), "write @yearly, @monthly, @weekly, @daily or @hourly");
}

rule_parser::outcome rule_parser::check_interval(std::string_view text, std::optional<seconds> read) const {
  if (text.empty()) return fault(text, "the interval is missing", "write one such as 4h or 1h30m");
  if (!read)
    return fault(text, quoted(text) + " is no interval of whole seconds", "write one such as 4h, 1h30m or 90s");
  const seconds shortest = std::max(how_.shortest_interval, seconds(1));
  if (*read < shortest)
    return fault(text, quoted(text) + " is too short", "the shortest interval is " + length_text(shortest));
  if (*read > longest_interval) return fault(text, quoted(text) + " is too long", "the longest interval is 36600d");
  return std::nullopt;
}

rule_parser::outcome rule_parser::parse_every(std::string_view rest) {
  const std::string_view interval = take_word(rest);
  const std::string_view behind = rest.substr(0, rest.find_first_of(" \t"));
  if (interval == "week" || interval == "weeks") return parse_weeks("1", rest);
  if (behind == "week" || behind == "weeks") {
    static_cast<void>(take_word(rest));
    return parse_weeks(interval, rest);
  }
  const auto length = read_length(interval);
  if (outcome wrong = check_interval(interval, length)) return wrong;
  every_interval made{*length, how_.anchor};
  if (!rest.empty()) {
    const std::string_view from = take_word(rest);
    if (from != "from")
      return fault(from, quoted(from) + " follows the interval", "write 'from' and an instant, or nothing");
    const auto anchor = read_time(rest);
    if (!anchor || !anchor->offset)
      return fault(rest, quoted(rest) + " is no instant", "write one such as 2026-02-01T23:40:00Z");
    made.anchor = anchor->instant();
    if (!is_a_time(made.anchor)) return fault(rest, quoted(rest) + beyond_years, name_another);
  } else if (!is_a_time(made.anchor)) {
    return rule_error{"", 0, "the instant from which 'every' counts" + std::string(beyond_years), name_another};
  }
  made_.what = made;
  return std::nullopt;
}

rule_parser::outcome rule_parser::add_weekdays(every_weeks& made, std::string_view list) const {
  while (true) {
    const std::string_view name = list.substr(0, list.find(','));
    const int weekday = weekday_named(name);
    if (weekday < 0) return fault(name, quoted(name) + " is no weekday", "write some of SUN to SAT, such as MON,THU");
    made.weekdays.add(weekday);
    if (name.size() == list.size()) return std::nullopt;
    list.remove_prefix(name.size() + 1);
  }
}

rule_parser::outcome rule_parser::add_times(every_weeks& made, std::string_view list) const {
  while (true) {
    const std::string_view text = list.substr(0, list.find(','));
    const auto time = read_time_of_day(text);
    if (!time) return fault(text, quoted(text) + " is no time of day", "write one such as 09:00");
    if (made.times.size() == most_times) return fault(text, "there are more than 100 times", "leave some out");
    made.times.push_back(*time);
    if (text.size() == list.size()) break;
    list.remove_prefix(text.size() + 1);
  }
  std::ranges::sort(made.times);
  made.times.erase(std::ranges::unique(made.times).begin(), made.times.end());
  return std::nullopt;
}

rule_parser::outcome rule_parser::parse_weeks(std::string_view count, std::string_view rest) {
  constexpr const char* form = "write 'every 2 weeks on MON,THU at 09:00 from 2026-01-05'";
  const auto interval = read_number(count);
  if (!interval || *interval < 1 || *interval > most_weeks)
    return fault(count, quoted(count) + " is no number of weeks", "write 1 to 5200");
  every_weeks made;
  made.interval = *interval;
  for (const std::string_view wanted : {"on", "at", "from"}) {
    const std::string_view word = take_word(rest);
    if (word != wanted)
      return fault(word,
                   word.empty() ? "'" + std::string(wanted) + "' is missing"
                                : quoted(word) + " stands where '" + std::string(wanted) + "' belongs",
                   form);
    const std::string_view argument = take_word(rest);
    outcome wrong;
    if (wanted == "on") wrong = add_weekdays(made, argument);
    if (wanted == "at") wrong = add_times(made, argument);
    if (wanted == "from") {
      const auto date = read_date(argument);
      if (!date) return fault(argument, quoted(argument) + " is no date", "write one such as 2026-01-05");
      made.first = local_days(*date);
    }
    if (wrong) return wrong;
  }
  if (!rest.empty()) return fault(rest, quoted(rest) + " follows the date", form);
  made_.what = std::move(made);
  return std::nullopt;
}

rule_parser::outcome rule_parser::parse_once(std::string_view rest) {
  const auto at = read_time(rest);
  if (!at)
    return fault(rest, quoted(rest) + " is no time", "write one such as 2026-10-25T02:30, or with +02:00 behind it");
  if (at->offset && !is_a_time(at->instant())) return fault(rest, quoted(rest) + beyond_years, name_another);
  made_.what = once{*at};
  return std::nullopt;
}

rule_parser::outcome rule_parser::parse_delay(std::string_view rest) {
  const auto length = read_length(rest);
  if (outcome wrong = check_interval(rest, length)) return wrong;
  made_.what = delay_after{*length};
  return std::nullopt;
}

rule_parser::outcome rule_parser::parse_cron_fields(std::string_view text) {
  auto read = parse_cron(text, static_cast<std::size_t>(text.data() - text_.data()), how_.cron, made_.warnings);
  if (!read) return std::move(read.error());
  made_.what = *read;
  return std::nullopt;
}

}  // namespace

std::string_view name_of(dialect which) noexcept {
  for (const auto& [each, name] : dialect_names) {
    if (each == which) return name;
  }
  return {};
}

std::optional<dialect> dialect_named(std::string_view name) noexcept {
  for (const auto& [each, its_name] : dialect_names) {
    if (its_name == name) return each;
  }
  return std::nullopt;
}

std::string rule_error::message() const {
  std::string text = field;
  if (position > 0) text += (text.empty() ? "character " : ", character ") + std::to_string(position);
  if (!text.empty()) text += ": ";
  return text + problem + (remedy.empty() ? "" : ": " + remedy);
}

std::optional<seconds> read_length(std::string_view text) noexcept {
  constexpr std::pair<char, int> units[] = {{'w', 604'800}, {'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}};
  if (text.empty()) return std::nullopt;
  seconds length{};
  const auto* unit = std::begin(units);
  while (!text.empty()) {
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = read_number(text.substr(0, size));
    if (!number || size == text.size()) return std::nullopt;
    unit = std::find_if(unit, std::end(units), [&](const auto& each) { return each.first == text[size]; });
    if (unit == std::end(units)) return std::nullopt;
    length += seconds(std::int64_t{*number} * unit->second);
    ++unit;  // each unit once, the longest first
    text.remove_prefix(size + 1);
  }
  return length;
}

std::optional<sys_seconds> every_interval::next(sys_seconds after) const noexcept {
  const sys_seconds found = after < anchor ? anchor : anchor + ((after - anchor) / interval + 1) * interval;
  return found < latest ? std::optional(found) : std::nullopt;
}

std::optional<sys_seconds> every_interval::previous(sys_seconds before) const noexcept {
  if (before <= anchor) return std::nullopt;
  const sys_seconds found = anchor + ((before - anchor - seconds(1)) / interval) * interval;
  return found >= earliest ? std::optional(found) : std::nullopt;
}

bool every_weeks::has_day(local_days day) const noexcept {
  if (day < first || !weekdays.has(static_cast<int>(std::chrono::weekday(day).c_encoding()))) return false;
  return (monday_of(day) - monday_of(first)).count() / 7 % interval == 0;
}

std::optional<local_seconds> every_weeks::next(local_seconds from) const {
  from = std::max(from, local_seconds(first));
  local_days day = std::chrono::floor<days>(from);
  // A week that does not count is passed over as a whole.
  while (day < std::chrono::floor<days>(local_seconds(latest.time_since_epoch()))) {
    const auto week = (monday_of(day) - monday_of(first)).count() / 7;
    if (week % interval != 0) {
      day = monday_of(day) + days(7 * (interval - week % interval));
      continue;
    }
    if (has_day(day)) {
      const auto time = std::ranges::lower_bound(times, from - day);
      if (time != times.end()) return day + *time;
    }
    day += days(1);
  }
  return std::nullopt;
}

std::optional<local_seconds> every_weeks::previous(local_seconds from) const {
  local_days day = std::chrono::floor<days>(from);
  while (day >= first) {
    const auto week = (monday_of(day) - monday_of(first)).count() / 7;
    if (week % interval != 0) {
      day = monday_of(day) - days(7 * (week % interval) - 6);
      continue;
    }
    if (has_day(day)) {
      const auto time = std::ranges::upper_bound(times, from - day);
      if (time != times.begin()) return day + *std::prev(time);
    }
    day -= days(1);
  }
  return std::nullopt;
}

rule::rule(std::shared_ptr<const rule_body> body) noexcept : body_(std::move(body)) {}

std::expected<rule, rule_error> rule::parse(std::string_view text, const rule_options& how) {
  auto read = rule_parser(text, how).parse();
  if (!read) return std::unexpected(std::move(read.error()));
  return rule(std::make_shared<const rule_body>(*std::move(read)));
}

const std::string& rule::text() const noexcept { return body_->text; }
const std::vector<std::string>& rule::warnings() const noexcept { return body_->warnings; }
std::string rule::words() const { return words_of(*body_); }

rule_kind rule::kind() const noexcept {
  constexpr std::array kinds{rule_kind::cron, rule_kind::every, rule_kind::weeks, rule_kind::once, rule_kind::delay};
  return kinds[body_->what.index()];
}

bool rule::has_fixed_times() const noexcept {
  if (const auto* const fields = std::get_if<cron_fields>(&body_->what)) return fields->has_fixed_times;
  if (const auto* const single = std::get_if<once>(&body_->what)) return !single->at.offset;
  return std::holds_alternative<every_weeks>(body_->what);
}

}  // namespace foliot::schedule
