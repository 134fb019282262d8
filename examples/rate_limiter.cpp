// A rate limiter: a client may ask ten times a second, and five times at once if it has been quiet before.
//
// It is a token bucket that nobody fills. The trap is the thread, or the timer, that puts a token into each client's
// bucket every 100 ms: a million clients, ten million wake-ups a second, and a burst whenever that thread is late. What
// is in the bucket follows from the time: all that is kept is one instant, the one at which the bucket would be full
// again. (Telephony knows it as the generic cell rate algorithm.) A client that
// has to wait is told for how long, to the nanosecond.
#include <foliot/runtime.hpp>

#include <algorithm>
#include <cstdio>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

/// One client's. Threads, or tasks on several processors, that share one need a lock around it.
class rate_limiter {
 public:
  /// At most one request each `interval` in the long run, and `burst` of them at once.
  rate_limiter(foliot::duration interval, int burst) : interval_(interval), tolerance_(interval * (burst - 1)) {}

  /// Takes a token if there is one: zero. Else takes none, and returns how long it is until there is.
  foliot::duration take(foliot::instant now) {
    const foliot::instant full_again = std::max(full_again_, now);
    const foliot::duration too_early = full_again - now - tolerance_;
    if (too_early > foliot::duration::zero()) return too_early;
    full_again_ = full_again + interval_;
    return foliot::duration::zero();
  }

 private:
  const foliot::duration interval_;
  const foliot::duration tolerance_;
  foliot::instant full_again_ = foliot::instant::earliest();
};

/// Waits for a token, and takes it. It asks again after the wait: somebody else may have been quicker.
foliot::task<> acquire(rate_limiter& from) {
  for (;;) {
    const foliot::duration wait = from.take(rt::now());
    if (wait <= foliot::duration::zero()) co_return;
    co_await rt::sleep(wait);
  }
}

foliot::task<> program() {
  rate_limiter limiter(100ms, 5);
  const foliot::instant start = rt::now();
  const auto milliseconds = [start] { return static_cast<int>((rt::now() - start) / foliot::duration(1ms)); };
  for (int i = 1; i <= 8; ++i) {
    co_await acquire(limiter);
    std::printf("request %d at %3d ms\n", i, milliseconds());
  }
  co_await rt::sleep(10s);  // quiet for long: a burst is five all the same
  int at_once = 0;
  while (limiter.take(rt::now()) == foliot::duration::zero()) ++at_once;
  std::printf("after 10 s: %d at once\n", at_once);
  // An answer "429 Too Many Requests" says when to come again.
  const auto wait = static_cast<int>(limiter.take(rt::now()) / foliot::duration(1ms));
  std::printf("retry after %d ms\n", wait);
}

int main() {
  foliot::virtual_clock clock;
  rt::run_options options;
  options.clock = &clock;
  foliot::run(program(), options);
}
