#include "plan.hpp"

#include <array>

namespace foliot::linearizability {

namespace {

class drawing {
 public:
  drawing(random_stream& random, duration unit) : random_(random), unit_(unit) {}

  plan around(race kind) {
    const std::size_t operations = 3 + random_.below(4);
    const std::size_t timers = 1 + random_.below(operations < 5 ? 3 : 2);
    for (std::size_t t = 0; t < timers; ++t) drawn_.timers.push_back({random_.below(3) == 0});
    drawn_.threads.resize(1 + random_.below(3));
    add_race(kind);
    for (plan::timer_plan& each : drawn_.timers) {
      if (!each.start && random_.below(2) == 0) start(each);
    }
    // A try may find no timer, since only a callback may use the timers that it ends.
    for (std::size_t tries = 0; done_ < operations && tries < 40; ++tries) add_anything(kind);
    return std::move(drawn_);
  }

 private:
  std::size_t index_of(const plan::timer_plan& timer) const {
    return static_cast<std::size_t>(&timer - drawn_.timers.data());
  }
  bool heads() { return random_.below(2) == 0; }
  duration some() { return unit_ * static_cast<std::int64_t>(random_.below(300)); }
  duration delay() {
    switch (random_.below(8)) {
      case 0: return duration::zero();
      case 1: return -some();
      case 2: return far_away;
      default: return some();
    }
  }
  /// Most resets are to a given deadline, which identifies the start.
  deed reset(std::size_t timer) { return {random_.below(4) == 0 ? act::reset : act::reset_at, timer, delay()}; }

  void start(plan::timer_plan& timer) { timer.start = reset(index_of(timer)); }
  void start_soon(plan::timer_plan& timer) { timer.start = deed{act::reset_at, index_of(timer), some()}; }
  void start_or_not(plan::timer_plan& timer) {
    if (heads()) start(timer);
  }

  void add(std::size_t thread, deed one) {
    auto& deeds = drawn_.threads[thread];
    if (random_.below(3) == 0) deeds.push_back({act::linger, 0, some()});
    deeds.push_back(one);
    ++done_;
  }
  void add_inside(deed one) {
    drawn_.timers[0].inside.push_back(one);
    ++done_;
  }
  void both(deed first, deed second) {
    if (drawn_.threads.size() < 2) drawn_.threads.resize(2);
    add(0, first);
    add(1, second);
  }

  void add_race(race kind) {
    plan::timer_plan& first = drawn_.timers[0];
    switch (kind) {
      case race::anything: return;
      case race::stop_against_fire: return start_soon(first), add(0, {act::stop});
      case race::reset_against_fire: return start_soon(first), add(0, reset(0));
      case race::stop_against_stop: return start(first), both({act::stop}, {act::stop});
      case race::reset_against_reset: return start_or_not(first), both(reset(0), reset(0));
      case race::stop_against_reset: return start_or_not(first), both({act::stop}, reset(0));
      case race::destroy_against_fire: first.owner = 0; return start_soon(first), add(0, {act::destroy});
      case race::destroy_from_within:
        first.owner = own_callback;
        start_soon(first);
        if (heads()) add_inside(reset(0));
        return add_inside({act::destroy});
      case race::stop_and_wait_from_outside: return start_soon(first), add(0, {act::stop_and_wait});
      case race::stop_and_wait_from_within:
        start_soon(first);
        if (heads()) add_inside(reset(0));
        return add_inside({act::stop_and_wait});
      case race::shut_down_against_all: return start(first), both({act::shut_down}, reset(0));
      case race::shut_down_from_within: return start_soon(first), add_inside({act::shut_down});
      case race::drain_against_all:
        return start(first), both({act::drain, 0, heads() ? some() : unit_ * 10'000}, reset(0));
    }
  }

  void add_anything(race kind) {
    const std::size_t thread = random_.below(drawn_.threads.size());
    const std::size_t timer = random_.below(drawn_.timers.size());
    const plan::timer_plan& chosen = drawn_.timers[timer];
    if (chosen.owner && *chosen.owner != thread) return;
    if (random_.below(8) == 0 && !chosen.owner) {
      plan::timer_plan& caller = drawn_.timers[random_.below(drawn_.timers.size())];
      if (caller.owner || caller.inside.size() > 1) return;
      caller.inside.push_back(simple(timer));
      ++done_;
      return;
    }
    const bool ends = kind == race::anything && random_.below(4) == 0;
    add(thread, ends ? ending(timer) : simple(timer));
  }

  deed simple(std::size_t timer) {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2: return {act::stop, timer};
      case 3: return {act::pending, timer};
      default: return reset(timer);
    }
  }
  deed ending(std::size_t timer) {
    constexpr std::array kinds{act::stop_and_wait, act::stop_and_wait, act::shut_down, act::drain};
    return {kinds[random_.below(kinds.size())], timer, some()};
  }

  random_stream& random_;
  const duration unit_;
  plan drawn_;
  std::size_t done_ = 0;
};

}  // namespace

plan draw(race around, random_stream& random, duration unit) { return drawing(random, unit).around(around); }

std::string name(race chosen) {
  constexpr std::array<const char*, races> names{"Anything",
                                                 "StopAgainstFire",
                                                 "ResetAgainstFire",
                                                 "StopAgainstStop",
                                                 "ResetAgainstReset",
                                                 "StopAgainstReset",
                                                 "DestroyAgainstFire",
                                                 "DestroyFromWithin",
                                                 "StopAndWaitFromOutside",
                                                 "StopAndWaitFromWithin",
                                                 "ShutDownAgainstAll",
                                                 "ShutDownFromWithin",
                                                 "DrainAgainstAll"};
  return names[static_cast<std::size_t>(chosen)];
}

}  // namespace foliot::linearizability
