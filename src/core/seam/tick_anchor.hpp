// What one thread knows of two clocks: how far the processor's ticks and the system's clock had come when it last read
// both, and how long a tick is. It goes on from there by ticks alone, for 10 us, and so that it is never behind.
//
// Never behind:
//   - A tick's length is measured over a millisecond or more, between two readings that each took at most 500 ticks,
//     and so to 0.1 % where ticks are at most 1 ns; and believed when two measurements in a row agree within 1 %. One
//     alone may span a suspend, in which the ticks may go on and the clock stands still.
//   - The clock's rate may change by then: adjtimex lets it run 10 % slow or fast (ADJ_TICK, with which chrony slews),
//     and 0.1 % besides; from one end to the other that is 1.101 / 0.899, 22.5 % more. A quarter is added, which
//     covers the measurement as well, and in 10 us is 2.5.
//   - The processor may read its ticks some instructions ahead of time, before loads that are still waited for;
//     processors' counts may differ by nanoseconds. 1 us is added.
//
// How far ahead: at most 4 us, where ticks are at most 1 ns; while the clock is slewed up to 7.
//
// Thread safety: one thread's.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>

namespace foliot::inline core::seam {

class tick_anchor {
 public:
  /// Not before clocks.system(), which it asks when it must. clocks.ticks() is the processor's count, trusts_ticks()
  /// whether those of all processors are one.
  template <class Clocks>
  [[nodiscard]] instant now_or_later(Clocks&& clocks) noexcept {
    const std::uint64_t since = clocks.ticks() - ticks_;
    if (since < lifetime_) [[likely]] {
      return instant::from_nanoseconds(shown_ + margin + static_cast<std::int64_t>((since * fast_rate_) >> 32));
    }
    return renew(clocks);
  }

 private:
  __extension__ using wide = unsigned __int128;

  static constexpr std::int64_t margin = 1'000;            // ns
  static constexpr std::uint64_t rate_margin = 4;          // a part in so many
  static constexpr std::uint64_t rate_may_differ = 100;    // so too
  static constexpr std::int64_t lifetime = 10'000;         // ns, of a reading of both
  static constexpr std::int64_t shortest_gap = 1'000'000;  // ns, to measure the rate over
  static constexpr std::uint64_t longest_reading = 500;    // ticks: what took more was interrupted

  template <class Clocks>
  [[gnu::noinline]] instant renew(Clocks& clocks) noexcept {
    const std::uint64_t before = clocks.ticks();
    const instant now = clocks.system();
    if (clocks.ticks() - before > longest_reading) return now;
    ticks_ = before;
    shown_ = now.nanoseconds();
    if (shown_ - measured_from_ >= shortest_gap) measure(clocks.trusts_ticks());
    return now;
  }

  void measure(bool trusted) noexcept {
    const std::int64_t gap = shown_ - measured_from_;
    const std::uint64_t rate = ticks_ > ticks_from_ ? rate_over(gap, ticks_ - ticks_from_) : 0;
    const bool agrees = rate != 0 && difference(rate, rate_) < rate_ / rate_may_differ;
    rate_ = rate;
    fast_rate_ = rate + rate / rate_margin;
    // Zero: the system is asked each time.
    lifetime_ = trusted && agrees ? static_cast<std::uint64_t>((static_cast<wide>(lifetime) << 32) / rate) : 0;
    ticks_from_ = ticks_;
    measured_from_ = shown_;
  }

  /// Zero where it cannot be: ticks are 0.1 to 10 ns.
  static std::uint64_t rate_over(std::int64_t gap, std::uint64_t ticks) noexcept {
    const wide rate = (static_cast<wide>(gap) << 32) / ticks;
    constexpr std::uint64_t one_ns = std::uint64_t{1} << 32;
    return rate < one_ns / 10 || rate > one_ns * 10 ? 0 : static_cast<std::uint64_t>(rate);
  }
  static std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }

  // The last reading of both.
  std::uint64_t ticks_ = 0;
  std::int64_t shown_ = 0;
  // For how many ticks it is good, and the rate by which it goes on: ns for 2^32 ticks.
  std::uint64_t lifetime_ = 0;
  std::uint64_t fast_rate_ = 0;
  // The rate as it was measured last, and the reading since which it is measured again.
  std::uint64_t rate_ = 0;
  std::uint64_t ticks_from_ = 0;
  std::int64_t measured_from_ = 0;
};

}  // namespace foliot::inline core::seam
