// A job for each day at 03:00 UTC, as cron has it.
//
// The trap is the length: "24 hours from now" is not "tomorrow at the same time" if the clock is set, the machine is
// suspended, or the job takes a while. So this waits for a time of the wall clock, and computes each night's time from
// the one before, not from the end of the job. If the clock is set back, no night is done twice. If it is set forward,
// the nights that have passed are left out, except the night that this waited for: that one is late. Days of local time
// sometimes have 23 or 25 hours, so a job in local time must compute each night from the calendar.
#include <foliot/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;
using wall_time = std::chrono::sys_time<std::chrono::nanoseconds>;

constexpr wall_time june_1st = std::chrono::sys_days(2030y / 6 / 1);

/// The first 03:00 UTC that is not before `from`.
wall_time next_night(wall_time from) {
  using foliot::wall_clock;
  constexpr foliot::instant first_night = wall_clock::from_sys(wall_time() + 3h);  // of 1970
  return wall_clock::to_sys(foliot::next_on_grid(first_night, 24h, wall_clock::from_sys(from)));
}

void print(const char* what, wall_time when) {
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::minutes>(when - day));
  std::printf("%s %02u.%02u. %02d:%02d\n", what, static_cast<unsigned>(date.day()), static_cast<unsigned>(date.month()),
              static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()));
}

foliot::task<> every_night(int nights) {
  wall_time night = next_night(rt::wall_now());
  for (int i = 0; i < nights; ++i) {
    co_await rt::sleep_until(night);
    print("the job runs at", rt::wall_now());
    co_await rt::sleep(40min);  // which takes its time
    night = std::max(next_night(night + 1ns), next_night(rt::wall_now()));
  }
}

foliot::task<> administrator(foliot::virtual_clock& machine) {
  co_await rt::sleep(30h);
  machine.set_wall(rt::wall_now() - 5h);
  print("the clock is set back to", rt::wall_now());
  co_await rt::sleep(24h);
  machine.set_wall(rt::wall_now() + 72h);
  print("the clock is set forward to", rt::wall_now());
}

foliot::task<> program(foliot::virtual_clock& machine) {
  auto sets_the_clock = rt::spawn(administrator(machine));
  co_await every_night(4);
  co_await sets_the_clock.join();
}

int main() {
  foliot::virtual_clock clock;
  clock.set_wall(june_1st);
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(clock), options);
}
