#include "specification.hpp"

#include <algorithm>
#include <limits>

#include <foliot/core/outcome.hpp>

namespace foliot::linearizability {

namespace {

constexpr moment before_all = 0;
constexpr moment after_all = std::numeric_limits<moment>::max();

bool answers(const operation& seen, stop_result expected) {
  return seen.answer == static_cast<std::uint64_t>(expected);
}
bool answers(const operation& seen, reset_result expected) {
  return seen.answer == static_cast<std::uint64_t>(expected);
}

bool reset(timer_state& timer, const operation& seen, std::size_t index) {
  const bool pending = timer.started_by != 0;
  if (timer.closed || timer.ended || (timer.draining && !pending)) return answers(seen, reset_result::closed);
  timer.started_by = static_cast<std::uint8_t>(index + 1);
  if (pending) return answers(seen, reset_result::superseded);
  return answers(seen, timer.running ? reset_result::running : reset_result::idle);
}

bool stop(timer_state& timer, const operation& seen) {
  const bool pending = timer.started_by != 0;
  timer.started_by = 0;
  if (seen.what == verb::destroy) return true;
  if (pending) return answers(seen, stop_result::stopped);
  return answers(seen, timer.running ? stop_result::running : stop_result::idle);
}

bool die(timer_state& timer) {
  const bool may = timer.closed && !timer.running && timer.started_by == 0 && !timer.dead;
  timer.dead = true;
  return may;
}

bool begin_callback(state& now, timer_state& timer, const operation& seen, const history& all) {
  if (timer.started_by == 0 || timer.closed || timer.dead) return false;
  for (std::size_t i = 0; i < all.shard_of.size(); ++i) {
    if (now.timers[i].running && all.shard_of[i] == all.shard_of[seen.timer]) return false;  // they never overlap
  }
  const operation& start = all.operations[timer.started_by - 1U];
  timer.started_by = 0;
  timer.running = true;
  return start.earliest <= seen.earliest && seen.earliest <= start.latest;
}

bool nothing_runs(const state& now) { return std::ranges::none_of(now.timers, &timer_state::running); }

}  // namespace

std::vector<step> steps_of(const history& seen) {
  using kind = step::kind;
  std::vector<step> steps;
  for (std::size_t i = 0; i < seen.operations.size(); ++i) {
    const operation& each = seen.operations[i];
    const auto add = [&](kind what) { steps.push_back({what, i, each.timer, each.begin, each.end}); };
    const auto for_each_timer = [&](kind what) {
      for (std::size_t t = 0; t < seen.shard_of.size(); ++t) steps.push_back({what, i, t, each.begin, each.end});
    };
    switch (each.what) {
      case verb::stop_and_wait:
      case verb::destroy:
        add(kind::close);
        if (each.inside != each.timer) add(kind::gone);
        break;
      case verb::drain: for_each_timer(kind::refuse); [[fallthrough]];
      case verb::shut_down:
        for_each_timer(kind::end);
        add(kind::over);
        break;
      case verb::fire:
        steps.push_back({kind::begin_callback, i, each.timer, before_all, each.begin});
        steps.push_back({kind::end_callback, i, each.timer, each.end, after_all});
        break;
      default: add(kind::whole);
    }
  }
  return steps;
}

bool take(state& now, const step& next, const history& seen) {
  timer_state& timer = now.timers[next.timer];
  const operation& whose = seen.operations[next.operation];
  switch (next.what) {
    case step::kind::whole:
      switch (whose.what) {
        case verb::reset: return reset(timer, whose, next.operation);
        case verb::stop: return stop(timer, whose);
        case verb::pending: return (timer.started_by != 0) == (whose.answer != 0);
        default: return die(timer);
      }
    case step::kind::close: timer.closed = true; return stop(timer, whose);
    case step::kind::gone: return timer.dead && !timer.running;
    case step::kind::refuse: timer.draining = true; return true;
    case step::kind::end:
      if (timer.started_by != 0) {
        ++now.dropped[next.operation];
        timer.started_by = 0;
        timer.closed = true;
      }
      timer.ended = true;
      return true;
    case step::kind::over:
      return now.dropped[next.operation] == whose.answer && (whose.inside.has_value() || nothing_runs(now));
    case step::kind::begin_callback: return begin_callback(now, timer, whose, seen);
    case step::kind::end_callback: {
      const bool ran = timer.running;
      timer.running = false;
      return ran;
    }
  }
  return false;
}

}  // namespace foliot::linearizability
