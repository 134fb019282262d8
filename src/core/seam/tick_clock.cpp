// The monotonic clock by the processor's ticks: a reading that is never behind the system's, and costs half.
//
// The system's own reading counts the same ticks, but first waits until everything before it is done, which
// where memory is slow costs several times the reading itself. Here each thread keeps an anchor, a reading of
// both, for 10 us, and goes on from there by ticks alone.
//
// Never behind:
//   - The rate is measured between anchors at least 10 us apart, each of them read within 500 ticks, and so to some
//     2 %. The system may change the clock's rate meanwhile: adjtimex lets it run up to 10 % slow or fast (ADJ_TICK,
//     which chrony uses to slew), and 0.1 % besides. A quarter is added, which in 10 us is 2.5.
//   - The processor may read its ticks some instructions ahead of time, before loads that are still waited for;
//     processors' counts may differ by nanoseconds. 1 us is added.
//   - An anchor is only used where the kernel itself trusts the ticks of all processors, and while the rate stays
//     what it was; else the system is asked each time.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <foliot/core/seam/system.hpp>

namespace foliot::inline core::seam {

#if defined(__x86_64__)

namespace {

__extension__ using wide = unsigned __int128;

constexpr std::int64_t margin = 1'000;    // ns
constexpr std::uint64_t rate_margin = 4;  // a part in so many
constexpr std::uint64_t rate_may_differ = 20;
constexpr std::int64_t lifetime = 10'000;        // ns, of an anchor
constexpr std::int64_t shortest_gap = lifetime;  // to measure the rate over
constexpr std::uint64_t longest_reading = 500;   // ticks: what took more was interrupted

/// Whether the kernel keeps its own time by the ticks of the processors.
bool kernel_trusts_ticks() noexcept {
  std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[8] = {};
  const bool read = std::fgets(name, sizeof(name), file) != nullptr;
  std::fclose(file);
  return read && std::strcmp(name, "tsc\n") == 0;
}

/// A reading of both clocks. A rate is ns for 2^32 ticks.
class anchor {
 public:
  [[nodiscard]] instant now_or_later() noexcept {
    const std::uint64_t since = __builtin_ia32_rdtsc() - ticks_;
    if (since < lifetime_) [[likely]] {
      return instant::from_nanoseconds(shown_ + margin + static_cast<std::int64_t>((since * fast_rate_) >> 32));
    }
    return renew();
  }

 private:
  [[gnu::noinline]] instant renew() noexcept {
    static const bool trusted = kernel_trusts_ticks();
    if (!trusted) return monotonic_now();
    const std::uint64_t before = __builtin_ia32_rdtsc();
    const instant now = monotonic_now();
    if (__builtin_ia32_rdtsc() - before > longest_reading) return now;
    const std::int64_t gap = now.nanoseconds() - shown_;
    if (shown_ != 0 && gap < shortest_gap) return now;
    const std::uint64_t measured = shown_ == 0 || before <= ticks_ ? 0 : rate_over(gap, before - ticks_);
    const bool steady = measured != 0 && (rate_ == 0 || difference(measured, rate_) < rate_ / rate_may_differ);
    rate_ = steady ? measured : 0;
    fast_rate_ = rate_ + rate_ / rate_margin;
    lifetime_ = steady ? static_cast<std::uint64_t>((static_cast<wide>(lifetime) << 32) / rate_) : 0;
    ticks_ = before;
    shown_ = now.nanoseconds();
    return now;
  }

  /// Zero where it cannot be: ticks are 0.1 to 10 ns.
  static std::uint64_t rate_over(std::int64_t gap, std::uint64_t ticks) noexcept {
    const wide rate = (static_cast<wide>(gap) << 32) / ticks;
    constexpr std::uint64_t one_ns = std::uint64_t{1} << 32;
    return rate < one_ns / 10 || rate > one_ns * 10 ? 0 : static_cast<std::uint64_t>(rate);
  }
  static std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }

  std::uint64_t ticks_ = 0;
  std::uint64_t lifetime_ = 0;  // in ticks; zero: the rate is not known
  std::uint64_t fast_rate_ = 0;
  std::int64_t shown_ = 0;
  std::uint64_t rate_ = 0;
};

}  // namespace

instant monotonic_now_or_later() noexcept {
  thread_local constinit anchor mine;
  return mine.now_or_later();
}

#else

instant monotonic_now_or_later() noexcept { return monotonic_now(); }

#endif

}  // namespace foliot::inline core::seam
