// Throttle: at most one call in an interval, however many changes there are. A price is sent to a browser ten times a
// second, although it changes a thousand times.
//
// The trap is the last change. A throttle that drops each change within the interval shows an old price until the next
// change, which may come tomorrow. Here the first change causes a call at once, and a change within the interval causes
// one at the interval's end. While a call is due, further changes have nothing to do: the call shows them all.
#include <foliot/service.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

using namespace std::chrono_literals;

class throttle {
 public:
  /// Calls `function` after changes, and at most once each `interval`.
  template <class Function>
  throttle(foliot::timer_service& timers, foliot::duration interval, Function function)
      : timers_(timers), interval_(interval), call_(timers, std::move(function)) {}

  /// Any thread, and the function itself. What has changed must be visible before.
  void changed() {
    const std::lock_guard held(mutex_);
    if (call_.pending()) return;
    const foliot::instant at = std::max(timers_.now(), next_);
    next_ = at + interval_;
    call_.reset_at(at);
  }

 private:
  foliot::timer_service& timers_;
  const foliot::duration interval_;
  std::mutex mutex_;                                    // the function is called without it
  foliot::instant next_ = foliot::instant::earliest();  // when a call is allowed again; guarded by mutex_
  foliot::timer call_;                                  // last, so that it goes first
};

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  int price = 100;
  throttle show(timers, 100ms, [&](const foliot::firing& now) {
    std::printf("at %d ms: %d\n", static_cast<int>(now.deadline.nanoseconds() / 1'000'000), price);
  });
  clock.advance(10ms);
  for (int i = 0; i < 250; ++i) {  // a change each millisecond
    ++price;
    show.changed();
    clock.advance(1ms);
  }
  clock.advance(1min);  // the last price is shown, and nothing else
  ++price;
  show.changed();
  clock.advance(1min);
}
