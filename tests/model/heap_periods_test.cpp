// A periodic timer in the shipped timers of Go 1.14, against each operation that may race with it.
#include <memory>

#include "marked_timer.hpp"

namespace foliot::model {
namespace {

constexpr duration ten = duration::nanoseconds(10);

/// The timer is pending before and after each tick, and its entry may be freed when a stop has returned.
void a_period_against_delete() {
  processor_heaps timers(0);
  auto periodic = std::make_unique<marked_timer>();
  periodic->reset_every(timers, at(10), ten);
  seam::thread other("runs", [&] {
    run(timers, 10);
    run(timers, 20);
  });
  require(periodic->stop(), "the timer must be pending until it is stopped");
  periodic.reset();  // a race if a thread still accesses it
  other.join();
  require(timers.size() == 0, "the timer must not be pending");
  require_good(timers);
}

/// A reset comes before the tick or after it, and is not lost either way.
template <int To, bool Again>
void a_period_against_modify() {
  processor_heaps timers(0);
  marked_timer periodic;
  periodic.reset_every(timers, at(10), ten);
  seam::thread other("runs", [&] { run(timers, 10); });
  require(periodic.reset_every(timers, at(To), Again ? duration::nanoseconds(7) : duration::zero()),
          "the timer must be pending");
  other.join();
  require_good(timers);
  const int before = periodic.fired();
  require(before <= (To > 10 ? 1 : 2), "the old tick, and the new one if it was due as well");
  const bool has_gone = timers.size() == 0;
  require(!has_gone || (!Again && To <= 10 && before != 0), "only a one-shot timer that has fired leaves the heap");
  require(has_gone || !timers.first().is_never(), "first() must know the new tick");
  run(timers, 30);
  require(periodic.fired() == before + (has_gone ? 0 : 1), "the new tick must come");
  require(timers.size() == (Again ? 1 : 0), "a periodic timer must stay in the heap, a one-shot timer must leave it");
  require_good(timers);
  if (Again) require(periodic.stop(), "the timer must be pending");
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
  require(goes.size() == 0 && heir.size() == 1, "the timer must have moved");
  run(heir, 10);
  require(periodic.fired() == 1, "the timer must tick once, at either home");
  require(heir.first() == at(20), "first() must know the next tick");
  run(heir, 20);
  require(periodic.fired() == 2, "the next tick must come at the new home");
  require(periodic.stop(), "the timer must be pending");
}

/// Two threads run the same heap, as its processor and a thief do.
void a_period_run_by_two() {
  processor_heaps timers(0);
  marked_timer periodic;
  periodic.reset_every(timers, at(10), ten);
  seam::thread other("steals", [&] { run(timers, 20); });
  run(timers, 10);
  other.join();
  require(timers.first() == at(30), "the next tick must be after the latest call");
  require(periodic.fired() == 1 || periodic.fired() == 2, "the timer must tick once for each call that found it due");
  require(periodic.stop(), "the timer must be pending");
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
