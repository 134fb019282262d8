#include "loads.hpp"

#include <algorithm>
#include <cstddef>
#include <random>

namespace foliot::program {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using action_kind = timer_action::kind;

/// Draws that are the same with every standard library: its distributions are not.
class draws {
 public:
  explicit draws(std::uint64_t seed) : bits_(seed) {}
  /// From `least` to `most`.
  microseconds between(microseconds least, microseconds most) {
    const auto width = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + microseconds(static_cast<std::int64_t>(bits_() % width));
  }

 private:
  std::mt19937_64 bits_;
};

void put_in_order(std::vector<timer_action>& actions) {
  std::ranges::sort(actions, [](const timer_action& a, const timer_action& b) {
    return a.when != b.when ? a.when < b.when : a.timer < b.timer;
  });
}

/// Connections with an idle timeout, which each packet postpones; a few go silent.
timer_load heartbeats() {
  timer_load made{.name = "heartbeats",
                  .about =
                      "Ten connections have an idle timeout of 100 ms, and every packet postpones it. Two go silent, "
                      "and their timers fire. See what a postponement costs here: most deadlines are never met.",
                  .timers = 10,
                  .actions = {}};
  draws random(1);
  for (unsigned timer = 0; timer < made.timers; ++timer) {
    microseconds at = random.between(0ms, 20ms);
    made.actions.push_back({.when = at, .what = action_kind::start, .timer = timer, .delay = 100ms});
    const bool goes_silent = timer % 5 == 3;
    for (int packets = goes_silent ? 1 : 4; packets > 0; --packets) {
      at += random.between(25ms, 70ms);
      made.actions.push_back({.when = at, .what = action_kind::reset, .timer = timer, .delay = 100ms});
    }
    if (!goes_silent) {
      made.actions.push_back(
          {.when = at + random.between(20ms, 60ms), .what = action_kind::stop, .timer = timer, .delay = {}});
    }
  }
  put_in_order(made.actions);
  return made;
}

/// Deadlines at every distance, none of which is changed.
timer_load distances() {
  timer_load made{.name = "near and far",
                  .about =
                      "Eighteen timers are started at once, and due after 1 ms to 2 s; all of them fire. See how "
                      "often a timer is moved on its way to its deadline.",
                  .timers = 18,
                  .actions = {}};
  draws random(2);
  microseconds longest = 2ms;
  for (unsigned timer = 0; timer < made.timers; ++timer) {
    made.actions.push_back({.when = microseconds(timer * 20),
                            .what = action_kind::start,
                            .timer = timer,
                            .delay = random.between(longest / 2, longest)});
    if (timer % 2 == 1) longest = std::min<microseconds>(2s, longest * 2 + 1ms);
  }
  return made;
}

/// Many timers with few deadlines.
timer_load burst() {
  timer_load made{.name = "a burst",
                  .about =
                      "Sixteen timers have three deadlines, 40, 41 and 90 ms, as jobs that are due on the minute do. "
                      "See in which order equal deadlines fire.",
                  .timers = 16,
                  .actions = {}};
  for (unsigned timer = 0; timer < made.timers; ++timer) {
    const microseconds when(timer * 500);
    const microseconds due = timer % 4 == 3 ? 90ms : timer % 4 == 1 ? 41ms : 40ms;
    made.actions.push_back({.when = when, .what = action_kind::start, .timer = timer, .delay = due - when});
  }
  return made;
}

/// Requests whose timeouts are stopped long before they are due.
timer_load requests() {
  timer_load made{.name = "requests",
                  .about =
                      "Fourteen requests have a timeout of 300 ms. All but one are answered after some 10 ms, and stop "
                      "their timers. See what a stopped timer leaves behind.",
                  .timers = 14,
                  .actions = {}};
  draws random(4);
  for (unsigned timer = 0; timer < made.timers; ++timer) {
    const microseconds at = microseconds(timer * 4000) + random.between(0ms, 2ms);
    made.actions.push_back({.when = at, .what = action_kind::start, .timer = timer, .delay = 300ms});
    if (timer == 6) continue;  // this one is never answered
    made.actions.push_back(
        {.when = at + random.between(5ms, 30ms), .what = action_kind::stop, .timer = timer, .delay = {}});
  }
  put_in_order(made.actions);
  return made;
}

/// Deadlines that are moved in both directions.
timer_load changes() {
  timer_load made{.name = "changes",
                  .about =
                      "Twelve timers are started, brought forward, postponed, stopped and started again, without a "
                      "pattern. See what the order costs.",
                  .timers = 12,
                  .actions = {}};
  draws random(5);
  microseconds at = 0ms;
  std::vector<bool> is_used(made.timers, false);
  for (int step = 0; step < 44; ++step) {
    at += random.between(1ms, 9ms);
    const auto timer = static_cast<unsigned>(random.between(0us, microseconds(made.timers - 1)).count());
    const bool is_stop = is_used[timer] && random.between(0us, 4us) == 0us;
    made.actions.push_back({.when = at,
                            .what = is_stop          ? action_kind::stop
                                    : is_used[timer] ? action_kind::reset
                                                     : action_kind::start,
                            .timer = timer,
                            .delay = is_stop ? microseconds() : random.between(5ms, 260ms)});
    is_used[timer] = !is_stop;
  }
  return made;
}

}  // namespace

std::vector<timer_load> explained_loads() { return {heartbeats(), distances(), burst(), requests(), changes()}; }

}  // namespace foliot::program
