// A job for each night at 02:30 by the clock of Berlin, as cron has it.
//
// The trap is the length: "24 hours from now" is not "tomorrow at the same time" if the clock is set, the machine is
// suspended, the job takes a while, or clocks change: then a day has 23 or 25 hours, and a night may have no 02:30, or
// two. So a timetable says when the next night is, and this waits for that time of the wall clock. If the clock is set
// back, no night is done twice. If it is set forward, the nights that have passed are left out, except the night that
// this waited for: that one is late.
#include <foliot/runtime.hpp>
#include <foliot/schedule.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;
namespace schedule = foliot::schedule;

constexpr auto march_29th = std::chrono::sys_days(2030y / 3 / 29);

void print(const char* what, const schedule::zone& where) {
  const auto now = std::chrono::floor<std::chrono::seconds>(rt::wall_now());
  const auto local = now + where.period_at(now).offset;
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(local - day);
  std::printf("%s %02u.%02u. %02d:%02d\n", what, static_cast<unsigned>(date.day()), static_cast<unsigned>(date.month()),
              static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()));
}

foliot::task<> every_night(schedule::timetable_cursor& nights, int count) {
  for (int i = 0; i < count; ++i) {
    const auto night = nights.next(rt::wall_now());
    if (!night) co_return;  // the rule has an end
    co_await rt::sleep_until(night->at);
    print("the job runs at", nights.table().options().where);
    co_await rt::sleep(40min);  // which takes its time
  }
}

foliot::task<> administrator(foliot::virtual_clock& machine, const schedule::zone& where) {
  co_await rt::sleep(42h);
  machine.set_wall(rt::wall_now() - 5h);
  print("the clock is set back to", where);
  co_await rt::sleep(24h);
  machine.set_wall(rt::wall_now() + 72h);
  print("the clock is set forward to", where);
}

foliot::task<> program(foliot::virtual_clock& machine, schedule::timetable_cursor& nights) {
  auto sets_the_clock = rt::spawn(administrator(machine, nights.table().options().where));
  co_await every_night(nights, 5);
  co_await sets_the_clock.join();
}

int main() {
  const auto rule = schedule::rule::parse("30 2 * * *");
  const auto berlin = schedule::zone_directory().find("Europe/Berlin");
  if (!rule || !berlin) {
    std::fprintf(stderr, "%s\n", rule ? berlin.error().c_str() : rule.error().message().c_str());
    return 1;
  }
  schedule::timetable_cursor nights(*schedule::timetable::make({.rules = {*rule}, .where = *berlin}));
  foliot::virtual_clock clock;
  clock.set_wall(march_29th);
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(clock, nights), options);
}
