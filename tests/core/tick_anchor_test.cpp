// The tick clock on a simulated machine whose clocks run fast and slow, stand still while the machine sleeps, and are
// read by a thread that may be interrupted anywhere.
#include "seam/tick_anchor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/seam/system.hpp>

#include "seam/tick_counter.hpp"

namespace foliot {
namespace {

/// Both clocks, in true nanoseconds.
class machine {
 public:
  machine(std::uint64_t seed, double ticks_a_nanosecond, const seam::tick_bounds& bounds = {})
      : random_(seed), ticks_rate_(ticks_a_nanosecond), bounds_(bounds) {}

  // The interface that a tick_anchor calls.
  std::uint64_t ticks() {
    // Read ahead of time, or by a processor that is behind the others.
    const double old = part() < 0.3 ? 900 * part() : 0;
    const auto read = static_cast<std::uint64_t>(ticks_ - old * ticks_rate_);
    pass_a_moment();
    return read;
  }
  std::uint64_t ticks_first() { return ticks(); }
  instant system() {
    const instant read = now();
    pass_a_moment();
    return read;
  }
  bool trusts_ticks() const { return trusted; }
  seam::tick_bounds bounds() const { return bounds_; }

  [[nodiscard]] instant now() const { return instant::from_nanoseconds(static_cast<std::int64_t>(system_)); }
  void pass(double nanoseconds) {
    system_ += nanoseconds * slew_;
    ticks_ += nanoseconds * ticks_rate_;
  }
  /// At most once in 100 ms: between two suspends a computer is awake for a while.
  void suspend(double nanoseconds) {
    if (system_ - resumed_at_ < 100e6) return;
    resumed_at_ = system_;
    ticks_ += nanoseconds * ticks_rate_;
  }
  void set_back(double nanoseconds) { system_ -= nanoseconds; }
  /// Within the range of adjtimex.
  void slew() {
    const double where = part();
    slew_ = where < 0.3 ? 0.899 : where < 0.6 ? 1.101 : 0.899 + 0.202 * part();
  }

  /// From 0 to 1.
  double part() { return random_.unit(); }
  /// A length of at least `shortest`, each order of magnitude with the same probability.
  double some_time(double shortest, double longest) {
    return shortest * std::exp(part() * std::log(longest / shortest));
  }

  bool trusted = true;
  int interrupts = 0;

 private:
  void pass_a_moment() {
    pass(part() * 20);
    if (part() > 0.02) return;
    ++interrupts;
    pass(some_time(100, 10e6));
  }

