// A processor's timers without the processor: the test itself runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

#include "processor_heaps.hpp"
#include "processor_timers.hpp"
#include "worlds.hpp"

namespace foliot::runtime::detail {

inline std::unique_ptr<processor_timers> timers_of_kind(std::string_view kind, std::uint32_t processor = 0) {
  run_options options;
  options.timers = kind;
  return make_timers(options, processor, instant{});
}

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

/// A timer that counts its calls, and notes when it fires.
class counted_timer : public timer_entry {
 public:
  explicit counted_timer(std::vector<counted_timer*>* order = nullptr) noexcept : timer_entry(what), order_(order) {}

  /// As scheduler::reset_timer(); `home` becomes the home of a timer that has none. Returns whether it was pending.
  bool reset(processor_timers& home, instant deadline) { return reset_every(home, deadline, duration::zero()); }
  bool reset_every(processor_timers& home, instant first, duration period) {
    for (;;) {
      processor_timers* lives = timer_entry_access::home(*this).load(seam::relaxed);
      if (lives == nullptr) {
        if (!home.adopt(*this)) continue;
        lives = &home;
      }
      const home_answer answer =
          period == duration::zero() ? lives->reset(*this, first) : lives->reset_every(*this, first, period);
      if (answer != home_answer::moved) return answer == home_answer::was_pending;
    }
  }
  bool stop() { return stop_timer(*this); }

  [[nodiscard]] int fired() const noexcept { return fired_.load(std::memory_order_relaxed); }
  [[nodiscard]] processor_timers* lives_at() noexcept { return timer_entry_access::home(*this).load(seam::relaxed); }

 private:
  static then due(timer_entry& self, ready_list&) noexcept {
    auto& mine = static_cast<counted_timer&>(self);
    mine.fired_.fetch_add(1, std::memory_order_relaxed);
    if (mine.order_ != nullptr) mine.order_->push_back(&mine);
    return then::nothing;
  }
  static constexpr actions what{due, nullptr};

  std::vector<counted_timer*>* const order_;
  std::atomic<int> fired_{0};
};

/// Runs timers until none is due.
inline void run_all_due(processor_timers& timers, instant now) {
  ready_list ready;
  call_list calls;
  while (timers.run_due(now, ready, calls)) {
  }
  EXPECT_TRUE(ready.empty());
  EXPECT_TRUE(calls.empty());
}

/// The first invariant that does not hold, for timers that can check them; else empty.
inline std::string broken_invariant(const processor_timers& timers) {
  const auto* const heaps = dynamic_cast<const processor_heaps*>(&timers);
  if (heaps == nullptr) return "";
  const check_result sound = heaps->check();
  return sound ? "" : sound.error();
}

/// Once for each kind of timers.
class each_kind : public testing::TestWithParam<std::string_view> {};

inline auto every_kind() { return testing::ValuesIn(test::kinds_of_timers); }
inline std::string kind_as_name(const testing::TestParamInfo<std::string_view>& kind) {
  std::string name(kind.param);
  for (char& each : name) {
    if (each == '-' || each == '.') each = '_';
  }
  return name;
}

}  // namespace foliot::runtime::detail
