// A timer with a period in the timers of Go 1.14, as they are shipped, against each operation that may meet it.
#include <memory>

#include "marked_timer.hpp"

namespace foliot::model {
namespace {

constexpr duration ten = duration::nanoseconds(10);

/// It is pending before and after each tick, and its entry may be freed when a stop has returned.
void a_period_against_delete() {
  processor_heaps timers(0);
  auto periodic = std::make_unique<marked_timer>();
  periodic->reset_every(timers, at(10), ten);
  seam::thread other("runs", [&] {
    run(timers, 10);
    run(timers, 20);
  });
  require(periodic->stop(), "it is pending until it is stopped");
  periodic.reset();  // a race, if a thread still touched it
  other.join();
  require(timers.size() == 0, "it is not pending");
  require_good(timers);
}

/// A reset comes before the tick or after it, and is not lost either way.
template <int To, bool Again>
void a_period_against_modify() {
  processor_heaps timers(0);
  marked_timer periodic;
  periodic.reset_every(timers, at(10), ten);
  seam::thread other("runs", [&] { run(timers, 10); });
  require(periodic.reset_every(timers, at(To), Again ? duration::nanoseconds(7) : duration::zero()), "it is pending");
  other.join();
  require_good(timers);
  const int before = periodic.fired();
  require(before <= (To > 10 ? 1 : 2), "the old tick, and the new one where it was due as well");
  const bool has_gone = timers.size() == 0;
  require(!has_gone || (!Again && To <= 10 && before != 0), "only a timer that comes once, and has come, goes");
  require(has_gone || !timers.first().is_never(), "the heap knows the new tick");
  run(timers, 30);
  require(periodic.fired() == before + (has_gone ? 0 : 1), "the new tick comes");
  require(timers.size() == (Again ? 1 : 0), "it stays with a period, and goes without one");
  require_good(timers);
  if (Again) require(periodic.stop(), "it is pending");
}

void a_period_against_move() {
  processor_heaps goes(0);
  processor_heaps heir(1);
  marked_timer periodic;
  periodic.reset_every(goes, at(10), ten);
  seam::thread other("moves", [&] { heir.take_all(goes); });
  run(goes, 10);
  run(heir, 10);
  other.join();
  require_good(goes);
  require_good(heir);
  require(goes.size() == 0 && heir.size() == 1, "it has moved");
  run(heir, 10);
  require(periodic.fired() == 1, "one tick, at either heap");
  require(heir.first() == at(20), "and the next one is known");
  run(heir, 20);
  require(periodic.fired() == 2, "the next tick comes at the heir");
  require(periodic.stop(), "it is pending");
}

/// Two threads run the same heap, as its processor and a thief do.
void a_period_run_by_two() {
  processor_heaps timers(0);
  marked_timer periodic;
  periodic.reset_every(timers, at(10), ten);
  seam::thread other("steals", [&] { run(timers, 20); });
  run(timers, 10);
  other.join();
  require(timers.first() == at(30), "the next tick is after the latest look");
  require(periodic.fired() == 1 || periodic.fired() == 2, "once for each look that found a tick");
  require(periodic.stop(), "it is pending");
}

TEST(HeapPeriods, APeriodAgainstEveryOtherOperation) {
  holds({.name = "heaps, a period against delete", .preemptions = 2}, a_period_against_delete);
  holds({.name = "heaps, a period against modify to later", .preemptions = 2}, a_period_against_modify<25, true>);
  holds({.name = "heaps, a period against modify to earlier", .preemptions = 2}, a_period_against_modify<5, true>);
  holds({.name = "heaps, a period against modify to once", .preemptions = 2}, a_period_against_modify<25, false>);
  holds({.name = "heaps, a period against modify to once, earlier", .preemptions = 2},
        a_period_against_modify<5, false>);
  holds({.name = "heaps, a period against move", .preemptions = 2}, a_period_against_move);
  holds({.name = "heaps, a period run by two", .preemptions = 2}, a_period_run_by_two);
}

}  // namespace
}  // namespace foliot::model
