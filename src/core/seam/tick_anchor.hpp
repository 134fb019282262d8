// An estimate of the system's clock that is never behind it: the last reading of the clock and of the processor's ticks
// together, and the length of a tick. For 10 us after that reading the estimate goes on by counting ticks.
//
// Why it is never behind the clock:
//   - A tick's length is measured over at least a millisecond, between two readings that each took at most 500 ticks,
//     so its error is at most 0.1 % where ticks are at most 1 ns. Where they are longer, as on aarch64, a reading takes
//     at most 500 ns or one tick, and ticks are at most 100 ns, so the error is at most 0.1 %, too. It is used only if
//     two measurements in a row agree within 1 %: one alone may span a suspend, in which the ticks may go on while the
//     clock stands still.
//   - The clock's rate may change after the measurement: adjtimex lets it run 10 % slow or fast (ADJ_TICK, with which
//     chrony slews), and 0.1 % more; from one extreme to the other that is 1.101 / 0.899, or 22.5 %. So the rate is
//     raised by a quarter, which covers the error of the measurement, too; in 10 us it adds 2.5 us.
//   - The processor may read its ticks some instructions early, before loads that have not completed; the counts of two
//     processors may differ by nanoseconds; the count leaves out a part of a tick, at most 100 ns. So 1 us is added.
//   - The count of the last reading is taken before the clock is (ticks_first), so the count since is never too small.
// What is known of each architecture's counter is in tick_counter.hpp.
//
// It is at most 4 us ahead of the clock, where ticks are at most 1 ns, and a tick more where they are longer; up to 7
// us while the clock is slewed.
//
// It never goes back: a result is at least the previous one, also where a new reading of the clock is behind the last
// estimates, or the processor reads its ticks out of order. The bound holds as before, since the clock itself does not
// go back. Only the child of a fork may see an earlier clock, in another time namespace; then the estimate starts anew.
//
// Thread safety: one thread's.
#pragma once

#include <algorithm>
#include <cstdint>

#include <foliot/core/instant.hpp>

namespace foliot::inline core::seam {

/// What a counter's ticks may be. A measured length outside is not used.
struct tick_bounds {
  static constexpr std::uint64_t one_ns = std::uint64_t{1} << 32;

  std::uint64_t least_rate = one_ns / 10;  ///< ns for 2^32 ticks: a tick takes at least 0.1 ns ...
  std::uint64_t most_rate = one_ns * 10;   ///< ... and at most 10 ns
  std::uint64_t longest_reading = 500;     ///< ticks; a reading that takes more was interrupted

  /// For a counter that says how many ticks a second has; the clock may run 11 % slow or fast. Nothing is plausible
  /// where a tick would take less than 0.1 or more than 100 ns, as where the frequency was not set.
  static constexpr tick_bounds of_frequency(std::uint64_t hertz) noexcept {
    if (hertz < 10'000'000 || hertz > 10'000'000'000) return {1, 0, 0};
    const auto rate = static_cast<std::uint64_t>((static_cast<wide>(1'000'000'000) << 32) / hertz);
    return {rate - rate / 8, std::min(rate + rate / 8, one_ns * 100),
            std::clamp<std::uint64_t>(hertz / 2'000'000, 1, 500)};
  }

 private:
  __extension__ using wide = unsigned __int128;
};

/// The estimate of one thread.
class tick_anchor {
 public:
  /// An instant that is not before clocks.system(), nor before the previous result. clocks.system() is called only when
  /// the last reading is too old.
  /// clocks.ticks() is the processor's count of ticks, and clocks.ticks_first() one that is taken before what follows;
  /// clocks.trusts_ticks() says whether the counts of all processors are synchronised; clocks.bounds() says what a tick
  /// may be.
  template <class Clocks>
  [[nodiscard]] instant now_or_later(Clocks&& clocks) noexcept {
    const std::uint64_t since = clocks.ticks() - ticks_;
    if (since < lifetime_) [[likely]] {
      return not_back(shown_ + margin + static_cast<std::int64_t>((since * fast_rate_) >> 32));
    }
    return renew(clocks);
  }

 private:
  __extension__ using wide = unsigned __int128;

  static constexpr std::int64_t margin = 1'000;            // ns
  static constexpr std::uint64_t rate_margin = 4;          // the rate is raised by 1/4
  static constexpr std::uint64_t rate_may_differ = 100;    // two measurements may differ by 1/100
  static constexpr std::int64_t lifetime = 10'000;         // ns, of a reading of both
  static constexpr std::int64_t furthest_ahead = 20'000;   // ns, more than any estimate is ahead of the clock
  static constexpr std::int64_t shortest_gap = 1'000'000;  // ns, between the readings of a measurement

  instant not_back(std::int64_t reading) noexcept {
    result_ = std::max(result_, reading);
    return instant::from_nanoseconds(result_);
  }

  template <class Clocks>
  [[gnu::noinline]] instant renew(Clocks& clocks) noexcept {
    const std::uint64_t before = clocks.ticks_first();
    const std::int64_t now = clocks.system().nanoseconds();
    if (result_ - now > furthest_ahead) result_ = now;  // another time namespace
    const tick_bounds bounds = clocks.bounds();
    if (clocks.ticks() - before <= bounds.longest_reading) {
      ticks_ = before;
      shown_ = now;
      if (shown_ - measured_from_ >= shortest_gap) measure(bounds, clocks.trusts_ticks());
    }
    return not_back(now);
  }

  void measure(const tick_bounds& bounds, bool trusted) noexcept {
    const std::int64_t gap = shown_ - measured_from_;
    const std::uint64_t rate = ticks_ > ticks_from_ ? rate_over(gap, ticks_ - ticks_from_, bounds) : 0;
    const bool agrees = rate != 0 && difference(rate, rate_) < rate_ / rate_may_differ;
    rate_ = rate;
    fast_rate_ = rate + rate / rate_margin;
    // Zero: each call reads the system's clock.
    lifetime_ = trusted && agrees ? static_cast<std::uint64_t>((static_cast<wide>(lifetime) << 32) / rate) : 0;
    ticks_from_ = ticks_;
    measured_from_ = shown_;
  }

  /// The rate in ns for 2^32 ticks; zero if it is implausible.
  static std::uint64_t rate_over(std::int64_t gap, std::uint64_t ticks, const tick_bounds& bounds) noexcept {
    const wide rate = (static_cast<wide>(gap) << 32) / ticks;
    return rate < bounds.least_rate || rate > bounds.most_rate ? 0 : static_cast<std::uint64_t>(rate);
  }
  static std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }

  // The last reading of both.
  std::uint64_t ticks_ = 0;
  std::int64_t shown_ = 0;
  // The previous result.
  std::int64_t result_ = 0;
  // How many ticks that reading may be used for, and the raised rate: ns for 2^32 ticks.
  std::uint64_t lifetime_ = 0;
  std::uint64_t fast_rate_ = 0;
  // The last measured rate, and the reading at which the next measurement began.
  std::uint64_t rate_ = 0;
  std::uint64_t ticks_from_ = 0;
  std::int64_t measured_from_ = 0;
};

}  // namespace foliot::inline core::seam
