// What threads do to a shard's timers without its lock, counted, as it is shipped: a sum that is read while they go on,
// in every schedule; and each of its memory orders, which must be needed.
#include <service/lockless_counts.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using detail::lockless_counts;

/// Two timers are queued, of which one is pending all the time. The other one was stopped; a thread starts it, and one
/// whose line the sum reads later stops it again. A sum that read each line's stops and starts at once could miss the
/// start, count the stop, and find fewer timers pending than there are: a drain would end too early.
void a_start_and_a_stop_against_the_sum() {
  lockless_counts counts;
  seam::atomic<bool> pending{false};  // stands for the other timer's word
  name(pending, "pending");
  counts.add_stop();
  seam::thread starts("starts", [&] {
    counts.add_start();
    pending.store(true, seam::release);
  });
  seam::thread stops("stops", [&] {
    if (pending.load(seam::acquire)) counts.add_stop();
  });
  require(counts.sum().stopped_but_queued(2) <= 1,
          "who is seen to have stopped a timer has also been seen to start it");
  starts.join();
  stops.join();
}

TEST(LocklessCounts, CountNoneTooFewPending) {
  holds_and_needs_its_orders({.name = "a start and a stop against the sum", .preemptions = 2},
                             a_start_and_a_stop_against_the_sum);
}

}  // namespace
}  // namespace foliot::model
