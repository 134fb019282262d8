// Debounce: one call after many changes, as soon as there has been no change for a while. A document is saved when its
// author pauses, a configuration is read when the editor has written all of it.
//
// The trap is an author who does not pause: each change postpones the call, for ever. So the call also has a latest
// instant, which counts from the first change. No flag says whether a call is due: the timer does. A change that comes
// while the call runs finds the timer not pending, and so causes one more call. No change is lost.
#include <foliot/service.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

using namespace std::chrono_literals;

class debounce {
 public:
  /// Calls `function` after `quiet` without a change, and at the latest `longest` after the first change.
  template <class Function>
  debounce(foliot::timer_service& timers, foliot::duration quiet, foliot::duration longest, Function function)
      : timers_(timers), quiet_(quiet), longest_(longest), call_(timers, std::move(function)) {}

  /// Any thread, and the function itself.
  void changed() {
    const std::lock_guard held(mutex_);
    const foliot::instant now = timers_.now();
    if (!call_.pending()) latest_ = now + longest_;  // the first change
    call_.reset_at(std::min(now + quiet_, latest_));
  }

 private:
  foliot::timer_service& timers_;
  const foliot::duration quiet_;
  const foliot::duration longest_;
  std::mutex mutex_;        // the function is called without it
  foliot::instant latest_;  // of the present changes; guarded by mutex_
  foliot::timer call_;      // last, so that it goes first
};

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  int changes = 0;
  debounce save(timers, 300ms, 2s, [&](const foliot::firing& now) {
    std::printf("at %d ms: %d changes saved\n", static_cast<int>(now.deadline.nanoseconds() / 1'000'000), changes);
    changes = 0;
  });
  const auto type = [&](int keys) {
    for (int i = 0; i < keys; ++i) {
      ++changes;
      save.changed();
      clock.advance(100ms);
    }
  };
  type(3);  // the last one at 200 ms
  clock.advance(700ms);
  type(30);  // from 1000 ms to 3900 ms, without a pause
  clock.advance(1s);
}
