// The shipped word that postpones and stops a timer without a lock: postponements, stops and starts against take_due(),
// the lock and each other, in every schedule. Each of its memory orders must be needed.
#include <foliot/queue/detail/timer_word.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;
using detail::timer_word;

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// The steps of a shard when its queue finds the timer due: takes the word, and requeues the timer if it was postponed.
/// Returns the deadline that the timer fires for.
instant fire(timer_word& word, instant queued) {
  while (const auto later = word.take_due(queued)) {
    require(*later > queued, "a timer must be requeued for a later deadline");
    queued = *later;
    word.arm(queued);
  }
  return queued;
}

/// A postponement and take_due(): both threads learn which came first, and the callback sees the writes before the
/// postponement that has led to it.
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
  if (seen) require(message == 1, "the callback must see the writes before the postponement");
  require(!word.armed(), "the timer must have fired");
  other.join();
  require(superseded == seen, "the result must agree with the word that take() returned");
}

TEST(TimerWord, APutOffAgainstTheClaim) {
  holds({.name = "postponement against fire", .preemptions = unlimited}, postpone_against_fire);
}

/// Two postponements: each that returned true superseded a start. The timer fires once, for the latest postponement,
/// and sees the writes before both, if both were in time.
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
  if (fired_for == at(300)) require(second == 1, "the callback must see the write before the postponement");
  if (fired_for == at(200)) require(first == 1, "the callback must see the write before the postponement");
  one.join();
  two.join();
  require(second_did == (fired_for == at(300)), "the later postponement must decide if it was in time");
  require(!first_did || fired_for != at(100), "the timer must not fire for a deadline that was postponed");
  require(fired_for != at(200) || first_did, "the timer must not fire for the deadline of a refused postponement");
}

TEST(TimerWord, TwoPutOffsAgainstTheClaim) {
  holds({.name = "two postponements against fire", .preemptions = 3}, two_postponements_against_fire);
}

/// A postponement also publishes the writes before the postponement that it follows.
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
    if (word.armed() && word.load().deadline() == at(200)) static_cast<void>(word.postpone(at(300)));
  });
  if (fire(word, at(100)) == at(300))
    require(message == 1, "the callback must see the writes before both postponements");
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
  require(!word.armed(), "the timer must be stopped");
  other.join();
  require(!word.armed(), "the timer must stay stopped");
  require(!word.postpone(at(300)), "an open word must refuse a postponement");
  static_cast<void>(superseded);
}

TEST(TimerWord, APutOffAgainstAStop) {
  holds({.name = "postponement against stop", .preemptions = unlimited}, postpone_against_stop);
}

/// A stop without the lock against the timer's firing: one of them gets the timer.
void stop_against_fire() {
  timer_word word;
  word.arm(at(100));
  bool stopped = false;
  seam::thread other("stops", [&] { stopped = word.stop(); });
  const auto was = word.take();
  require(was.armed() != was.stopped(), "the word must be armed or stopped");
  other.join();
  require(stopped == was.stopped(), "the result must agree with the word that take() returned");
}

TEST(TimerWord, AStopAgainstTheClaim) {
  holds({.name = "stop against fire", .preemptions = unlimited}, stop_against_fire);
}

/// A thread that stops a timer sees the writes before its start.
void stop_after_start() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  seam::thread other("stops", [&] {
    if (word.stop()) require(message == 1, "the stop must see the writes before the start");
  });
  message = 1;
  word.arm(at(100));
  other.join();
}

TEST(TimerWord, AStopSeesWhatCameBeforeTheStart) {
  holds({.name = "stop after start", .preemptions = unlimited}, stop_after_start);
}

/// Two stops and two starts: each start is stopped at most once.
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
  const auto is = word.load();
  require(is.armed() == (stops == starts), "an armed timer must have as many starts as stops");
  require(is.stopped() == (stops == starts + 1), "a stopped timer must have one stop more than starts");
}

