// The shipped counts of calls without a shard's lock: a sum that is read while other threads count, in every schedule;
// and each of the memory orders, which must be needed.
#include <service/lockless_path.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using detail::lockless_counts;

/// Two timers are queued, of which one is pending all the time. The other one was stopped; one thread starts it, and a
/// thread whose line the sum reads later stops it again. A sum that reads the stops and starts of each line together
/// could miss the start, count the stop, and find fewer timers pending than there are: a drain would end too early.
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
  require(counts.sum().stopped_but_queued(2) <= 1, "a sum that includes a stop includes the start before it");
  starts.join();
  stops.join();
}

TEST(LocklessCounts, CountNoneTooFewPending) {
  holds_and_needs_its_orders({.name = "a start and a stop against the sum", .preemptions = 2},
                             a_start_and_a_stop_against_the_sum);
}

}  // namespace
}  // namespace foliot::model
