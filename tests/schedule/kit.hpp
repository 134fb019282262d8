// What tests of timetables share: times from texts, and timetables that must be right.
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/schedule.hpp>
#include <gtest/gtest.h>

#include "schedule/civil.hpp"

namespace foliot::schedule {

/// The system's zones, or those in the folder that FOLIOT_ZONES names.
inline zone_directory test_zones() {
  const char* const folder = std::getenv("FOLIOT_ZONES");
  return folder == nullptr ? zone_directory() : zone_directory(folder);
}

inline zone zone_named(std::string_view name) {
  auto found = test_zones().find(name);
  if (!found) throw std::runtime_error(found.error());
  return *std::move(found);
}

/// The whole second that has an instant such as 2026-01-05T09:00:00.5+01:00.
inline sys_seconds instant_of(std::string_view text) {
  std::string whole(text);
  if (const auto dot = whole.find('.'); dot != std::string::npos)
    whole.erase(dot, std::min(whole.find_first_not_of("0123456789", dot + 1), whole.size()) - dot);
  const auto read = read_time(whole);
  if (!read || !read->offset) throw std::runtime_error("no instant: " + whole);
  return read->instant();
}

inline rule rule_of(std::string_view text, dialect cron = dialect::vixie) {
  auto read = rule::parse(text, {.cron = cron});
  if (!read) throw std::runtime_error(read.error().message());
  return *std::move(read);
}

inline timetable table_of(timetable_options options) {
  auto made = timetable::make(std::move(options));
  if (!made) throw std::runtime_error(made.error());
  return *std::move(made);
}

inline timetable table_of(std::string_view text, std::string_view where = "UTC") {
  return table_of({.rules = {rule_of(text)}, .where = zone_named(where)});
}

/// As many times as there are, at most `most`; "never" behind them if there are fewer.
inline std::vector<std::string> next_texts(const timetable& table, sys_seconds after, std::size_t most) {
  std::vector<std::string> texts;
  while (texts.size() < most) {
    const auto found = table.next(after);
    if (!found) {
      texts.emplace_back("never");
      break;
    }
    EXPECT_GT(found->at, after);
    after = found->at;
    texts.push_back(text_of(after));
  }
  return texts;
}

}  // namespace foliot::schedule
