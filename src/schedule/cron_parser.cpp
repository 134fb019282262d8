// Reads the fields of cron, each of which is a list of items: a wildcard, a value, a range, with a step or without, or
// a special day.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "schedule/rule_body.hpp"

namespace foliot::schedule {

namespace {

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum class field { second, minute, hour, day, month, weekday, year };

struct field_kind {
  const char* name;
  int first, last;
};

constexpr field_kind kinds[] = {{"second", 0, 59},        {"minute", 0, 59}, {"hour", 0, 23},
                                {"day of month", 1, 31},  {"month", 1, 12},  {"day of week", 0, 7},
                                {"year", 1970, last_year}};

constexpr field all_fields[] = {field::second, field::minute,  field::hour, field::day,
                                field::month,  field::weekday, field::year};

bool is_blank(char each) noexcept { return each == ' ' || each == '\t'; }

template <std::size_t Size>
int index_of(const std::array<std::string_view, Size>& names, std::string_view name) noexcept {
  const auto same = [](char one, char other) {
    return std::tolower(static_cast<unsigned char>(one)) == static_cast<unsigned char>(other);
  };
  const auto found =
      std::ranges::find_if(names, [&](std::string_view each) { return std::ranges::equal(name, each, same); });
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

std::string range_text(int first, int last) { return std::to_string(first) + " to " + std::to_string(last); }

class cron_parser {
 public:
  cron_parser(std::string_view text, std::size_t before, dialect how, std::vector<std::string>& warnings) noexcept
      : text_(text), before_(before), how_(how), warnings_(warnings) {}

  [[nodiscard]] std::expected<cron_fields, rule_error> parse();

 private:
  struct value {
    int number = 0;
    bool is_name = false;
    std::string_view text{};
  };
  struct word {
    std::size_t at;
    std::string_view text;
  };

  // Each function that reads returns whether it could; if not, error_ says why.
  [[nodiscard]] bool parse_words();
  [[nodiscard]] bool choose_fields(std::size_t count);
  [[nodiscard]] bool parse_field(const word& read);
  [[nodiscard]] bool parse_item(std::string_view item, std::size_t at);
  [[nodiscard]] bool parse_special(std::string_view item, std::size_t at, bool& is_special);
  [[nodiscard]] bool parse_range(std::string_view item, std::size_t at, std::string_view step);
  [[nodiscard]] bool parse_value(std::string_view text, std::size_t at, value& into);
  [[nodiscard]] bool parse_step(std::string_view text, std::size_t at, int& into);
  [[nodiscard]] bool check_days();
  void note_field(std::string_view text);
  void add(int number);
  void add_range(int first, int last, int step, std::string_view item);

  bool fail(std::size_t at, std::string problem, std::string remedy) {
    error_ = {kind().name, before_ + at + 1, std::move(problem), std::move(remedy)};
    return false;
  }
  bool fail_as_a_whole(std::string problem, std::string remedy) {
    error_ = {"", 0, std::move(problem), std::move(remedy)};
    return false;
  }
  [[nodiscard]] const field_kind& kind() const noexcept { return kinds[static_cast<std::size_t>(field_)]; }
  [[nodiscard]] bool is_of_java() const noexcept { return how_ == dialect::quartz || how_ == dialect::eventbridge; }
  /// What a field may have, for a remedy.
  [[nodiscard]] std::string allowed() const;
  [[nodiscard]] number_set& numbers() noexcept;

  std::string_view text_;
  std::size_t before_;
  dialect how_;
  std::vector<std::string>& warnings_;
  std::span<const field> fields_{};
  field field_ = field::minute;
  bool has_day_mark_ = false, has_weekday_mark_ = false;  // the fields that are `?`
  std::size_t weekday_at_ = 0;
  cron_fields made_{};
  rule_error error_{};
};

std::string cron_parser::allowed() const {
  std::string text = "write " + range_text(kind().first, kind().last);
  if (field_ == field::weekday && is_of_java()) text = "write " + range_text(1, 7) + " (1 is Sunday)";
  if (field_ == field::month) text += ", or JAN to DEC";
  if (field_ == field::weekday) text += ", or SUN to SAT";
  return text;
}

number_set& cron_parser::numbers() noexcept {
  switch (field_) {
    case field::second: return made_.seconds_of_minute;
    case field::minute: return made_.minutes;
    case field::hour: return made_.hours;
    case field::day: return made_.days;
    case field::month: return made_.months;
    default: return made_.weekdays;
  }
}

bool cron_parser::choose_fields(std::size_t count) {
  const std::span<const field> all(all_fields);
  const bool has_seconds = how_ != dialect::eventbridge;
  if (how_ == dialect::vixie && count == 5) {
    fields_ = all.subspan(1, 5);
  } else if (count == 7 && how_ != dialect::eventbridge && how_ != dialect::with_seconds) {
    fields_ = all;
  } else if (count == 6 && how_ != dialect::vixie) {
    fields_ = has_seconds ? all.first(6) : all.subspan(1);
  } else {
    const std::string has = count == 1 ? "there is one field" : "there are " + std::to_string(count) + " fields";
    if (count == 6 && how_ == dialect::vixie)
      return fail_as_a_whole(has,
                             "five are minute, hour, day of month, month and day of week; six need the name of a "
                             "dialect: 'seconds' or 'quartz' has seconds in front, 'eventbridge' has years behind");
    if (how_ == dialect::vixie)
      return fail_as_a_whole(has, "write five: minute, hour, day of month, month and day of week");
    if (how_ == dialect::eventbridge)
      return fail_as_a_whole(has, "eventbridge has six: minute, hour, day of month, month, day of week and year");
    return fail_as_a_whole(has, std::string(name_of(how_)) + " has " +
                                    (how_ == dialect::quartz ? "six or seven" : "six") +
                                    ": second, minute, hour, day of month, month, day of week" +
                                    (how_ == dialect::quartz ? ", and year" : ""));
  }
  made_.has_seconds = fields_.front() == field::second;
  if (!made_.has_seconds) made_.seconds_of_minute.add(0);
  return true;
}

bool cron_parser::parse_words() {
  std::vector<word> words;
  for (std::size_t i = 0; i < text_.size();) {
    if (is_blank(text_[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text_.size() && !is_blank(text_[i])) ++i;
    words.push_back({begin, text_.substr(begin, i - begin)});
  }
  if (!choose_fields(words.size())) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    field_ = fields_[i];
    if (field_ == field::weekday) weekday_at_ = words[i].at;
    if (!parse_field(words[i])) return false;
  }
  return check_days();
}

/// Keeps what the form of a field means.
void cron_parser::note_field(std::string_view text) {
  const bool is_wildcard = text.starts_with('*') || text == "?";
  if (field_ == field::day) made_.is_every_day = is_wildcard;
  if (field_ == field::weekday) made_.is_every_weekday = is_wildcard;
  if (field_ == field::year && text != "*") made_.years.resize(last_year + 1);
  if (field_ != field::second && field_ != field::minute && field_ != field::hour) return;
  if (!is_wildcard) return;
  made_.has_fixed_times = false;
  // Alone in its item, `*` is each; else a step follows, which is the field's if no other item does.
  const bool is_each = text == "*" || text.starts_with("*,");
  int& kept = field_ == field::second   ? made_.second_step
              : field_ == field::minute ? made_.minute_step
                                        : made_.hour_step;
  kept = is_each ? 1 : text.starts_with("*/") ? read_number(text.substr(2)).value_or(0) : 0;
}

bool cron_parser::parse_field(const word& read) {
  note_field(read.text);
  if (read.text.find('?') != std::string_view::npos) {
    const std::size_t at = read.at + read.text.find('?');
    if (field_ != field::day && field_ != field::weekday) return fail(at, "'?' goes with days only", "write *");
    if (read.text != "?") return fail(at, "'?' is not alone", "write ? or *, and nothing else");
    (field_ == field::day ? has_day_mark_ : has_weekday_mark_) = true;
    add_range(kind().first, kind().last, 1, "?");
    return true;
  }
  for (std::size_t begin = 0; begin <= read.text.size();) {
    const std::size_t end = std::min(read.text.find(',', begin), read.text.size());
    if (end == begin)
      return fail(read.at + begin, "an item of the list is empty", "write a value on both sides of each comma");
    if (!parse_item(read.text.substr(begin, end - begin), read.at + begin)) return false;
    begin = end + 1;
  }
  return true;
}

bool cron_parser::parse_item(std::string_view item, std::size_t at) {
  const std::size_t slash = item.find('/');
  const std::string_view front = item.substr(0, slash);
  int step = 1;
  if (slash != std::string_view::npos && !parse_step(item.substr(slash + 1), at + slash + 1, step)) return false;
  if (front == "*") {
    add_range(kind().first, field_ == field::weekday ? 6 : kind().last, step, item);
    return true;
  }
  if (front.starts_with('*'))
    return fail(at + 1, "'" + std::string(front.substr(1)) + "' follows *",
                "behind * stands a step, such as */2, or nothing");
  bool is_special = false;
  if (!parse_special(front, at, is_special)) return false;
  if (is_special) {
    if (slash == std::string_view::npos) return true;
    return fail(at + slash, "a step follows a special day", "leave the step out");
  }
  return parse_range(front, at, slash == std::string_view::npos ? std::string_view() : item.substr(slash + 1));
}

bool cron_parser::parse_special(std::string_view item, std::size_t at, bool& is_special) {
  if (field_ != field::day && field_ != field::weekday) return true;
  const auto last = item.empty() ? '\0' : static_cast<char>(std::toupper(static_cast<unsigned char>(item.back())));
  const std::string_view front = item.substr(0, item.empty() ? 0 : item.size() - 1);
  const bool has_hyphen = item.find('-') != std::string_view::npos;
  value read;
  is_special = true;
  if (field_ == field::day && (last == 'L' || last == 'W')) {
    if (has_hyphen)
      return fail(at, std::string(1, last) + " goes with one day, not with a range", "write a list, such as 1W,15W");
    if (last == 'L' && front.empty()) return made_.special.has_last = true;
    if (last == 'W' && (front == "L" || front == "l")) return made_.special.has_last_weekday = true;
    if (last == 'L') return fail(at, "'" + std::string(item) + "' is no day", "the last day of the month is L alone");
    if (!parse_value(front, at, read)) return false;
    made_.special.nearest_weekday.add(read.number);
    return true;
  }
  const std::size_t hash = item.find('#');
  if (field_ == field::weekday && hash != std::string_view::npos) {
    if (!parse_value(item.substr(0, hash), at, read)) return false;
    const auto which = read_number(item.substr(hash + 1));
    if (!which || *which < 1 || *which > 5)
      return fail(at + hash + 1, "'" + std::string(item.substr(hash + 1)) + "' is no week of a month", "write 1 to 5");
    made_.special.nth_of_week[static_cast<std::size_t>(read.number % 7)].add(*which);
    return true;
  }
  if (field_ == field::weekday && last == 'L') {
    if (has_hyphen) return fail(at, "L goes with one weekday, not with a range", "write a list, such as MONL,TUEL");
    if (front.empty() && is_of_java()) {
      made_.weekdays.add(6);  // as Quartz reads it
      return true;
    }
    if (front.empty()) return fail(at, "L alone is no weekday", "the last Friday of the month is FRIL");
    if (!parse_value(front, at, read)) return false;
    made_.special.last_of_week.add(read.number % 7);
    return true;
  }
  is_special = false;
  return true;
}

bool cron_parser::parse_value(std::string_view text, std::size_t at, value& into) {
  const std::string quoted = "'" + std::string(text) + "'";
  if (text.empty()) return fail(at, "a value is missing", allowed());
  into.text = text;
  const int name = field_ == field::month     ? index_of(month_names, text)
                   : field_ == field::weekday ? index_of(weekday_names, text)
                                              : -1;
  if (name >= 0) {
    into.is_name = true;
    into.number = field_ == field::month ? name + 1 : name;
    return true;
  }
  const auto number = read_number(text);
  if (!number) {
    const auto first = text.find_first_not_of("0123456789");
    const std::size_t wrong = first == std::string_view::npos ? 0 : first;
    return fail(at + wrong,
                quoted + (field_ == field::month || field_ == field::weekday ? " is neither a number nor a name"
                                                                             : " is no number"),
                allowed());
  }
  const int first = field_ == field::weekday && is_of_java() ? 1 : kind().first;
  if (*number < first || *number > kind().last) {
    const bool is_midnight = field_ == field::hour && *number == 24;
    return fail(at, std::string(text) + " is not within " + range_text(first, kind().last),
                is_midnight ? "midnight is 0" : allowed());
  }
  into.number = field_ == field::weekday && is_of_java() ? *number - 1 : *number;
  return true;
}

bool cron_parser::parse_step(std::string_view text, std::size_t at, int& into) {
  const auto read = read_number(text);
  if (!read) {
    return fail(at, text.empty() ? "a step is missing" : "'" + std::string(text) + "' is no step",
                "write a whole number of at least 1");
  }
  if (*read == 0) return fail(at, "a step of 0 does not move", "write a whole number of at least 1");
  into = *read;
  return true;
}

bool cron_parser::parse_range(std::string_view item, std::size_t at, std::string_view step_text) {
  const std::size_t hyphen = item.find('-');
  value first;
  value last;
  if (!parse_value(item.substr(0, hyphen), at, first)) return false;
  int step = step_text.empty() ? 1 : *read_number(step_text);
  if (hyphen == std::string_view::npos) {
    if (step_text.empty()) {
      add(first.number);
      return true;
    }
    const std::string text(first.text);
    const int end = field_ == field::weekday ? 6 : kind().last;
    if (!is_of_java())
      return fail(at + item.size(), "a step follows a single value",
                  "write */" + std::string(step_text) + ", or a range such as " + text + "-" + std::to_string(end) +
                      "/" + std::string(step_text));
    add_range(first.number, end, step, item);
    return true;
  }
  const std::string_view behind = item.substr(hyphen + 1);
  if (behind.find('-') != std::string_view::npos)
    return fail(at + hyphen + 1 + behind.find('-'), "a range has two ends", "write first-last, such as 1-3");
  if (!parse_value(behind, at + hyphen + 1, last)) return false;
  const bool ends_with_sunday = field_ == field::weekday && last.is_name && last.number == 0 && first.number > 0;
  if (ends_with_sunday) last.number = 7;
  if (last.number < first.number) {
    std::string remedy = std::string(first.text) + "-" + std::to_string(kind().last) + "," +
                         std::to_string(kind().first) + "-" + std::string(last.text);
    if (field_ == field::weekday)
      remedy = last.number == 0 && !is_of_java() ? std::string(first.text) + "-7"
                                                 : std::string(first.text) + "-SUN, and the rest behind a comma";
    return fail(at, "the range " + std::string(item) + " runs backwards", "write " + remedy);
  }
  add_range(first.number, last.number, step, item);
  return true;
}

void cron_parser::add(int number) {
  if (field_ != field::year)
    numbers().add(field_ == field::weekday ? number % 7 : number);
  else if (!made_.years.empty())
    made_.years[static_cast<std::size_t>(number)] = true;
}

void cron_parser::add_range(int first, int last, int step, std::string_view item) {
  for (std::int64_t number = first; number <= last; number += step) add(static_cast<int>(number));
  if (last > first && step > last - first && field_ != field::year)
    warnings_.push_back(std::string(kind().name) + ": the step of '" + std::string(item) + "' is so large that " +
                        std::to_string(first) + " alone is left");
}

bool cron_parser::check_days() {
  if (!is_of_java() || has_day_mark_ != has_weekday_mark_) return true;
  field_ = field::weekday;
  return fail(weekday_at_, has_day_mark_ ? "both fields of days are '?'" : "neither field of days is '?'",
              std::string(name_of(how_)) + " has one of them, for the field that does not matter");
}

std::expected<cron_fields, rule_error> cron_parser::parse() {
  if (!parse_words()) return std::unexpected(std::move(error_));
  return made_;
}

}  // namespace

int weekday_named(std::string_view name) noexcept { return index_of(weekday_names, name); }

std::expected<cron_fields, rule_error> parse_cron(std::string_view text, std::size_t before, dialect how,
                                                  std::vector<std::string>& warnings) {
  return cron_parser(text, before, how, warnings).parse();
}

}  // namespace foliot::schedule
