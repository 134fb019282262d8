// The shipped timers of Go 1.14: the ten states of one word, in the heaps of one processor and of two. Every pair of
// operations that may race for one timer runs in every schedule: each start has one outcome, each result is true, there
// is no data race, and the memory of an entry may be freed when a stop has returned.
#include <map>
#include <memory>
#include <string>

#include "audited.hpp"
#include "marked_timer.hpp"

namespace foliot::runtime::detail {
// Stands in for sources that are not compiled here.
void make_ready(task_state&) noexcept {}
}  // namespace foliot::runtime::detail

namespace foliot::model {
namespace {

// ---------------------------------------------------------------- delete against run

void delete_against_run() {
  processor_heaps timers(0);
  auto timer = std::make_unique<marked_timer>();
  timer->reset(timers, at(10));
  seam::thread other("runs", [&] { run(timers, 10); });
  const bool stopped = timer->stop();
  require(stopped == (timer->fired() == 0), "the result must agree with the firing");
  timer.reset();  // a race if a thread still accesses it
  other.join();
  require(timers.size() == 0, "the timer must not be pending");
  require_good(timers);
}

TEST(ProcessorHeaps, DeleteAgainstRun) {
  holds({.name = "heaps, delete against run", .preemptions = 3}, delete_against_run);
}

/// The action wakes a task. The task ends and destroys its timer while another thread is still running that timer.
void the_entry_dies_in_its_action() {
  processor_heaps timers(0);
  auto timer = std::make_unique<marked_timer>();
  timer->reset(timers, at(10));
  seam::thread other("runs", [&] { run(timers, 10); });
  if (!timer->stop()) timer.reset();
  other.join();
  timer.reset();
  run(timers, 10);
  require(timers.heap_size() == 0, "nothing is left");
}

TEST(ProcessorHeaps, TheEntryDiesWhileItsRecordIsUsed) {
  holds({.name = "heaps, an entry dies", .preemptions = 3}, the_entry_dies_in_its_action);
}

// ---------------------------------------------------------------- modify against run

template <int To>
void modify_against_run() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  seam::thread other("runs", [&] { run(timers, 10); });
  const bool superseded = timer.reset(timers, at(To));
  other.join();
  const int fired = timer.fired();
  if (To > 10) require(superseded == (fired == 0), "the result must agree with the firing");
  require(superseded ? fired <= 1 : fired >= 1, "the timer must fire once for each start");
  require_good(timers);
  require(timers.heap_size() != 0 || timers.first().is_never(), "nothing is left to look for");
  run(timers, 100);
  require(timer.fired() == (superseded ? 1 : 2), "the last start must not be lost");
}

TEST(ProcessorHeaps, ModifyAgainstRun) {
  holds({.name = "heaps, modify to later against run", .preemptions = 2}, modify_against_run<20>);
  holds({.name = "heaps, modify to earlier against run", .preemptions = 2}, modify_against_run<5>);
}

/// The action sees the writes before the reset that leads to it.
template <int From>
void a_reset_publishes() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reads = true;
  timer.reset(timers, at(From));
  if (From == 100) require(timer.stop(), "the timer must be stopped, so that the reset revives it");
  seam::thread other("runs", [&] {
    run(timers, 20);
    if (timer.fired() == 1) require(timer.saw_write, "the action must see the write before the reset");
  });
  timer.message = 1;
  static_cast<void>(timer.reset(timers, at(10)));
  other.join();
  run(timers, 20);
  require(timer.fired() == 1 && timer.saw_write, "the timer must fire");
}

TEST(ProcessorHeaps, AResetPublishes) {
  holds({.name = "heaps, a reset publishes", .preemptions = 2}, a_reset_publishes<90>);
  holds({.name = "heaps, a reset of a stopped one publishes", .preemptions = 2}, a_reset_publishes<100>);
}

// ---------------------------------------------------------------- modify against modify, and delete

void modify_against_modify() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  seam::thread other("to 20", [&] { require(timer.reset(timers, at(20)), "the timer must be pending"); });
  require(timer.reset(timers, at(5)), "the timer must be pending");
  other.join();
  require_good(timers);
  require(timers.first() <= at(5), "first() must not be later than the earlier of the two deadlines");
  run(timers, 20);
  require(timer.fired() == 1, "the timer must fire once");
}

void modify_against_delete() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  bool superseded = false;
  seam::thread other("modifies", [&] { superseded = timer.reset(timers, at(20)); });
  require(timer.stop(), "the timer must be pending before or after the reset");
  other.join();
  require(timers.size() == (superseded ? 0 : 1), "the last operation must decide");
  require_good(timers);
  static_cast<void>(timer.stop());
}

/// A timer that is in no heap: one reset adds it, and the other finds it there.
void two_starts() {
  processor_heaps timers(0);
  marked_timer timer;
  bool first = false;
  seam::thread other("starts", [&] { first = timer.reset(timers, at(20)); });
  const bool second = timer.reset(timers, at(5));
  other.join();
  require(first != second, "one of them was the start");
  require(timers.size() == 1 && timers.heap_size() == 1, "it is there once");
  require_good(timers);
  static_cast<void>(timer.stop());
}

TEST(ProcessorHeaps, ModifyAgainstModify) {
  holds({.name = "heaps, modify against modify", .preemptions = unlimited}, modify_against_modify);
  holds({.name = "heaps, modify against delete", .preemptions = unlimited}, modify_against_delete);
  holds({.name = "heaps, two starts", .preemptions = 2}, two_starts);
}

