// The shipped timers of Go 1.14 and 1.15, which count the timers that were brought forward. No timer is forgotten,
// although a pass looks for them by the count alone, and stops when it has found as many.
#include "marked_timer.hpp"

namespace foliot::model {
namespace {

using runtime::detail::adjusting;

/// One timer has been brought forward, and another one is brought forward during the pass.
void bring_forward_against_adjust() {
  processor_heaps timers(0, adjusting::by_count);
  marked_timer head;
  marked_timer one;
  marked_timer two;
  head.reset(timers, at(50));
  one.reset(timers, at(100));
  two.reset(timers, at(110));
  require(one.reset(timers, at(10)), "the timer must be pending");
  seam::thread other("adjusts", [&] { run(timers, 20); });
  require(two.reset(timers, at(15)), "the timer was not due before");
  other.join();
  require(timers.first() <= at(15) || two.fired() == 1, "a thread would sleep past its deadline");
  require_good(timers);
  run(timers, 20);
  require(one.fired() == 1 && two.fired() == 1 && head.fired() == 0, "the due timers must have fired, and only those");
  static_cast<void>(head.stop());
}

// A stop would leave a deleted timer, and so small a heap is then cleared of it, which repairs all timers at any
// count. So a timer that is to leave the count here is postponed.

/// During the pass a timer that it counts is postponed, or brought forward once more.
template <bool Again>
void count_down_against_adjust() {
  processor_heaps timers(0, adjusting::by_count);
  marked_timer head;
  marked_timer one;
  marked_timer two;
  head.reset(timers, at(50));
  one.reset(timers, at(100));
  two.reset(timers, at(110));
  require(one.reset(timers, at(30)) && two.reset(timers, at(15)), "both timers must be pending");
  seam::thread other("adjusts", [&] { run(timers, 5); });
  if (Again) {
    require(one.reset(timers, at(200)) && one.reset(timers, at(10)), "the timer must be pending");
  } else {
    require(one.reset(timers, at(200)), "the timer must be pending");
  }
  other.join();
  require(timers.first() <= at(Again ? 10 : 15), "a thread would sleep past its deadline");
  require_good(timers);
  run(timers, 20);
  require(two.fired() == 1 && one.fired() == (Again ? 1 : 0), "the due timers must have fired, and only those");
  require(head.stop() && one.stop() != Again && timers.size() == 0, "no timer may be left");
}

/// A pass finds the count at zero, since the timer was postponed again. Another timer is brought forward at that
/// moment.
void bring_forward_against_a_round_for_nothing() {
  processor_heaps timers(0, adjusting::by_count);
  marked_timer head;
  marked_timer one;
  marked_timer two;
  head.reset(timers, at(50));
  one.reset(timers, at(100));
  two.reset(timers, at(110));
  require(one.reset(timers, at(30)) && one.reset(timers, at(200)), "the timer must be pending");
  seam::thread other("adjusts", [&] { run(timers, 5); });
  require(two.reset(timers, at(15)), "the timer must be pending");
  other.join();
  require(timers.first() <= at(15), "a thread would sleep past its deadline");
  require_good(timers);
  run(timers, 20);
  require(two.fired() == 1, "the timer must fire");
  static_cast<void>(head.stop());
  static_cast<void>(one.stop());
}

/// A processor that goes to sleep does so until a deadline that is not too late, or sees that a timer came forward.
void bring_forward_against_sleep() {
  processor_heaps timers(0, adjusting::by_count);
  marked_timer head;
  marked_timer one;
  head.reset(timers, at(50));
  one.reset(timers, at(100));
  seam::thread other("goes to sleep", [&] {
    timers.refresh_first();
    static_cast<void>(timers.first());
  });
  require(one.reset(timers, at(10)), "the timer must be pending");
  require(timers.first() <= at(10), "first() must not be later than the deadline");
  other.join();
  require_good(timers);
  timers.refresh_first();
  require(timers.first() == at(10), "first() must be the deadline");
  static_cast<void>(head.stop());
  static_cast<void>(one.stop());
}

template <int To>
void move_against_modify() {
  processor_heaps goes(0, adjusting::by_count);
  processor_heaps heir(1, adjusting::by_count);
  marked_timer timer;
  timer.reset(goes, at(10));
  seam::thread other("moves", [&] { heir.take_all(goes); });
  require(timer.reset(goes, at(To)), "the timer must be pending");
  other.join();
  require(goes.size() == 0 && heir.size() == 1, "the timer must be at its new home");
  require(goes.first().is_never(), "first() must be never without a timer");
  require(heir.first() <= at(To), "first() of the new home must not be later than the deadline");
  require_good(goes);
  require_good(heir);
  run(heir, To);
  require(timer.fired() == 1, "the timer must fire at its new home");
}

TEST(HeapCounts, NoneIsForgotten) {
  holds({.name = "counts, bring forward against adjust", .preemptions = 2}, bring_forward_against_adjust);
  holds({.name = "counts, postponed against adjust", .preemptions = 2}, count_down_against_adjust<false>);
  holds({.name = "counts, postponed and bring forward against adjust", .preemptions = 1},
        count_down_against_adjust<true>);
  holds({.name = "counts, bring forward against a round for nothing", .preemptions = 2},
        bring_forward_against_a_round_for_nothing);
  holds({.name = "counts, bring forward against sleep", .preemptions = 2}, bring_forward_against_sleep);
  holds({.name = "counts, move against modify to later", .preemptions = 2}, move_against_modify<20>);
  holds({.name = "counts, move against modify to earlier", .preemptions = 2}, move_against_modify<5>);
}

}  // namespace
}  // namespace foliot::model
