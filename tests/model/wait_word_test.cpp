// The shipped word that decides which event ends a task's wait: sources, interrupts and the task itself, in every
// schedule. The task goes on once, and sees the winner's write.
#include <array>
#include <optional>
#include <vector>

#include <foliot/runtime/detail/wait_word.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using runtime::detail::wait_word;
using claim_result = wait_word::claim_result;
using commit_result = wait_word::commit_result;
using interrupts = wait_word::interrupts;

/// A task of one wait: the thread that has to make it ready goes on in its place.
class waiter {
 public:
  waiter() { name(word, "word"); }

  /// By the task: waits. go_on() runs after the wait, here or on the thread that resumes the task.
  void wait(interrupts how = interrupts::heeded) {
    before = 1;
    const commit_result result = word.commit(how);
    if (result == commit_result::parked) return;  // the task may be gone: no member may be used
    if (result == commit_result::interrupted) word.leave();
    go_on();
  }
  /// By a source.
  void claim(wait_word::source by) {
    left[by] = 1;
    const claim_result result = word.claim(ticket, by);
    claims[by] = result != claim_result::late ? 1 : 0;
    if (result == claim_result::to_resume) resume();
  }
  /// The reason of the interrupt, and then the interrupt.
  void interrupt() {
    reason.store(1, seam::relaxed);
    if (word.interrupt()) resume();
  }

  void has_gone_on_once() {
    require(times_on.load(seam::relaxed) == 1, "the task must go on once");
    unsigned winners = 0;
    for (auto& each : claims) winners += each;
    require(winners == (ended_by == wait_word::interrupted ? 0 : 1),
            "exactly one source must have claimed the wait, or none after an interrupt");
  }

  wait_word word;
  seam::plain<wait_word::ticket> ticket{word.begin()};
  seam::plain<int> before{0};
  std::array<seam::plain<int>, 2> left{};
  std::array<seam::plain<unsigned>, 2> claims{};
  seam::atomic<int> reason{0};
  seam::atomic<int> times_on{0};
  wait_word::source ended_by = 0;

 private:
  void resume() {
    require(before == 1, "the task must be suspended");
    go_on();
  }
  void go_on() {
    times_on.fetch_add(1, seam::relaxed);
    ended_by = word.winner();
    if (ended_by == wait_word::interrupted) {
      require(word.has_interrupt(), "an interrupt must set its bit");
      require(reason.load(seam::relaxed) == 1, "the task must see the reason");
    } else {
      require(left[ended_by] == 1, "the task must see the source's write");
    }
  }
};

void two_sources() {
  waiter task;
  std::vector<seam::thread> sources;
  for (wait_word::source s = 0; s < 2; ++s) sources.emplace_back("source", [&task, s] { task.claim(s); });
  task.wait();
  for (seam::thread& each : sources) each.join();
  task.has_gone_on_once();
}

void source_and_interrupt(interrupts how) {
  waiter task;
  seam::thread source("source", [&] { task.claim(0); });
  seam::thread other("interrupts", [&] { task.interrupt(); });
  task.wait(how);
  source.join();
  other.join();
  task.has_gone_on_once();
  require(how == interrupts::heeded || task.ended_by == 0, "a source must end a wait that defers interrupts");
  require(task.word.has_interrupt(), "the interrupt must be kept for the next wait");
}

TEST(WaitWord, IsEndedByOneOfItsSources) {
  holds({.name = "wait word, two sources", .preemptions = unlimited}, two_sources);
}

TEST(WaitWord, IsEndedByASourceOrAnInterrupt) {
  holds({.name = "wait word, source and interrupt", .preemptions = 3},
        [] { source_and_interrupt(interrupts::heeded); });
  holds({.name = "wait word, bound", .preemptions = 3}, [] { source_and_interrupt(interrupts::deferred); });
}

/// A source that knows of an earlier wait is too late for the next one.
void two_waits() {
  wait_word word;
  name(word, "word");
  const wait_word::ticket first = word.begin();
  seam::plain<int> resumed{0};
  claim_result late{};
  seam::thread source("of the first wait", [&] { late = word.claim(first, 0); });
  // The task leaves the first wait, unless that source was in time.
  if (word.commit() == commit_result::parked) {
    if (!word.interrupt()) {
      source.join();
      require(late == claim_result::to_resume, "the source must have ended the first wait");
      return;
    }
  }
  const bool in_time = word.winner() == 0;
  const wait_word::ticket second = word.begin();
  static_cast<void>(word.claim(second, 1));
  require(word.winner() == 1, "its own source must end the second wait");
  source.join();
  require((late != claim_result::late) == in_time, "the first source must learn that it was late");
}

TEST(WaitWord, ATicketOfAnEarlierWaitIsLate) {
  holds({.name = "wait word, two waits", .preemptions = unlimited}, two_waits);
}

/// task_state::confirm_interrupt: an interrupt is cleared only if it has no reason; one that comes meanwhile is seen,
/// there or at the next look.
void clear_against_interrupt() {
  wait_word word;
  seam::atomic<int> reason{0};
  name(word, "word");
  static_cast<void>(word.interrupt());  // its reason is gone
  seam::thread other("interrupts", [&] {
    reason.store(1, seam::relaxed);
    static_cast<void>(word.interrupt());
  });
  word.clear_interrupt();
  const bool seen = reason.load(seam::relaxed) == 1;
  const bool again = word.has_interrupt();
  if (again) require(reason.load(seam::relaxed) == 1, "the bit must stand for a reason");
  other.join();
  require(seen || word.has_interrupt(), "no reason may be lost");
}

TEST(WaitWord, ForgetsNoReason) {
  holds({.name = "wait word, cleared", .preemptions = unlimited}, clear_against_interrupt);
}

TEST(Orders, OfTheWaitWord) {
  needs_its_orders({.name = "orders of the wait word", .preemptions = 2}, [] {
    switch (choose(3)) {
      case 0: return two_sources();
      case 1: return source_and_interrupt(interrupts::heeded);
      default: return clear_against_interrupt();
    }
  });
}

}  // namespace
}  // namespace foliot::model
