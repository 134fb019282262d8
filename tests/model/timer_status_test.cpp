// The shipped word with the ten states of a timer: it is the lock of the timer's fields, and decides which thread frees
// the record. Each of its memory orders must be needed.
#include <memory>

#include "runtime/timer_status.hpp"

#include "audited.hpp"

namespace foliot::model {
namespace {

using runtime::detail::timer_status;

/// The thread that repairs a timer sees what its user wrote to the fields, and the other way round.
void the_word_as_a_lock() {
  timer_status word;
  seam::plain<int> field{0};
  require(word.modify().what == timer_status::outcome::taken, "no other thread may own the timer");
  field = 1;
  word.added();
  seam::thread other("repairs", [&] {
    for (;;) {
      const timer_status::state seen = word.seen();
      if (seen == timer_status::state::modifying) {
        seam::spin_pause();
      } else if (word.move(seen)) {
        ++field;
        word.moved();
        return;
      }
    }
  });
  for (;;) {
    const timer_status::claim claim = word.modify();
    if (claim.what == timer_status::outcome::taken) break;
    seam::spin_pause();
  }
  ++field;
  word.modified(timer_status::state::modified_earlier);
  other.join();
  require(field == 3, "each thread must have added one");
}

/// A record in a heap that runs it, or takes it out; its entry stops it, and dies. The thread that learns
/// that the action is over frees the action's data, and the last holder frees the record.
void the_word_that_runs_and_dies() {
  struct record {
    timer_status word;
    seam::plain<int> used{0};
  };
  auto* const shared = new record;
  auto action = std::make_unique<seam::plain<int>>(0);
  require(shared->word.modify().what == timer_status::outcome::taken, "no other thread may own the timer");
  shared->word.added();
  const auto release = [shared](timer_status::last_holder last) {
    if (last != timer_status::last_holder::caller) return;
    ++shared->used;
    delete shared;
  };
  seam::thread heap("runs", [&] {
    if (shared->word.move(timer_status::state::waiting)) {
      ++shared->used;
      shared->word.moved();
    }
    for (;;) {
      if (shared->word.run()) {
        ++*action;
        ++shared->used;
        return release(shared->word.has_run());
      }
      if (shared->word.clean()) {
        ++shared->used;
        return release(shared->word.cleaned());
      }
      seam::spin_pause();
    }
  });
  for (;;) {
    const timer_status::claim claim = shared->word.remove();
    if (claim.what == timer_status::outcome::not_needed) break;
    if (claim.what == timer_status::outcome::taken) {
      ++shared->used;
      shared->word.marked();
      break;
    }
    seam::spin_pause();
  }
  action.reset();
  release(shared->word.abandon());
  heap.join();
}

TEST(TimerStatus, IsALock) {
  holds_and_needs_its_orders({.name = "timer status as a lock", .preemptions = unlimited}, the_word_as_a_lock);
}

TEST(TimerStatus, SaysWhoComesLast) {
  holds_and_needs_its_orders({.name = "timer status, runs and dies", .preemptions = 3}, the_word_that_runs_and_dies);
}

}  // namespace
}  // namespace foliot::model
