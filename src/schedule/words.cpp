// Rules and timetables as English sentences.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <foliot/schedule/timetable.hpp>

#include "schedule/rule_body.hpp"

namespace foliot::schedule {

namespace {

constexpr std::array<const char*, 7> weekday_words{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 13> month_words{"",        "January",  "February", "March",  "April",
                                                  "May",     "June",     "July",     "August", "September",
                                                  "October", "November", "December"};
constexpr std::array<const char*, 6> nth_words{"", "first", "second", "third", "fourth", "fifth"};

/// So many times of day are listed, and not described.
constexpr int most_listed_times = 8;

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& parts, const char* last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? last : ", ";
    text += parts[i];
  }
  return text;
}

/// The numbers, where three or more in a row are "first to last".
template <typename Name>
std::vector<std::string> runs_of(const number_set& set, Name name) {
  std::vector<std::string> parts;
  for (int first = set.at_or_after(0); first >= 0;) {
    int last = first;
    while (last < 63 && set.has(last + 1)) ++last;
    if (last - first >= 2) {
      parts.push_back(name(first) + " to " + name(last));
    } else {
      for (int each = first; each <= last; ++each) parts.push_back(name(each));
    }
    first = set.at_or_after(last + 1);
  }
  return parts;
}

std::string number_word(int number) { return std::to_string(number); }
std::string month_word(int number) { return month_words[static_cast<std::size_t>(number)]; }

/// Monday first: Sunday is the last day of a week.
std::string weekday_word(int number) { return weekday_words[static_cast<std::size_t>(number % 7)]; }
number_set from_monday(const number_set& set) {
  number_set shifted;
  for (int day = 0; day < 7; ++day) {
    if (set.has(day)) shifted.add(day == 0 ? 7 : day);
  }
  return shifted;
}

std::string counted(std::int64_t count, const char* unit) {
  return count == 1 ? std::string(unit) : std::to_string(count) + " " + unit + "s";
}

/// Whether a field with this step is due again and again after the same time.
bool is_cycle(int step, int length) noexcept { return step >= 1 && step < length && length % step == 0; }

/// "every 15 minutes", "every minute", or "at minutes 0 and 40"; of the given field.
std::string cycle_words(const number_set& set, int step, int length, const char* unit) {
  if (is_cycle(step, length)) return "every " + counted(step, unit);
  const bool is_one = set.size() == 1;
  return std::string("at ") + unit + (is_one ? " " : "s ") + joined(runs_of(set, number_word));
}

std::string listed_times(const cron_fields& fields) {
  std::vector<std::string> times;
  for (int hour = fields.hours.at_or_after(0); hour >= 0; hour = fields.hours.at_or_after(hour + 1)) {
    for (int minute = fields.minutes.at_or_after(0); minute >= 0; minute = fields.minutes.at_or_after(minute + 1)) {
      for (int second = fields.seconds_of_minute.at_or_after(0); second >= 0;
           second = fields.seconds_of_minute.at_or_after(second + 1))
        times.push_back(time_of_day_text(seconds(3600 * hour + 60 * minute + second)));
    }
  }
  return "at " + joined(times);
}

/// "at 09:00", "every 15 minutes of the hours 9 to 17".
std::string time_words(const cron_fields& fields) {
  const int count = fields.hours.size() * fields.minutes.size() * fields.seconds_of_minute.size();
  if (count <= most_listed_times && fields.has_fixed_times) return listed_times(fields);
  const bool is_each_hour = fields.hours.has_all(0, 23);
  const bool is_at_zero = fields.seconds_of_minute.size() == 1 && fields.seconds_of_minute.has(0);
  const bool has_one_minute = fields.minutes.size() == 1 && fields.minutes.has(0);
  if (is_at_zero && is_each_hour && has_one_minute) return "every hour, on the hour";
  std::string text;
  if (!is_at_zero) text = cycle_words(fields.seconds_of_minute, fields.second_step, 60, "second");
  // Every 5 seconds of every minute are every 5 seconds.
  const bool says_minutes = is_at_zero || fields.minute_step != 1 || !is_cycle(fields.second_step, 60);
  if (says_minutes) text += (text.empty() ? "" : ", ") + cycle_words(fields.minutes, fields.minute_step, 60, "minute");
  if (is_each_hour) return text + (says_minutes && !is_cycle(fields.minute_step, 60) ? " of every hour" : "");
  if (is_cycle(fields.hour_step, 24))
    return text + " of every " + std::to_string(fields.hour_step) +
           (fields.hour_step == 2   ? "nd"
            : fields.hour_step == 3 ? "rd"
                                    : "th") +
           " hour from 0 on";
  const bool is_one_hour = fields.hours.size() == 1;
  return text + " of the hour" + (is_one_hour ? " " : "s ") + joined(runs_of(fields.hours, number_word));
}

std::string day_words(const cron_fields& fields) {
  std::vector<std::string> parts;
  if (!fields.days.empty())
    parts.push_back((fields.days.size() == 1 ? "day " : "days ") + joined(runs_of(fields.days, number_word)) +
                    " of the month");
  const special_days& special = fields.special;
  if (special.has_last) parts.emplace_back("the last day of the month");
  if (special.has_last_weekday) parts.emplace_back("the last of Monday to Friday in the month");
  if (!special.nearest_weekday.empty())
    parts.push_back("the day of Monday to Friday that is nearest to day " +
                    joined(runs_of(special.nearest_weekday, number_word), " or "));
  return joined(parts);
}

std::string weekday_words_of(const cron_fields& fields) {
  std::vector<std::string> parts = runs_of(from_monday(fields.weekdays), weekday_word);
  for (int day = 0; day < 7; ++day) {
    const std::string name = weekday_word(day);
    for (int which = 1; which <= 5; ++which) {
      if (fields.special.nth_of_week[static_cast<std::size_t>(day)].has(which))
        parts.push_back(std::string("the ") + nth_words[static_cast<std::size_t>(which)] + " " + name +
                        " of the month");
    }
    if (fields.special.last_of_week.has(day)) parts.push_back("the last " + name + " of the month");
  }
  return joined(parts);
}

std::string year_words(const cron_fields& fields) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < fields.years.size();) {
    if (!fields.years[first]) {
      ++first;
      continue;
    }
    std::size_t last = first;
    while (last + 1 < fields.years.size() && fields.years[last + 1]) ++last;
    if (parts.size() == most_listed_times) return joined(parts, ", ") + " and so on";
    parts.push_back(std::to_string(first) + (last > first ? " to " + std::to_string(last) : ""));
    first = last + 1;
  }
  return joined(parts);
}

