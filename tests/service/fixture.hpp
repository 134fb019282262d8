// A service on a virtual clock that only the test advances, for the tests of handles. The same tests run for pinned
// timers, where the engine can have them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/service.hpp>

#include "support/engines.hpp"

namespace foliot::test {

/// A closure of a pinned timer whose type does not depend on the function.
class any_callback {
 public:
  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, any_callback>)
  explicit any_callback(Function&& function) : call_(detail::to_callback(std::forward<Function>(function))) {}
  void operator()(const firing& now) { call_(now); }

 private:
  timer_callback call_;
};

/// A timer with a handle, or a pinned timer: the suites below choose. Moves as a handle does.
class tested_timer {
 public:
  /// By the suite, before the first timer.
  static inline bool pinned = false;

  tested_timer() noexcept = default;
  template <class Function>
  tested_timer(timer_service& service, Function&& function) {
    make(service, std::forward<Function>(function));
  }
  template <class Function>
  tested_timer(timer_service& service, duration delay, Function&& function) {
    make(service, delay, std::forward<Function>(function));
  }
  template <class Function>
  tested_timer(timer_service& service, timer_deadline deadline, Function&& function) {
    make(service, deadline, std::forward<Function>(function));
  }

  reset_result reset(duration delay) { return handle_ ? handle_->reset(delay) : pinned_->reset(delay); }
  reset_result reset(duration delay, duration slack) {
    return handle_ ? handle_->reset(delay, slack) : pinned_->reset(delay, slack);
  }
  reset_result reset_at(timer_deadline when) { return handle_ ? handle_->reset_at(when) : pinned_->reset_at(when); }
  stop_result stop() noexcept { return handle_ ? handle_->stop() : pinned_->stop(); }
  stop_result stop_and_wait() noexcept { return handle_ ? handle_->stop_and_wait() : pinned_->stop_and_wait(); }
  [[nodiscard]] bool pending() const noexcept { return handle_ ? handle_->pending() : pinned_->pending(); }

 private:
  template <class... When, class Function>
  void make_as(timer_service& service, Function&& function, When... when) {
    if (pinned) {
      pinned_ = std::make_unique<pinned_timer<any_callback>>(service, when...,
                                                             any_callback(std::forward<Function>(function)));
    } else {
      handle_.emplace(service, when..., std::forward<Function>(function));
    }
  }
  template <class Function>
  void make(timer_service& service, Function&& function) {
    make_as(service, std::forward<Function>(function));
  }
  template <class When, class Function>
  void make(timer_service& service, When when, Function&& function) {
    make_as(service, std::forward<Function>(function), when);
  }

  std::optional<timer> handle_;
  std::unique_ptr<pinned_timer<any_callback>> pinned_;
};

/// Whether this engine can have pinned timers.
inline bool has_pinned_timers(const std::string& engine) {
  timer_service timers(with_engine(engine));
  try {
    const pinned_timer probe(timers, [] {});
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

/// The parameter of a suite that runs with pinned timers ends with this.
inline constexpr std::string_view pinned_mark = "+pinned";

/// These engines, and those of them that can have pinned timers once more with the mark.
inline auto with_pinned(const std::vector<std::string>& engines) {
  std::vector<std::string> both = engines;
  for (const std::string& each : engines) {
    if (has_pinned_timers(each)) both.push_back(each + std::string(pinned_mark));
  }
  return ::testing::ValuesIn(both);
}
inline auto every_engine_and_pinned() {
  const auto names = timer_service::engines();
  return with_pinned({names.begin(), names.end()});
}
inline auto every_exact_engine_and_pinned() {
  std::vector<std::string> exact;
  for (const std::string_view name : timer_service::engines()) {
    if (timer_service::lateness(name, duration::zero()) == duration::zero()) exact.emplace_back(name);
  }
  return with_pinned(exact);
}

/// foliot+pinned as the name of a test.
inline std::string kind_as_name(const ::testing::TestParamInfo<std::string>& chosen) {
  std::string name = chosen.param;
  for (char& c : name) {
    if (c == '-' || c == '+') c = '_';
  }
  return name;
}

/// A suite whose parameter is an engine's name, with or without the mark.
class timer_suite : public engine_suite {
 protected:
  timer_suite() { tested_timer::pinned = GetParam().ends_with(pinned_mark); }
  [[nodiscard]] static std::string engine() { return GetParam().substr(0, GetParam().find('+')); }
  [[nodiscard]] static service_options options() { return with_engine(engine()); }
};

/// A suite that runs once for each engine, on virtual time.
class virtual_suite : public timer_suite {
 protected:
  virtual_clock clock{instant::from_nanoseconds(1'000'000'000)};
  timer_service timers{clock, options()};
};

/// A suite that runs once for each engine, on the monotonic clock, with the engine's own thread.
class threaded_suite : public timer_suite {
 protected:
  timer_service timers{options()};
};

}  // namespace foliot::test
