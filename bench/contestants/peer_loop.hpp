// The common part of the event loops of libraries as contestants.
//
// A library's set of timers derives from `peer_loop` and provides
//
//   start(timer, now, delay)   to start a timer, or to start a pending one again
//   update_time()              to read the clock, for the delays that follow
//   turn()                     one turn of the loop that does not wait
//   wait()                     turns of the loop until its one timer has fired
//
// and calls fired() with each timer that fires. A function that the set declares itself replaces the one here.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/roster.hpp"
#include "bench/workloads/one_thread.hpp"
#include "bench/workloads/sleep_log.hpp"

namespace foliot::program::bench {

template <class Set, class Timer>
class peer_loop {
 public:
  static constexpr time_kind time = time_kind::real_time;

  void reset(Timer& each, instant now, duration delay) { set().start(each, now, delay); }
  template <class Sink>
  void refresh(instant /*now*/, Sink&& /*sink*/) {
    set().update_time();
  }
  template <class Sink>
  expiry expire(instant /*now*/, budget /*limit*/, Sink&& sink) {
    return {.fired = fired_in(sink, [this] { set().turn(); })};
  }
  template <class Sink>
  void wait_for(Sink&& sink) {
    fired_in(sink, [this] { set().wait(); });
  }

 protected:
  /// Passes the timers that fire in these turns to the sink. Returns how many they are. Libraries call a plain function
  /// and the sink is a template, so the call of the sink is indirect, as a call of any user's callback is.
  template <class Sink, class Turns>
  std::size_t fired_in(Sink& sink, Turns&& turns) {
    fired_ = 0;
    sink_ = std::addressof(sink);
    call_ = [](const void* to, Timer& due) { (*static_cast<const Sink*>(to))(due); };
    turns();
    return fired_;
  }
  void fired(Timer& due) {
    ++fired_;
    call_(sink_, due);
  }

 private:
  Set& set() noexcept { return static_cast<Set&>(*this); }

  std::size_t fired_ = 0;
  const void* sink_ = nullptr;
  void (*call_)(const void*, Timer&) = nullptr;
};

/// One timer in a loop of its own, one sleep after the other. The time is read before each start.
template <class Set>
samples sleep_in_loop(const request& asked) {
  sleep_log sleeps(asked, early::counts_as_zero);
  Set set(1);
  const auto end = [&sleeps](typename Set::timer&) { sleeps.end(); };
  while (sleeps.more()) {
    set.update_time();
    set.start(set[0], sleeps.begin(), sleeps.length());
    set.wait_for(end);
  }
  return sleeps.found();
}

/// Adds the library with the workloads of one thread, and with sleeps.
template <class Set>
void add_loop(roster& to, std::string_view name, std::string version, std::string remark,
              std::vector<workload> sleeps = all_sleeps) {
  contestant& library = to.add(name, {.takes = std::move(sleeps), .run = sleep_in_loop<Set>});
  library.version = std::move(version);
  add_timers<Set>(library, std::move(remark));
}

}  // namespace foliot::program::bench
