// The word that puts a timer off and stops it without a lock, as it is shipped: postponements, stops and starts against
// the claim, the lock and each other, in every schedule; and each of its memory orders, which must be needed.
#include <foliot/queue/detail/timer_word.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;
using detail::timer_word;

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// What the shard does when the timer is due by its queue: claims it, or files it again. Returns the deadline
/// that it fires for.
instant fire(timer_word& word, instant queued) {
  while (const auto later = word.claim(queued)) {
    require(*later > queued, "a timer is requeued for later alone");
    queued = *later;
    word.arm(queued);
  }
  return queued;
}

/// A postponement and the claim: both threads learn which came first; and what was done before a postponement is seen
/// by the callback that it has led to.
void postpone_against_fire() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  word.arm(at(100));
  bool superseded = false;
  seam::thread other("postpones", [&] {
    message = 1;
    superseded = word.postpone(at(200));
  });
  const instant fired_for = fire(word, at(100));
  const bool seen = fired_for == at(200);
  if (seen) require(message == 1, "the callback sees what came before the postponement");
  require(!word.armed(), "it has fired");
  other.join();
  require(superseded == seen, "the answer agrees with what happened");
}

TEST(TimerWord, APutOffAgainstTheClaim) {
  holds({.name = "postponement against fire", .preemptions = unlimited}, postpone_against_fire);
}

/// Two postponements: each that said it superseded something did; the timer fires once, for the latest of them, and
/// sees what came before both, if both were in time.
void two_postponements_against_fire() {
  timer_word word;
  seam::plain<int> first{0};
  seam::plain<int> second{0};
  word.arm(at(100));
  bool first_did = false;
  bool second_did = false;
  seam::thread one("postpones to 200", [&] {
    first = 1;
    first_did = word.postpone(at(200));
  });
  seam::thread two("postpones to 300", [&] {
    second = 1;
    second_did = word.postpone(at(300));
  });
  const instant fired_for = fire(word, at(100));
  if (fired_for == at(300)) require(second == 1, "seen");
  if (fired_for == at(200)) require(first == 1, "seen");
  one.join();
  two.join();
  require(second_did == (fired_for == at(300)), "the later one decides, if it was in time");
  require(!first_did || fired_for != at(100), "nothing fires for a deadline that was postponed");
  require(fired_for != at(200) || first_did, "nor for one that nobody asked for");
}

TEST(TimerWord, TwoPutOffsAgainstTheClaim) {
  holds({.name = "two postponements against fire", .preemptions = 3}, two_postponements_against_fire);
}

/// A postponement passes on what came before the one that it follows.
void a_chain_of_postponements() {
  timer_word word;
  seam::plain<int> message{0};
  word.arm(at(100));
  bool first_did = false;
  seam::thread one("postpones to 200", [&] {
    message = 1;
    first_did = word.postpone(at(200));
  });
  seam::thread two("postpones to 300", [&] {
    if (word.armed() && word.now().deadline() == at(200)) static_cast<void>(word.postpone(at(300)));
  });
  if (fire(word, at(100)) == at(300)) require(message == 1, "the first one's too");
  one.join();
  two.join();
}

TEST(TimerWord, AChainOfPutOffsPublishesAll) {
  holds({.name = "a chain of postponements", .preemptions = 3}, a_chain_of_postponements);
}

/// A stop has the lock, and takes the timer out of the queue; a postponement that comes before it superseded the start,
/// and is stopped; one that comes after it did nothing.
void postpone_against_stop() {
  timer_word word;
  word.arm(at(100));
  bool superseded = false;
  seam::thread other("postpones", [&] { superseded = word.postpone(at(200)); });
  word.disarm();
  require(!word.armed(), "it is stopped");
  other.join();
  require(!word.armed(), "and stays so");
  require(!word.postpone(at(300)), "whatever the postponement said");
  static_cast<void>(superseded);
}

TEST(TimerWord, APutOffAgainstAStop) {
  holds({.name = "postponement against stop", .preemptions = unlimited}, postpone_against_stop);
}

/// A stop without the lock against the timer's end by the queue: one of them has it.
void stop_against_fire() {
  timer_word word;
  word.arm(at(100));
  bool stopped = false;
  seam::thread other("stops", [&] { stopped = word.stop(); });
  const auto was = word.take();
  require(was.armed() != was.stopped(), "one of the two");
  other.join();
  require(stopped == was.stopped(), "the answer agrees with what happened");
}

TEST(TimerWord, AStopAgainstTheClaim) {
  holds({.name = "stop against fire", .preemptions = unlimited}, stop_against_fire);
}

/// Who stops a timer sees what came before its start.
void stop_after_start() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  seam::thread other("stops", [&] {
    if (word.stop()) require(message == 1, "what came before the start is seen");
  });
  message = 1;
  word.arm(at(100));
  other.join();
}

TEST(TimerWord, AStopSeesWhatCameBeforeTheStart) {
  holds({.name = "stop after start", .preemptions = unlimited}, stop_after_start);
}

