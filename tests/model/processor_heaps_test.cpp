// The timers of Go 1.14, as they are shipped: the ten states of one word, in the heaps of one processor and of two.
// Every pair of operations that may meet at one timer, in every schedule: each start has one outcome, an operation that
// says it was in time was, there is no data race, and memory that an entry used may be freed when a stop has returned.
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
  require(stopped == (timer->fired() == 0), "the answer agrees with what happened");
  timer.reset();  // a race, if anybody still touched it
  other.join();
  require(timers.size() == 0, "it is not pending");
  require_good(timers);
}

TEST(ProcessorHeaps, DeleteAgainstRun) {
  holds({.name = "heaps, delete against run", .preemptions = 3}, delete_against_run);
}

/// The action wakes a task, which ends, and its timer with it, while the thread that runs the timers is still at it.
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
  if (To > 10) require(superseded == (fired == 0), "the answer agrees with what happened");
  require(superseded ? fired <= 1 : fired >= 1, "once for each start");
  require_good(timers);
  require(timers.heap_size() != 0 || timers.first().is_never(), "nothing is left to look for");
  run(timers, 100);
  require(timer.fired() == (superseded ? 1 : 2), "and the last one is not lost");
}

TEST(ProcessorHeaps, ModifyAgainstRun) {
  holds({.name = "heaps, modify to later against run", .preemptions = 2}, modify_against_run<20>);
  holds({.name = "heaps, modify to earlier against run", .preemptions = 2}, modify_against_run<5>);
}

/// The action sees what was done before the reset that leads to it.
template <int From>
void a_reset_publishes() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reads = true;
  timer.reset(timers, at(From));
  if (From == 100) require(timer.stop(), "so that it is taken back");
  seam::thread other("runs", [&] {
    run(timers, 20);
    if (timer.fired() == 1) require(timer.was_told, "seen");
  });
  timer.message = 1;
  static_cast<void>(timer.reset(timers, at(10)));
  other.join();
  run(timers, 20);
  require(timer.fired() == 1 && timer.was_told, "it fires");
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
  seam::thread other("to 20", [&] { require(timer.reset(timers, at(20)), "it is pending"); });
  require(timer.reset(timers, at(5)), "it is pending");
  other.join();
  require_good(timers);
  require(timers.first() <= at(5), "the last writer");
  run(timers, 20);
  require(timer.fired() == 1, "once");
}

void modify_against_delete() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  bool superseded = false;
  seam::thread other("modifies", [&] { superseded = timer.reset(timers, at(20)); });
  require(timer.stop(), "it is pending, before or after");
  other.join();
  require(timers.size() == (superseded ? 0 : 1), "who comes last decides");
  require_good(timers);
  static_cast<void>(timer.stop());
}

/// A timer that is in no heap: one adds it, the other finds it there.
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
  require(timer->stop(), "it was not due");
  timer.reset();
  other.join();
  require(timers.size() == 0, "it is not pending");
  require_good(timers);
}

/// A timer that is stopped is taken back by a reset, or was taken out by then, and is added.
template <int To>
void revive_against_clean() {
  processor_heaps timers(0);
  marked_timer timer;
  timer.reset(timers, at(10));
  require(timer.stop(), "it is pending");
  seam::thread other("cleans", [&] { timers.refresh_first(); });
  require(!timer.reset(timers, at(To)), "it was stopped");
  other.join();
  require(timers.size() == 1 && timers.heap_size() == 1, "it is there once");
  require_good(timers);
  run(timers, To);
  require(timer.fired() == 1, "it fires");
}

TEST(ProcessorHeaps, DeleteAgainstClean) {
  holds({.name = "heaps, delete against clean", .preemptions = 3}, delete_against_clean);
  holds({.name = "heaps, revive against clean", .preemptions = 2}, revive_against_clean<5>);
  holds({.name = "heaps, revive where it stands against clean", .preemptions = 2}, revive_against_clean<10>);
}

// ---------------------------------------------------------------- modify-earlier against adjust

/// Two timers are brought forward, and the pass over all of them is due by the one that comes first. The other one is
/// queued by it, or `first` still tells of it: issues 47329 and 47762.
void bring_forward_against_adjust() {
  processor_heaps timers(0);
  marked_timer head;
  marked_timer one;
  marked_timer two;
  head.reset(timers, at(50));
  one.reset(timers, at(100));
  two.reset(timers, at(110));
  require(one.reset(timers, at(10)), "it is pending");
  seam::thread other("adjusts", [&] { run(timers, 20); });
  require(two.reset(timers, at(15)), "it was not due before");
  other.join();
  require(timers.first() <= at(15) || two.fired() == 1, "nobody sleeps past it");
  require_good(timers);
  run(timers, 20);
  require(one.fired() == 1 && two.fired() == 1 && head.fired() == 0, "what is due has fired");
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
  require(timers.first() <= at(10), "it is to come");
  other.join();
  require(timers.first() == at(10), "it stands where it belongs");
  static_cast<void>(one.stop());
  static_cast<void>(two.stop());
}

TEST(ProcessorHeaps, FirstIsNeverTooLate) {
  holds({.name = "heaps, first while adjusting", .preemptions = 3}, first_while_adjusting);
}

/// The orders by which threads that bring timers forward and threads that adjust know of each other: each is needed.
TEST(ProcessorHeaps, TheBoundNeedsItsOrders) {
  const support::leaks_ignored for_what_is_abandoned;
  std::map<std::string, bool> needed;
  const auto collect = [&](const options& with, void (*body)()) {
    for (const audited& each : audit(with, body)) {
      const std::string what = each.weakened.describe();
      if (!what.starts_with("processor_heaps_run.cpp") && !what.starts_with("processor_timers.hpp")) continue;
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
  require(timer.reset(goes, at(To)), "it is pending");
  other.join();
  require(goes.size() == 0 && heir.size() == 1, "it is where it has to be");
  require(goes.first().is_never(), "nothing is left to look for");
  require(heir.first() <= at(To), "and is known there");
  require_good(goes);
  require_good(heir);
  run(heir, To);
  require(timer.fired() == 1, "it fires there");
}

void move_against_delete() {
  processor_heaps goes(0);
  processor_heaps heir(1);
  auto timer = std::make_unique<marked_timer>();
  timer->reset(goes, at(10));
  seam::thread other("moves", [&] { heir.take_all(goes); });
  require(timer->stop(), "it is pending");
  timer.reset();
  other.join();
  require(goes.size() == 0 && heir.size() == 0, "it is stopped");
  require_good(goes);
  require_good(heir);
}

/// Issues 44868 and 45716: a start at a processor that goes away.
void move_against_start() {
  processor_heaps goes(0);
  processor_heaps heir(1);
  marked_timer timer;
  require(goes.adopt(timer), "its home");
  seam::thread other("moves", [&] { heir.take_all(goes); });
  require(!timer.reset(goes, at(10)), "it was not pending");
  other.join();
  require(goes.size() == 0 && heir.size() == 1, "it is where it has to be");
  run(heir, 10);
  require(timer.fired() == 1, "it fires there");
}

TEST(ProcessorHeaps, MoveAgainstModify) {
  holds({.name = "heaps, move against modify to later", .preemptions = 2}, move_against_modify<20>);
  holds({.name = "heaps, move against modify to earlier", .preemptions = 2}, move_against_modify<5>);
  holds({.name = "heaps, move against delete", .preemptions = 2}, move_against_delete);
  holds({.name = "heaps, move against start", .preemptions = 2}, move_against_start);
}

}  // namespace
}  // namespace foliot::model
