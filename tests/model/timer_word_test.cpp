// The word that puts a timer off without a lock, as it is shipped: put-offs against the claim, a stop and each
// other, in every schedule; and each of its memory orders, which must be needed.
#include <foliot/queue/detail/timer_word.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;
using detail::timer_word;

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// What the shard does when the timer is due by its queue: claims it, or files it again. Returns the deadline
/// that it fires for.
instant fire(timer_word& word, instant filed) {
  while (const auto later = word.claim(filed)) {
    require(*later > filed, "a timer is filed again for later alone");
    filed = *later;
  }
  return filed;
}

/// A put-off and the claim: whoever is first, both know; and what was done before a put-off is seen by the callback
/// that it has led to.
void put_off_against_fire() {
  timer_word word;
  seam::plain<int> message{0};
  name(word, "word");
  name(message, "message");
  word.arm(at(100));
  bool superseded = false;
  seam::thread other("puts off", [&] {
    message = 1;
    superseded = word.put_off(at(200));
  });
  const instant fired_for = fire(word, at(100));
  const bool seen = fired_for == at(200);
  if (seen) require(message == 1, "the callback sees what came before the put-off");
  require(!word.armed(), "it has fired");
  other.join();
  require(superseded == seen, "the answer agrees with what happened");
}

TEST(TimerWord, APutOffAgainstTheClaim) {
  holds_and_needs_its_orders({.name = "put-off against fire", .preemptions = unlimited}, put_off_against_fire);
}

/// Two put-offs: each that said it superseded something did; the timer fires once, for the latest of them, and sees
/// what came before both, if both were in time.
void two_put_offs_against_fire() {
  timer_word word;
  seam::plain<int> first{0};
  seam::plain<int> second{0};
  word.arm(at(100));
  bool first_did = false;
  bool second_did = false;
  seam::thread one("puts off to 200", [&] {
    first = 1;
    first_did = word.put_off(at(200));
  });
  seam::thread two("puts off to 300", [&] {
    second = 1;
    second_did = word.put_off(at(300));
  });
  const instant fired_for = fire(word, at(100));
  if (fired_for == at(300)) require(second == 1, "seen");
  if (fired_for == at(200)) require(first == 1, "seen");
  one.join();
  two.join();
  require(second_did == (fired_for == at(300)), "the later one decides, if it was in time");
  require(!first_did || fired_for != at(100), "nothing fires for a deadline that was put off");
  require(fired_for != at(200) || first_did, "nor for one that nobody asked for");
}

TEST(TimerWord, TwoPutOffsAgainstTheClaim) {
  holds({.name = "two put-offs against fire", .preemptions = 3}, two_put_offs_against_fire);
}

/// A put-off passes on what came before the one that it follows.
void a_chain_of_put_offs() {
  timer_word word;
  seam::plain<int> message{0};
  word.arm(at(100));
  bool first_did = false;
  seam::thread one("puts off to 200", [&] {
    message = 1;
    first_did = word.put_off(at(200));
  });
  seam::thread two("puts off to 300", [&] {
    if (word.armed_for() == at(200)) static_cast<void>(word.put_off(at(300)));
  });
  if (fire(word, at(100)) == at(300)) require(message == 1, "the first one's too");
  one.join();
  two.join();
}

TEST(TimerWord, AChainOfPutOffsPublishesAll) {
  holds({.name = "a chain of put-offs", .preemptions = 3}, a_chain_of_put_offs);
}

/// A stop has the lock, and takes the timer out of the queue; a put-off that comes before it superseded the start,
/// and is stopped; one that comes after it did nothing.
void put_off_against_stop() {
  timer_word word;
  word.arm(at(100));
  bool superseded = false;
  seam::thread other("puts off", [&] { superseded = word.put_off(at(200)); });
  word.disarm();
  require(!word.armed(), "it is stopped");
  other.join();
  require(!word.armed(), "and stays so");
  require(!word.put_off(at(300)), "whatever the put-off said");
  static_cast<void>(superseded);
}

TEST(TimerWord, APutOffAgainstAStop) {
  holds({.name = "put-off against stop", .preemptions = unlimited}, put_off_against_stop);
}

}  // namespace
}  // namespace foliot::model
