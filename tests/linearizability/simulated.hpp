// How rounds are played in a simulated world.
#pragma once

#include <string>

#include <foliot_simulation/world.hpp>

#include "plan.hpp"
#include "round.hpp"

namespace foliot::linearizability {

inline setting simulated(const std::string& engine) {
  setting in;
  in.options.engine = engine;
  in.linger = [](duration length) { simulation::pass_time(length); };
  in.pause = simulation::point;
  in.settle = [late = timer_service::lateness(engine, duration::nanoseconds(1'000))] {
    simulation::pass_time(duration::nanoseconds(1'000'000) + 4 * late);
    simulation::settle();
  };
  return in;
}

/// Plays a history in this world.
inline history play_one(race around, const setting& in) {
  random_stream random(simulation::choose(~std::uint64_t{0}));
  const plan drawn = draw(around, random, duration::nanoseconds(1));
  round one(drawn, in);
  history seen = one.play();
  if (one.complaint()) simulation::require(false, *one.complaint() + ":\n" + describe(seen));
  return seen;
}

}  // namespace foliot::linearizability
