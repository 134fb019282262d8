#include "round.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace foliot::linearizability {

namespace {

/// How far a reset's reading of the clock may be ahead of the clock.
constexpr duration ahead = duration::nanoseconds(4'000);

}  // namespace

round::mourner::~mourner() {
  if (told_ == nullptr) return;
  told_->setting_.pause();
  const moment when = told_->now();
  told_->put({verb::die, timer_, when, when});
  told_->setting_.pause();
}

round::round(const plan& followed, const setting& in) : plan_(followed), setting_(in) {}

history round::play() {
  service_options options;
  options.engine = setting_.options.engine;
  service_.emplace(std::move(options));
  for (std::size_t t = 0; t < plan_.timers.size(); ++t) {
    if (plan_.timers[t].made_elsewhere) {
      seam::thread("maker", [this, t] { make_timer(t); }).join();
    } else {
      make_timer(t);
    }
  }
  for (const plan::timer_plan& each : plan_.timers) {
    if (each.start) do_one(*each.start, {});
  }
  std::vector<seam::thread> others;
  for (std::size_t i = 1; i < plan_.threads.size(); ++i) {
    others.emplace_back("racer", [this, i] { race(i); });
  }
  race(0);
  for (seam::thread& each : others) each.join();
  end();
  history seen;
  // Where timers move, the shard that made a timer is not the one that fires it: any two callbacks may overlap.
  const bool timers_move = setting_.options.engine == "bucket-heaps";
  for (std::size_t t = 0; t < plan_.timers.size(); ++t) {
    const auto first = std::ranges::find(shards_, shards_[t]);
    seen.shard_of.push_back(timers_move ? t : static_cast<std::size_t>(first - shards_.begin()));
  }
  const std::size_t count = recorded_.load();
  if (count > most_operations) throw std::length_error("a plan with too many operations");
  seen.operations.assign(operations_.begin(), operations_.begin() + static_cast<std::ptrdiff_t>(count));
  check_counters(seen);
  if (const char* first = first_complaint_.load()) complaint_ = first;
  return seen;
}

void round::race(std::size_t thread) {
  if (setting_.together) {
    ready_.fetch_add(1);
    while (ready_.load() < plan_.threads.size()) setting_.pause();
  }
  for (const deed& one : plan_.threads[thread]) do_one(one, {});
}

void round::make_timer(std::size_t index) {
  handles_[index].emplace(
      *service_, [grief = mourner(*this, index)](const firing& now) { grief.told().fired(grief.timer(), now); });
  shards_[index] = handles_[index]->shard();
}

/// Lets the due timers fire, ends the service, and then destroys the timers. Checks each timer once more on the way.
void round::end() {
  if (setting_.settle) setting_.settle();
  for (std::size_t t = 0; t < plan_.timers.size(); ++t) {
    if (plan_.timers[t].owner == own_callback || !handles_[t]) continue;
    if (setting_.settle) {
      const bool pending = handles_[t]->pending();
      if (pending && !may_stay_pending_[t].load()) complain("a due timer is still pending");
      do_one({act::pending, t}, {});
    } else {
      do_one({act::stop, t}, {});
    }
  }
  do_one({act::shut_down}, {});
  for (std::size_t t = 0; t < plan_.timers.size(); ++t) {
    if (t == 0) do_one({act::reset_at, t}, {});
    do_one({act::destroy, t}, {});
  }
}

template <class Call>
void round::record(verb what, std::size_t timer, caller inside, Call call) {
  operation seen{what, timer};
  seen.inside = inside;
  seen.begin = now();
  seen.answer = static_cast<std::uint64_t>(call(seen));
  seen.end = now();
  put(seen);
}

void round::put(const operation& seen) {
  const std::size_t place = recorded_.fetch_add(1);
  if (place < operations_.size()) operations_[place] = seen;
}

void round::do_one(const deed& one, caller inside) {
  auto& handle = handles_[one.timer];
  switch (one.what) {
    case act::linger: return setting_.linger(one.length);
    case act::shut_down: return record(verb::shut_down, 0, inside, [&](auto&) { return service_->shut_down(); });
    case act::drain: return record(verb::drain, 0, inside, [&](auto&) { return service_->drain(one.length); });
    default: break;
  }
  if (!handle) return;  // the handle was destroyed, by the only thread that uses it
  switch (one.what) {
    case act::stop: return record(verb::stop, one.timer, inside, [&](auto&) { return handle->stop(); });
    case act::pending: return record(verb::pending, one.timer, inside, [&](auto&) { return handle->pending(); });
    case act::stop_and_wait:
      return record(verb::stop_and_wait, one.timer, inside,
                    [&](auto&) { return setting_.only_stops ? handle->stop() : handle->stop_and_wait(); });
    case act::destroy: return record(verb::destroy, one.timer, inside, [&](auto&) { return handle.reset(), 0; });
    default: return reset(one, inside);
  }
}

void round::reset(const deed& one, caller inside) {
  watched& handle = *handles_[one.timer];
  if (one.length == far_away) may_stay_pending_[one.timer].store(true);
  record(verb::reset, one.timer, inside, [&](operation& seen) {
    seen.earliest = deadline_after(service_->now(), one.length);
    if (one.what == act::reset_at) {
      seen.latest = seen.earliest;
      return handle.reset_at(seen.earliest);
    }
    const reset_result answer = handle.reset(one.length);
    seen.latest = deadline_after(service_->now(), one.length) + ahead;
    return answer;
  });
}

void round::fired(std::size_t timer, const firing& when) {
  operation seen{verb::fire, timer};
  seen.begin = now();
  seen.earliest = seen.latest = when.deadline;
  if (when.now < when.deadline || service_->now() < when.deadline) complain("a timer fired early");
  setting_.pause();
  if (!has_fired_[timer].exchange(true)) {
    for (const deed& one : plan_.timers[timer].inside) do_one(one, timer);
  }
  setting_.pause();
  seen.end = now();
  put(seen);
}

void round::complain(const char* what) {
  const char* none = nullptr;
  first_complaint_.compare_exchange_strong(none, what);
}

/// Checks that the counters agree with the history.
void round::check_counters(const history& seen) {
  service_counters expected;
  std::uint64_t stopped_at_least = 0;
  for (const operation& each : seen.operations) {
    switch (each.what) {
      case verb::reset:
        if (each.answer == static_cast<std::uint64_t>(reset_result::superseded)) ++expected.superseded;
        if (each.answer == static_cast<std::uint64_t>(reset_result::idle)) ++expected.started;
        if (each.answer == static_cast<std::uint64_t>(reset_result::running)) ++expected.started;
        break;
      case verb::stop:
      case verb::stop_and_wait:
        if (each.answer == static_cast<std::uint64_t>(stop_result::stopped)) ++stopped_at_least;
        break;
      case verb::shut_down:
      case verb::drain: expected.dropped += each.answer; break;
      case verb::fire: ++expected.fired; break;
      default: break;
    }
  }
  const service_counters counted = service_->counters();
  if (counted.started != expected.started) complain("the counter of starts does not add up");
  if (counted.superseded != expected.superseded) complain("the counter of superseded starts does not add up");
  if (counted.fired != expected.fired) complain("the counter of callbacks does not add up");
  if (counted.dropped != expected.dropped) complain("the counter of dropped starts does not add up");
  if (counted.stopped < stopped_at_least) complain("the counter of stops does not add up");
  if (counted.pending != 0) complain("a timer is pending after the end");
  service_.reset();
}

}  // namespace foliot::linearizability
