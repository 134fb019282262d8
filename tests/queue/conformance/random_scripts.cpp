#include "random_scripts.hpp"

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

namespace foliot::conformance {
namespace {

/// Offsets where queues have their edges: nothing, a nanosecond, powers of two and whole milliseconds
/// with their neighbours, hours, and the ends of time.
rc::Gen<duration> arbitrary_offset() {
  const auto near = [](rc::Gen<std::int64_t> centre) {
    return rc::gen::map(rc::gen::pair(std::move(centre), rc::gen::inRange<std::int64_t>(-1, 2)),
                        [](const auto& pair) { return duration::nanoseconds(pair.first + pair.second); });
  };
  const auto power = rc::gen::map(rc::gen::inRange<int>(0, 56), [](int bit) { return std::int64_t{1} << bit; });
  const auto milliseconds =
      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 100), [](std::int64_t count) { return count * 1'000'000; });
  const auto hours =
      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 3'600'000), [](std::int64_t count) { return count * 1'000'000; });
  return rc::gen::weightedOneOf<duration>(
      {{6, near(rc::gen::inRange<std::int64_t>(0, 8))},
       {6, near(milliseconds)},
       {4, near(power)},
       {2, near(hours)},
       {1, rc::gen::element(duration::forever(), duration::lowest(), duration::nanoseconds(-5))}});
}

rc::Gen<step> arbitrary_step(bool inside_callback) {
  const auto kinds =
      inside_callback
          ? rc::gen::weightedElement<step::kind>(
                {{6, step::kind::reset}, {3, step::kind::stop}, {1, step::kind::pop_any}})
          : rc::gen::weightedElement<step::kind>(
                {{10, step::kind::reset}, {4, step::kind::stop}, {5, step::kind::expire}, {1, step::kind::pop_any}});
  const auto limit =
      rc::gen::weightedOneOf<budget>({{2, rc::gen::just(unlimited)}, {1, rc::gen::inRange<budget>(0, 5)}});
  return rc::gen::build<step>(rc::gen::set(&step::what, kinds),
                              rc::gen::set(&step::timer, rc::gen::inRange<std::size_t>(0, timers_at_random)),
                              rc::gen::set(&step::offset, arbitrary_offset()), rc::gen::set(&step::limit, limit));
}

}  // namespace

rc::Gen<script> arbitrary_script() {
  const auto reactions = rc::gen::container<std::vector<reaction>>(
      rc::gen::build<reaction>(rc::gen::set(&reaction::timer, rc::gen::inRange<std::size_t>(0, timers_at_random)),
                               rc::gen::set(&reaction::does, arbitrary_step(true))));
  const auto origin = rc::gen::weightedElement<instant>({{6, instant{}},
                                                         {2, instant::from_nanoseconds(1'700'000'000'123'456'789)},
                                                         {1, instant::earliest()},
                                                         {1, instant::latest() - std::chrono::hours(1)}});
  return rc::gen::build<script>(
      rc::gen::set(&script::origin, origin),
      rc::gen::set(&script::steps, rc::gen::scale(3.0, rc::gen::container<std::vector<step>>(arbitrary_step(false)))),
      rc::gen::set(&script::reactions, reactions));
}

}  // namespace foliot::conformance
