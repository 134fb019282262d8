#include "job/time_words.hpp"

#include <chrono>
#include <cstdint>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>

namespace foliot::program::terminal {

namespace {

struct unit {
  std::int64_t milliseconds;
  std::int64_t below;  ///< so many of it are said in it
  std::string_view name;
};

constexpr unit units[] = {
    {1'000, 90, "s"},
    {60'000, 90, "min"},
    {3'600'000, 36, "h"},
};
constexpr std::int64_t day = 86'400'000;

std::string length_words(std::int64_t length) {
  for (const unit& each : units) {
    if (length < each.below * each.milliseconds)
      return fmt::format("{} {}", (length + each.milliseconds / 2) / each.milliseconds, each.name);
  }
  return fmt::format("{} days", (length + day / 2) / day);
}

}  // namespace

std::string time_words(jobs::utc_time then, jobs::utc_time now) {
  const std::int64_t ahead = (then - now).count();
  if (ahead >= 1'000) return "in " + length_words(ahead);
  if (ahead <= -1'000) return length_words(-ahead) + " ago";
  return "now";
}

jobs::utc_time local_now() noexcept {
  return std::chrono::floor<jobs::milliseconds>(wall_clock::to_sys(wall_clock::instance().now()));
}

void wait_for(jobs::milliseconds length) {
  note nobody_wakes;
  nobody_wakes.sleep_until(monotonic_clock::instance().now() + duration(length));
}

}  // namespace foliot::program::terminal