TEST(TimerWord, TwoStopsAndTwoStarts) {
  holds({.name = "two stops, two starts", .preemptions = 4}, two_stops_and_two_starts);
}

/// A start without the lock against take_due(): the callback sees the writes before the start that has led to it.
void start_against_fire() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  word.arm(at(100));
  require(word.stop(), "no other thread stops it");
  bool started = false;
  seam::thread other("starts", [&] {
    message = 1;
    started = word.start(at(200), [] { return at(100); }) == timer_word::started::yes;
  });
  const auto was = word.take();
  if (was.armed())
    require(message == 1 && was.deadline() == at(200), "the callback must see the writes before the start");
  other.join();
  require(started == was.armed(), "the result must agree with the firing");
}

TEST(TimerWord, AStartAgainstTheClaim) {
  holds({.name = "start against fire", .preemptions = unlimited}, start_against_fire);
}

/// A start reads the deadline that the timer is queued at while the thread with the lock requeues the timer for later:
/// if the start returns yes, the timer is queued at its deadline or earlier.
void start_against_requeueing() {
  timer_word word;
  seam::atomic<std::int64_t> queued{100};
  name(word, "word");
  name(queued, "queued");
  word.arm(at(100));
  require(word.postpone(at(300)) && word.stop(), "no other thread uses the word");
  auto did = timer_word::started::no;
  seam::thread other("starts", [&] { did = word.start(at(200), [&] { return at(queued.load(seam::relaxed)); }); });
  // Under the lock: the timer is started, and stopped again.
  const bool was_started = word.take().armed();
  queued.store(300, seam::relaxed);
  word.arm(at(300));
  const bool was_stopped = word.stop();
  other.join();
  if (did == timer_word::started::yes) require(was_started, "it is armed at 200, and queued at 300");
  if (did == timer_word::started::no)
    require(!was_started && was_stopped, "only the thread with the lock can make the start fail");
}

TEST(TimerWord, AStartAgainstThreadsThatRequeueIt) {
  holds({.name = "start against requeueing", .preemptions = unlimited}, start_against_requeueing);
}

/// All of the above one after the other, for the audit of the memory orders.
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
  require(started.stop() && requeued.stop(), "no other thread uses the word");
  restored.arm(at(100));
  const auto was = restored.take();
  auto did = timer_word::started::no;
  seam::thread other("without the lock", [&] {
    if (stopped.stop()) require(before_stop == 1, "the stop must see the writes before the start");
    before_postpone = 1;
    static_cast<void>(postpone.postpone(at(200)));
    before_start = 1;
    static_cast<void>(started.start(at(200), [] { return at(100); }));
    did = requeued.start(at(200), [&] { return at(queued.load(seam::relaxed)); });
    if (restored.stop()) require(before_restore == 1, "the stop must see the writes before the start");
    before_chain = 1;
    static_cast<void>(chained.stop());
  });
  before_stop = 1;
  stopped.arm(at(100));
  if (postpone.take().deadline() == at(200)) require(before_postpone == 1, "the callback must see the write");
  if (started.take().armed()) require(before_start == 1, "the callback must see the write");
  const bool was_started = requeued.take().armed();
  queued.store(300, seam::relaxed);
  requeued.arm(at(300));
  require(requeued.stop() || was_started || did != timer_word::started::no, "no other thread stops it");
  before_restore = 1;
  restored.restore(was);
  if (chained.start(at(200), [] { return at(100); }) == timer_word::started::yes) {
    require(before_chain == 1, "the start must see the writes before the stop");
  }
  other.join();
  require(did != timer_word::started::yes || was_started, "it is armed at 200, and queued at 300");
}

TEST(TimerWord, NeedsEachOfItsOrders) { needs_its_orders({.name = "timer word", .preemptions = 3}, what_needs_orders); }

}  // namespace
}  // namespace foliot::model
