#include <foliot/service/timer_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "batch_part.hpp"
#include "shard_base.hpp"

namespace foliot::detail {

// Engines without a way of their own.

void shard_base::reset_part(reset_batch& batch) noexcept {
  batch_deadlines& deadlines = batch.deadlines();
  batch.for_each_of(*this, [&](timer_record& timer, std::size_t index) {
    try {
      if (timer.has_location()) set_location(timer, batch.here());
      // With a delay each call reads the clock: only the engine knows when a timer needs no reading.
      batch.done(index, deadlines.given() ? reset(timer, deadlines.of(index, time()))
                                          : reset(timer, deadlines.delay(), deadlines.slack()));
    } catch (...) {
      batch.failed(index, std::current_exception());
    }
  });
}

void shard_base::stop_part(stop_batch& batch) noexcept {
  batch.for_each_of(*this, [&](timer_record& timer, std::size_t index) { batch.done(index, stop(timer)); });
}

}  // namespace foliot::detail

namespace foliot::inline service {

namespace {

using namespace detail;

/// Throws std::invalid_argument if there is room for some outcomes, but not for all.
void check_outcomes(std::size_t timers, std::size_t outcomes) {
  if (outcomes == 0 || outcomes >= timers) return;
  throw std::invalid_argument("foliot: a batch of " + std::to_string(timers) +
                              " timers needs room for as many outcomes, or for none; got room for " +
                              std::to_string(outcomes));
}

/// Gives the batch its timers, at most 64 at a time, and calls part(shard) for each shard that has some of them.
template <class Batch, class Part>
void for_each_part(Batch& batch, std::span<const timer_ref> timers, Part part) {
  for (std::size_t first = 0; first < timers.size(); first += batch_part::most) {
    const auto next = timers.subspan(first, std::min(batch_part::most, timers.size() - first));
    batch.take(next, first);
    while (engine* const owner = batch.next_owner()) part(as_shard(*owner));
  }
}

batch_result reset_timers(std::span<const timer_ref> timers, batch_deadlines& deadlines,
                          std::span<std::optional<reset_result>> outcomes, std::source_location here) {
  reset_batch batch(deadlines, outcomes, here);
  for_each_part(batch, timers, [&batch](shard_base& shard) { shard.reset_part(batch); });
  return batch.take_result();
}

}  // namespace

batch_result reset_all(std::span<const timer_ref> timers, duration delay, duration slack,
                       std::span<std::optional<reset_result>> outcomes, std::source_location here) {
  check_outcomes(timers.size(), outcomes.size());
  batch_deadlines deadlines(delay, slack);
  return reset_timers(timers, deadlines, outcomes, here);
}

batch_result reset_all_at(std::span<const timer_ref> timers, timer_deadline deadline,
                          std::span<std::optional<reset_result>> outcomes, std::source_location here) {
  check_outcomes(timers.size(), outcomes.size());
  instant due;
  for (const timer_ref& each : timers) {
    const timer_record* const timer = timer_ref_access::record(each);
    bool depends_on_clock = false;
    due = deadline.on([timer, &depends_on_clock]() -> const clock& {
      depends_on_clock = true;
      return timer->owner().time();
    });
    if (!depends_on_clock) break;
  }
  batch_deadlines deadlines(due);
  return reset_timers(timers, deadlines, outcomes, here);
}

batch_result reset_all_at(std::span<const timer_ref> timers, std::span<const instant> deadlines,
                          std::span<std::optional<reset_result>> outcomes, std::source_location here) {
  check_outcomes(timers.size(), outcomes.size());
  if (deadlines.size() != timers.size()) {
    throw std::invalid_argument("foliot: a batch of " + std::to_string(timers.size()) +
                                " timers needs as many deadlines, got " + std::to_string(deadlines.size()));
  }
  batch_deadlines each(deadlines);
  return reset_timers(timers, each, outcomes, here);
}

std::size_t stop_all(std::span<const timer_ref> timers, std::span<stop_result> outcomes) {
  check_outcomes(timers.size(), outcomes.size());
  stop_batch batch(outcomes);
  for_each_part(batch, timers, [&batch](shard_base& shard) { shard.stop_part(batch); });
  return batch.stopped();
}

}  // namespace foliot::inline service
