// One input of the fuzzer of rules: its first letter says what its rest is.
//
//   v s q e  a rule, in the dialect with this first letter: what is read has words, the same text is read again, and
//   its times
//            are neighbours forwards and backwards, in a zone whose clock changes; what is not read is told with a
//            place in it
//   z        the file of a time zone: it is refused, or its periods have the times that they are found by
//
// Aborts at the first thing that is not so.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/schedule.hpp>

namespace foliot::schedule {

/// What is fuzzed; a canary replaces it.
struct sound_timetable {
  static std::expected<occurrence, absence> next(const timetable& table, std::chrono::sys_seconds after) {
    return table.next(after);
  }
  static std::expected<occurrence, absence> previous(const timetable& table, std::chrono::sys_seconds before) {
    return table.previous(before);
  }
};

inline void expect(bool is_so, const char* what, std::string_view input) {
  if (is_so) return;
  std::cerr << "not so: " << what << "\nfor '" << input << "'\n" << std::flush;
  std::abort();
}

/// A zone by a rule alone, so that no file of the system is needed: daylight saving as in Berlin.
inline const zone& zone_for_rules() {
  static const zone made = [] {
    std::string header("TZif2");
    header.append(15, '\0');
    for (const int each : {0, 0, 0, 0, 1, 4}) {
      for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(each >> shift & 255);
    }
    const std::string block("\0\0\0\0\0\0UTC\0", 10);
    return *zone::read("Fuzz/Zone", "1", header + block + header + block + "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
  }();
  return made;
}

template <typename Timetable>
void run_rule(std::string_view text, dialect how) {
  using std::chrono::seconds;
  const auto read = rule::parse(text, {.cron = how});
  if (!read) {
    expect(read.error().position <= text.size() + 1, "the place of a mistake is in the text", text);
    expect(!read.error().problem.empty() && !read.error().remedy.empty(), "a mistake has a remedy", text);
    return;
  }
  expect(!read->words().empty(), "a rule has words", text);
  expect(rule::parse(read->text(), {.cron = how})->words() == read->words(), "a rule is read again", text);
  const auto table = timetable::make({.rules = {*read}, .where = zone_for_rules()});
  if (!table) return;
  // Some hours before a clock goes forward.
  std::chrono::sys_seconds at(seconds(1'774'731'600));
  for (int i = 0; i < 3; ++i) {
    const auto next = Timetable::next(*table, at);
    if (!next) return;
    expect(next->at > at, "the next time is later", text);
    if (read->kind() == rule_kind::delay) return;
    const auto back = Timetable::previous(*table, next->at + seconds(1));
    expect(back && back->at == next->at, "the time before the next second is that time", text);
    const auto before = Timetable::previous(*table, next->at);
    expect(!before || before->at <= at, "there is none in between", text);
    at = next->at;
  }
}

inline void run_zone(std::string_view bytes) {
  const auto read = zone::read("Fuzz/Zone", "1", bytes);
  if (!read) return;
  const auto period_at = [&](std::chrono::sys_seconds at) {
    const zone_period period = read->period_at(at);
    expect(period.begin <= at && at < period.end, "a period has the time that it is found by", "a zone");
    return period;
  };
  for (const int year : {1, 1800, 1970, 2026, 2038, 9999}) {
    for (const std::chrono::month_day day :
         {std::chrono::January / 1, std::chrono::July / 1, std::chrono::December / 31}) {
      const std::chrono::sys_seconds at = std::chrono::sys_days(std::chrono::year(year) / day) + std::chrono::hours(12);
      const zone_period period = period_at(at);
      if (period.begin > earliest)
        expect(period_at(period.begin - std::chrono::seconds(1)).end == period.begin, "periods have no gap", "a zone");
      if (period.end < latest) expect(period_at(period.end).begin == period.end, "periods have no gap", "a zone");
    }
  }
}

template <typename Timetable>
void run_one_rule(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::string_view input(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view rest = input.substr(1);
  switch (input.front()) {
    case 'v': return run_rule<Timetable>(rest, dialect::vixie);
    case 's': return run_rule<Timetable>(rest, dialect::with_seconds);
    case 'q': return run_rule<Timetable>(rest, dialect::quartz);
    case 'e': return run_rule<Timetable>(rest, dialect::eventbridge);
    case 'z': return run_zone(rest);
    default: return;
  }
}

}  // namespace foliot::schedule