std::string cron_words(const cron_fields& fields) {
  std::string text = time_words(fields);
  const bool is_any_day = fields.has_each_day_of_month();
  const bool is_any_weekday = fields.has_each_weekday();
  const bool must_fit_both = fields.is_every_day || fields.is_every_weekday;
  if (must_fit_both) {
    if (!is_any_day) text += " on " + day_words(fields);
    if (!is_any_weekday) text += (is_any_day ? " on " : " if that is ") + weekday_words_of(fields);
    if (is_any_day && is_any_weekday && fields.has_fixed_times) text += " every day";
  } else if (is_any_day || is_any_weekday) {
    text += " every day, since either field of days suffices and " +
            std::string(is_any_day ? "the first" : "the second") + " has all";
  } else {
    text += " on " + day_words(fields) + " or on " + weekday_words_of(fields) + " (one of them suffices)";
  }
  if (!fields.months.has_all(1, 12)) text += " in " + joined(runs_of(fields.months, month_word));
  if (!fields.years.empty()) text += ", in " + year_words(fields);
  return text;
}

std::string words_of_times(const std::vector<seconds>& times) {
  std::vector<std::string> parts;
  for (const seconds each : times) parts.push_back(time_of_day_text(each));
  return "at " + joined(parts);
}

std::string interval_words(seconds length) {
  constexpr std::int64_t day = 86'400;
  if (length.count() % day != 0) return length_text(length);
  return counted(length.count() / day, "day") + " of 24 h";
}

struct words_maker {
  std::string operator()(const cron_fields& fields) const { return cron_words(fields); }
  std::string operator()(const every_interval& every) const {
    return "every " + interval_words(every.interval) + " of elapsed time, counted from " + text_of(every.anchor);
  }
  std::string operator()(const every_weeks& weeks) const {
    return words_of_times(weeks.times) + " on " + joined(runs_of(from_monday(weeks.weekdays), weekday_word)) +
           " of every " + counted(weeks.interval, "week") + ", counted from the week of " +
           date_text(std::chrono::year_month_day(weeks.first));
  }
  std::string operator()(const once& single) const {
    return single.at.offset ? "once, at " + text_of(single.at.instant())
                            : "once, when the clock shows " + text_of(single.at.local);
  }
  std::string operator()(const delay_after& delay) const {
    return interval_words(delay.delay) + " after the end of the last run";
  }
};

std::string begun_with_capital(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// For a part of a sentence that is not its beginning.
std::string begun_small(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

std::string words_of_exclusions(const timetable_options& options) {
  std::vector<std::string> parts;
  for (const auto& each : options.excluded_dates) {
    if (parts.size() == most_listed_times) {
      parts.push_back(std::to_string(options.excluded_dates.size() - parts.size()) + " more dates");
      break;
    }
    parts.push_back("on " + date_text(each));
  }
  for (const rule& each : options.exclusions) parts.push_back(begun_small(each.words()));
  return joined(parts);
}

}  // namespace

std::string words_of(const detail::rule_body& body) { return begun_with_capital(std::visit(words_maker(), body.what)); }

std::string timetable::words() const {
  std::string text;
  for (const rule& each : options_.rules)
    text += text.empty() ? words_of(*each.body_) : "; also " + begun_small(words_of(*each.body_));
  text += ", by the clock of " + options_.where.name();
  if (options_.starts) text += ", from " + text_of(*options_.starts) + " on";
  if (options_.ends) text += ", before " + text_of(*options_.ends);
  if (options_.count > 0)
    text += ", at most " + (options_.count == 1 ? "once" : std::to_string(options_.count) + " times");
  if (const std::string excluded = words_of_exclusions(options_); !excluded.empty()) text += ", but not " + excluded;
  if (options_.jitter > seconds(0)) text += ", each delayed by less than " + length_text(options_.jitter);
  return text + ".";
}

}  // namespace foliot::schedule
