#include "wake_ups.hpp"

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>

#include "../quick_random.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

void wait(duration length) { note().sleep_until(monotonic_clock::instance().now() + length); }

}  // namespace

duration far_from(std::uint64_t draw) {
  return duration(1h) + duration::nanoseconds(static_cast<std::int64_t>(lower_below(draw, 3'600'000'000'000)));
}

finding count_wake_ups(const std::set<int>& before, const trial& asked) {
  wait(asked.quick ? 10ms : 100ms);  // until the threads have gone to sleep, and those that only made it are gone
  std::set<int> own = threads_alive();
  std::erase_if(own, [&before](int each) { return before.contains(each); });
  const monotonic_clock& clock = monotonic_clock::instance();
  const instant begin = clock.now();
  const thread_switches first = voluntary_switches(own);
  wait(duration::nanoseconds(asked.nanoseconds));
  const auto count = switches_between(first, voluntary_switches(own));
  if (!count) return {.wrong = "the system does not tell its threads' context switches"};
  const double seconds = static_cast<double>((clock.now() - begin).count()) * 1e-9;
  return {.figure = static_cast<double>(*count) / seconds};
}

}  // namespace foliot::program::bench
