// A rate limiter: a client may ask ten times a second, and five times at once if it has been quiet before.
//
// It is a token bucket without a thread that fills it. The trap is a thread or a timer that puts a token into each
// client's bucket every 100 ms: with a million clients that is ten million wake-ups a second, and a burst whenever the
// thread is late. The content of a bucket follows from the time, so each client stores only the instant at which its
// bucket will be full again. (The generic cell rate algorithm of telephony.) A client that must wait learns for how
// long, to the nanosecond.
#include <foliot/runtime.hpp>

#include <algorithm>
#include <cstdio>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

/// The limit of one client. Not thread-safe: threads, or tasks on several processors, need a lock around it.
class rate_limiter {
 public:
  /// At most one request each `interval` in the long run, and `burst` of them at once.
  rate_limiter(foliot::duration interval, int burst) : interval_(interval), tolerance_(interval * (burst - 1)) {}

  /// Takes a token and returns zero; if there is none, takes nothing and returns how long it takes until there is one.
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

/// Waits for a token, and takes it. Tries again after the wait, since another task may have taken the token.
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
  co_await rt::sleep(10s);  // after a long silence a burst is still five
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