  random_stream random_;
  double ticks_rate_;
  seam::tick_bounds bounds_;
  double slew_ = 1;
  double ticks_ = 1e12 * part();
  double system_ = 1e13 + 1e12 * part();
  double resumed_at_ = 0;
};

/// Reads an anchor on a machine for a while: its results are never behind the clock, and never go back.
void walk(machine& all) {
  seam::tick_anchor anchor;
  instant last;
  int held = 0;
  int ahead = 0;
  for (int i = 0; i < 20'000; ++i) {
    const instant before = all.now();
    const int interrupts = all.interrupts;
    const instant shown = anchor.now_or_later(all);
    ASSERT_GE(shown, before);
    if (all.interrupts == interrupts) {
      ASSERT_LE(shown, all.now() + duration::nanoseconds(7'000));
    }
    ASSERT_GE(shown, last) << "the anchor went back";
    held += shown == last ? 1 : 0;
    last = shown;
    ahead += shown > all.now() ? 1 : 0;
    const double choice = all.part();
    if (choice < 0.9) {
      all.pass(all.some_time(1, 10e3));
    } else if (choice < 0.98) {
      all.pass(all.some_time(10e3, 10e6));
    } else if (choice < 0.995) {
      all.slew();
    } else {
      all.suspend(all.some_time(1e6, 1e12));
    }
  }
  EXPECT_GT(ahead, 1'000) << "the anchor never used the ticks";
  EXPECT_GT(held, 100) << "no reading of the clock was behind an estimate";
}

TEST(TickAnchor, IsNeverBehindAndLittleAhead) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    machine all(seed, seed % 3 == 0 ? 1.0 : 2.45);
    walk(all);
    if (HasFatalFailure()) return;
  }
}

/// The counters of aarch64: most have 24 to 62.5 MHz, and from Armv8.6 on a gigahertz.
TEST(TickAnchor, IsNeverBehindWithLongTicks) {
  for (const std::uint64_t hertz : {10'300'000U, 24'000'000U, 62'500'000U, 1'000'000'000U}) {
    SCOPED_TRACE(hertz);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(seed);
      machine all(seed, static_cast<double>(hertz) / 1e9, seam::tick_bounds::of_frequency(hertz));
      walk(all);
      if (HasFatalFailure()) return;
    }
  }
}

/// Firmware may say another frequency than the counter has, or none.
TEST(TickAnchor, AsksTheSystemWhereTheFrequencyIsWrong) {
  for (const std::uint64_t said : {0U, 1'000'000U, 20'000'000U, 1'000'000'000U}) {
    SCOPED_TRACE(said);
    machine all(1, 0.024, seam::tick_bounds::of_frequency(said));
    seam::tick_anchor anchor;
    for (int i = 0; i < 20'000; ++i) {
      const instant before = all.now();
      const instant shown = anchor.now_or_later(all);
      ASSERT_GE(shown, before);
      ASSERT_LE(shown, all.now());
      all.pass(all.some_time(1, 10e3));
    }
  }
}

TEST(TickBounds, OfAFrequency) {
  using seam::tick_bounds;
  const tick_bounds slow = tick_bounds::of_frequency(24'000'000);
  EXPECT_LT(slow.least_rate, tick_bounds::one_ns * 125 / 3);
  EXPECT_GT(slow.most_rate, tick_bounds::one_ns * 125 / 3);
  EXPECT_EQ(slow.longest_reading, 12U);
  EXPECT_EQ(tick_bounds::of_frequency(1'000'000'000).longest_reading, 500U);
  EXPECT_EQ(tick_bounds::of_frequency(4'000'000'000).longest_reading, 500U);
  EXPECT_EQ(tick_bounds::of_frequency(10'000'000).longest_reading, 5U);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{9'999'999}, std::uint64_t{10'000'000'001}}) {
    EXPECT_GT(tick_bounds::of_frequency(none).least_rate, tick_bounds::of_frequency(none).most_rate) << none;
  }
}

#if defined(__aarch64__)
/// The counter of this processor, which the architecture keeps in step on all of them, whatever clock source the kernel
/// has: under qemu-user that is the one of the machine below.
TEST(TickCounter, IsNeverBehindTheSystemsClock) {
  struct clocks : seam::tick_counter {
    static instant system() noexcept { return seam::monotonic_now(); }
    static bool trusts_ticks() noexcept { return true; }
  };
  seam::tick_anchor anchor;
  instant last;
  int ahead = 0;
  for (int i = 0; i < 300'000 && ahead < 10'000; ++i) {
    const instant before = seam::monotonic_now();
    const instant shown = anchor.now_or_later(clocks());
    ASSERT_GE(shown, before);
    ASSERT_GE(shown, last);
    last = shown;
    ahead += shown > seam::monotonic_now() ? 1 : 0;
  }
  if (ahead == 0) GTEST_SKIP() << "every reading of the clock took too long for an estimate";
  RecordProperty("ahead", ahead);
}
#endif

/// As the child of a fork may find it in another time namespace.
TEST(TickAnchor, FollowsAClockThatIsSetBack) {
  machine all(1, 2.45);
  seam::tick_anchor anchor;
  for (int i = 0; i < 1'000; ++i) {
    static_cast<void>(anchor.now_or_later(all));
    all.pass(5'000);
  }
  all.set_back(3600e9);
  all.pass(20'000);
  for (int i = 0; i < 1'000; ++i) {
    const instant before = all.now();
    const instant shown = anchor.now_or_later(all);
    ASSERT_GE(shown, before);
    ASSERT_LE(shown, all.now() + duration::nanoseconds(7'000));
  }
}

TEST(TickAnchor, AsksTheSystemWhereTicksAreNotTrusted) {
  machine all(1, 2.45);
  all.trusted = false;
  seam::tick_anchor anchor;
  for (int i = 0; i < 100'000; ++i) {
    const instant before = all.now();
    const instant shown = anchor.now_or_later(all);
    ASSERT_GE(shown, before);
    ASSERT_LE(shown, all.now());
  }
}

}  // namespace
}  // namespace foliot
