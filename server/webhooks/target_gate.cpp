#include "target_gate.hpp"

#include <algorithm>
#include <stdexcept>

namespace foliot::program::webhooks {

void target_gate::check(const target_limits& limits) {
  if (limits.most_at_once == 0) throw std::invalid_argument("a target has at least 1 delivery at once");
  if (limits.each_second > 1'000'000 || limits.burst > 1'000'000)
    throw std::invalid_argument("the rate and the burst of a target are at most 1000000");
  if (limits.first_pause <= duration::zero() || limits.longest_pause < limits.first_pause)
    throw std::invalid_argument("the first pause of a circuit is positive, and not longer than the longest one");
}

target_gate::target_gate(const target_limits& limits) : limits_(limits), pause_(limits.first_pause) { check(limits); }

duration target_gate::interval() const noexcept {
  return limits_.each_second == 0
             ? duration::zero()
             : duration::nanoseconds(1'000'000'000 / static_cast<std::int64_t>(limits_.each_second));
}

permission target_gate::try_enter(instant now) {
  using enum permission::kind;
  const lock held(lock_);
  if (state_.disabled) return {.what = disabled};
  if (now < state_.held_until) return {.what = not_before, .when = state_.held_until};
  if (state_.state == circuit::open && now < state_.closed_until)
    return {.what = not_before, .when = state_.closed_until};
  if (state_.state == circuit::half_open || state_.under_way >= limits_.most_at_once) return {.what = after_a_delivery};
  const duration step = interval();
  if (step > duration::zero()) {
    const std::uint64_t burst = limits_.burst != 0 ? limits_.burst : limits_.each_second;
    const instant ready = full_at_ - step * (static_cast<std::int64_t>(burst) - 1);
    if (now < ready) return {.what = not_before, .when = ready};
    full_at_ = std::max(full_at_, now) + step;
  }
  const bool is_probe = state_.state == circuit::open;
  if (is_probe) state_.state = circuit::half_open;
  ++state_.under_way;
  return {.what = granted, .is_probe = is_probe};
}

void target_gate::open(instant now) noexcept {
  state_.state = circuit::open;
  state_.closed_until = now + pause_;
  pause_ = std::min(pause_ * 2, limits_.longest_pause);
  ++state_.times_opened;
}

void target_gate::settle(went how, bool was_probe, instant now) noexcept {
  const lock held(lock_);
  --state_.under_way;
  switch (how) {
    case went::well:
    case went::answered:
      state_.state = circuit::closed;
      state_.failures = 0;
      pause_ = limits_.first_pause;
      break;
    case went::badly:
      ++state_.failures;
      if (was_probe && state_.state == circuit::half_open) {
        open(now);
      } else if (state_.state == circuit::closed && limits_.failures_to_open != 0 &&
                 state_.failures >= limits_.failures_to_open) {
        open(now);
      }
      break;
    case went::nowhere:
      if (was_probe && state_.state == circuit::half_open) state_.state = circuit::open;  // its pause is over
      break;
  }
}

void target_gate::hold_until(instant when) noexcept {
  const lock held(lock_);
  state_.held_until = std::max(state_.held_until, when);
}

void target_gate::disable() noexcept {
  const lock held(lock_);
  state_.disabled = true;
}

void target_gate::enable() noexcept {
  const lock held(lock_);
  state_.disabled = false;
  state_.state = circuit::closed;
  state_.failures = 0;
  state_.held_until = {};
  pause_ = limits_.first_pause;
}

void target_gate::set_limits(const target_limits& limits) {
  check(limits);
  const lock held(lock_);
  limits_ = limits;
  pause_ = std::clamp(pause_, limits.first_pause, limits.longest_pause);
}

gate_state target_gate::state() const noexcept {
  const lock held(lock_);
  return state_;
}

}  // namespace foliot::program::webhooks