// ---------------------------------------------------------------- delete against clean

void delete_against_clean() {
  processor_heaps timers(0);
  auto timer = std::make_unique<marked_timer>();
  timer->reset(timers, at(10));
  seam::thread other("cleans", [&] { timers.refresh_first(); });
  require(timer->stop(), "the timer was not due");
  timer.reset();
  other.join();
  require(timers.size() == 0, "the timer must not be pending");
  require_good(timers);
}

/// A reset of a stopped timer revives it in the heap; or the timer has left the heap by then, and the reset adds it.
template <int To>
void revive_against_clean() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  require(timer.stop(), "the timer must be pending");
  seam::thread other("cleans", [&] { timers.refresh_first(); });
  require(!timer.reset(timers, at(To)), "the timer must have been stopped");
  other.join();
  require(timers.size() == 1 && timers.heap_size() == 1, "it is there once");
  require_good(timers);
  run(timers, To);
  require(timer.fired() == 1, "the timer must fire");
}

TEST(ProcessorHeaps, DeleteAgainstClean) {
  holds({.name = "heaps, delete against clean", .preemptions = 3}, delete_against_clean);
  holds({.name = "heaps, revive against clean", .preemptions = 2}, revive_against_clean<5>);
  holds({.name = "heaps, revive where it stands against clean", .preemptions = 2}, revive_against_clean<10>);
}

// ---------------------------------------------------------------- modify-earlier against adjust

/// Two timers are brought forward, and the first of them makes a pass over all timers due. The pass queues the second
/// one, or first() still returns its deadline: issues 47329 and 47762.
void bring_forward_against_adjust() {
  processor_heaps timers(0);
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

TEST(ProcessorHeaps, BringForwardAgainstAdjust) {
  holds({.name = "heaps, bring forward against adjust", .preemptions = 2}, bring_forward_against_adjust);
}

/// A thread that calls first() without the lock never gets a later deadline than there is.
void first_while_adjusting() {
  processor_heaps timers(0);
  marked_timer one;
  marked_timer two;
  one.reset(timers, at(100));
  two.reset(timers, at(200));
  static_cast<void>(two.reset(timers, at(10)));
  static_cast<void>(one.reset(timers, at(5)));
  static_cast<void>(one.reset(timers, at(300)));
  seam::thread other("adjusts", [&] { run(timers, 9); });
  require(timers.first() <= at(10), "first() must not be later than the deadline");
  other.join();
  require(timers.first() == at(10), "first() must be the deadline");
  static_cast<void>(one.stop());
  static_cast<void>(two.stop());
}

TEST(ProcessorHeaps, FirstIsNeverTooLate) {
  holds({.name = "heaps, first while adjusting", .preemptions = 3}, first_while_adjusting);
}

/// Each memory order between threads that bring timers forward and threads that adjust is needed.
TEST(ProcessorHeaps, TheBoundNeedsItsOrders) {
  const support::leaks_ignored for_what_is_abandoned;
  std::map<std::string, bool> needed;
  const auto collect = [&](const options& with, void (*body)()) {
    for (const audited& each : audit(with, body)) {
      const std::string what = each.weakened.describe();
      if (!what.starts_with("processor_heaps.cpp") && !what.starts_with("processor_timers.hpp")) continue;
      needed[what] = needed[what] || each.found.failed.has_value();
    }
  };
  collect({.name = "heaps, bring forward against adjust", .preemptions = 2}, bring_forward_against_adjust);
  collect({.name = "heaps, first while adjusting", .preemptions = 3}, first_while_adjusting);
  EXPECT_EQ(needed.size(), 4u);
  for (const auto& [what, is] : needed) EXPECT_TRUE(is) << what;
}

// ---------------------------------------------------------------- move against modify, delete

template <int To>
void move_against_modify() {
  processor_heaps goes(0);
  processor_heaps heir(1);
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

void move_against_delete() {
  processor_heaps goes(0);
  processor_heaps heir(1);
  auto timer = std::make_unique<marked_timer>();
  timer->reset(goes, at(10));
  seam::thread other("moves", [&] { heir.take_all(goes); });
  require(timer->stop(), "the timer must be pending");
  timer.reset();
  other.join();
  require(goes.size() == 0 && heir.size() == 0, "the timer must be stopped");
  require_good(goes);
  require_good(heir);
}

/// Issues 44868 and 45716: a start at a processor that is leaving.
void move_against_start() {
  processor_heaps goes(0);
  processor_heaps heir(1);
  marked_timer timer;
  require(goes.adopt(timer), "the timer must get its home");
  seam::thread other("moves", [&] { heir.take_all(goes); });
  require(!timer.reset(goes, at(10)), "the timer must not have been pending");
  other.join();
  require(goes.size() == 0 && heir.size() == 1, "the timer must be at its new home");
  run(heir, 10);
  require(timer.fired() == 1, "the timer must fire at its new home");
}

TEST(ProcessorHeaps, MoveAgainstModify) {
  holds({.name = "heaps, move against modify to later", .preemptions = 2}, move_against_modify<20>);
  holds({.name = "heaps, move against modify to earlier", .preemptions = 2}, move_against_modify<5>);
  holds({.name = "heaps, move against delete", .preemptions = 2}, move_against_delete);
  holds({.name = "heaps, move against start", .preemptions = 2}, move_against_start);
}

}  // namespace
}  // namespace foliot::model