/// Two stops and two starts: each outcome is had once.
void two_stops_and_two_starts() {
  timer_word word;
  word.arm(at(100));
  const auto queued = [] { return at(100); };
  int stops = 0;
  int starts = 0;
  bool stopped = false;
  bool started = false;
  seam::thread other("stops and starts", [&] {
    stopped = word.stop();
    started = word.start(at(200), queued) == timer_word::started::yes;
  });
  stops += word.stop() ? 1 : 0;
  starts += word.start(at(300), queued) == timer_word::started::yes ? 1 : 0;
  other.join();
  stops += stopped ? 1 : 0;
  starts += started ? 1 : 0;
  const auto is = word.now();
  require(is.armed() == (stops == starts), "as many starts as stops, or one less");
  require(is.stopped() == (stops == starts + 1), "no stop or start is had twice");
}

TEST(TimerWord, TwoStopsAndTwoStarts) {
  holds({.name = "two stops, two starts", .preemptions = 4}, two_stops_and_two_starts);
}

/// A start without the lock against the claim: what came before it is seen by the callback that it has led to.
void start_against_fire() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  word.arm(at(100));
  require(word.stop(), "nobody else does");
  bool started = false;
  seam::thread other("starts", [&] {
    message = 1;
    started = word.start(at(200), [] { return at(100); }) == timer_word::started::yes;
  });
  const auto was = word.take();
  if (was.armed()) require(message == 1 && was.deadline() == at(200), "the callback sees what came before the start");
  other.join();
  require(started == was.armed(), "the answer agrees with what happened");
}

TEST(TimerWord, AStartAgainstTheClaim) {
  holds({.name = "start against fire", .preemptions = unlimited}, start_against_fire);
}

/// A start that looks at what the timer is queued at, while the thread that has the lock queues it for later: a thread
/// that is told yes has a timer that is queued at its deadline or earlier.
void start_against_filing() {
  timer_word word;
  seam::atomic<std::int64_t> queued{100};
  name(word, "word");
  name(queued, "queued");
  word.arm(at(100));
  require(word.postpone(at(300)) && word.stop(), "nobody else is there");
  auto did = timer_word::started::no;
  seam::thread other("starts", [&] { did = word.start(at(200), [&] { return at(queued.load(seam::relaxed)); }); });
  // Under the lock: started anew, and stopped again.
  const bool was_started = word.take().armed();
  queued.store(300, seam::relaxed);
  word.arm(at(300));
  const bool was_stopped = word.stop();
  other.join();
  if (did == timer_word::started::yes) require(was_started, "it is armed at 200, and queued at 300");
  if (did == timer_word::started::no) require(!was_started && was_stopped, "the lock came between");
}

TEST(TimerWord, AStartAgainstThoseWhoFileItForLater) {
  holds({.name = "start against filing", .preemptions = unlimited}, start_against_filing);
}

/// One after the other what each of the above needs its orders for.
void what_needs_orders() {
  timer_word stopped;
  timer_word postpone;
  timer_word started;
  timer_word requeued;
  timer_word restored;
  timer_word chained;
  name(stopped, "stopped");
  name(postpone, "postponed");
  name(started, "started");
  name(requeued, "requeued");
  name(restored, "restored");
  name(chained, "chained");
  seam::plain<int> before_stop{0};
  seam::plain<int> before_postpone{0};
  seam::plain<int> before_start{0};
  seam::plain<int> before_restore{0};
  seam::plain<int> before_chain{0};
  seam::atomic<std::int64_t> queued{100};
  postpone.arm(at(100));
  chained.arm(at(100));
  started.arm(at(100));
  requeued.arm(at(300));
  require(started.stop() && requeued.stop(), "nobody else is there");
  restored.arm(at(100));
  const auto was = restored.take();
  auto did = timer_word::started::no;
  seam::thread other("without the lock", [&] {
    if (stopped.stop()) require(before_stop == 1, "what came before the start is seen");
    before_postpone = 1;
    static_cast<void>(postpone.postpone(at(200)));
    before_start = 1;
    static_cast<void>(started.start(at(200), [] { return at(100); }));
    did = requeued.start(at(200), [&] { return at(queued.load(seam::relaxed)); });
    if (restored.stop()) require(before_restore == 1, "what came before the start is seen");
    before_chain = 1;
    static_cast<void>(chained.stop());
  });
  before_stop = 1;
  stopped.arm(at(100));
  if (postpone.take().deadline() == at(200)) require(before_postpone == 1, "seen by the callback");
  if (started.take().armed()) require(before_start == 1, "seen by the callback");
  const bool was_started = requeued.take().armed();
  queued.store(300, seam::relaxed);
  requeued.arm(at(300));
  require(requeued.stop() || was_started || did != timer_word::started::no, "nobody else stops it");
  before_restore = 1;
  restored.restore(was);
  if (chained.start(at(200), [] { return at(100); }) == timer_word::started::yes) {
    require(before_chain == 1, "what came before the stop is seen");
  }
  other.join();
  require(did != timer_word::started::yes || was_started, "it is armed at 200, and queued at 300");
}

TEST(TimerWord, NeedsEachOfItsOrders) { needs_its_orders({.name = "timer word", .preemptions = 3}, what_needs_orders); }

}  // namespace
}  // namespace foliot::model
