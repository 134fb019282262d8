// A timer of processor_heaps for the model checker, and the helpers of its tests.
#pragma once

#include <cstdint>
#include <string>

#include <foliot/runtime/detail/task_list.hpp>

#include "check.hpp"
#include "runtime/processor_heaps.hpp"

namespace foliot::model {

using runtime::detail::call_list;
using runtime::detail::home_answer;
using runtime::detail::processor_heaps;
using runtime::detail::ready_list;
using runtime::detail::timer_entry;
using runtime::detail::timer_entry_access;

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// A timer whose action writes a plain field: the checker finds a race there.
class marked_timer : public timer_entry {
 public:
  marked_timer() noexcept : timer_entry(what) {}

  bool reset(processor_heaps& first_home, instant deadline) {
    return reset_every(first_home, deadline, duration::zero());
  }
  bool reset_every(processor_heaps& first_home, instant deadline, duration period) {
    for (;;) {
      auto* home = static_cast<processor_heaps*>(timer_entry_access::home(*this).load(seam::relaxed));
      if (home == nullptr) {
        if (!first_home.adopt(*this)) continue;
        home = &first_home;
      }
      const home_answer answer = home->reset_every(*this, deadline, period);
      if (answer != home_answer::moved) return answer == home_answer::was_pending;
    }
  }
  bool stop() noexcept {
    auto* const home = static_cast<processor_heaps*>(timer_entry_access::home(*this).load(seam::relaxed));
    return home != nullptr && home->stop(*this) == home_answer::was_pending;
  }
  [[nodiscard]] int fired() const { return fired_; }

  /// Written before a reset, and read by the action that it leads to, where that is asked for.
  seam::plain<int> message{0};
  bool reads = false;
  bool saw_write = false;

 private:
  static then due(timer_entry& self, ready_list&) noexcept {
    auto& mine = static_cast<marked_timer&>(self);
    ++mine.fired_;
    if (mine.reads) mine.saw_write = mine.message == 1;
    return then::nothing;
  }
  static constexpr actions what{due, nullptr};

  seam::plain<int> fired_{0};
};

inline void run(processor_heaps& timers, std::int64_t now) {
  ready_list ready;
  call_list calls;
  static_cast<void>(timers.run_due(at(now), ready, calls));
}

inline void require_good(const processor_heaps& timers) {
  const check_result sound = timers.check();
  require(sound.has_value(), sound ? "" : sound.error());
}

}  // namespace foliot::model
