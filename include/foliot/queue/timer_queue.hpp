// The concept that every timer queue of foliot models: a single-threaded set of intrusive timers,
// ordered by deadline.
//
//   foliot::quad_heap queue;
//   queue.start(node, now + 30s);
//   queue.reset(node, now + 60s);
//   queue.expire(now, 100, [](foliot::timer_node& due) { … });
//   sleep_until(queue.next_deadline());
//
// The contract, which the conformance suite (tests/queue/conformance) holds every queue to:
//
//   start(node, deadline)   The node is pending from now on. Precondition: it was not. Any deadline is
//                           allowed: one in the past is due at once, `never` is pending for ever.
//                           Throws std::bad_alloc if an array cannot grow; nothing has changed then.
//   stop(node)              The node is not pending any more; returns whether it was. Never fails.
//   reset(node, deadline)   As stop and start in one, so that it counts as started now; returns
//                           whether it was pending. Throws as start does; the node keeps its old
//                           deadline then.
//   next_deadline()         Never later than the earliest deadline, `never` when there is none. It is
//                           exact where `next_deadline_exact` says so. After an expire(now) that left
//                           nothing due it is later than now: who sleeps until then wakes with need.
//   expire(now, limit, sink)  Fires what is due at `now`, at most `limit` timers: in deadline order
//                           (to `precision`), and equal deadlines in the order of their starts where
//                           `ties_in_start_order` says so. A node is not pending any more when
//                           `sink(node)` gets it; the sink may start, stop and reset any node, this
//                           one included, and may destroy it; what it starts and is due at `now` fires
//                           in this same call, in its place. If the sink throws, that timer has fired,
//                           and the queue is as if the call had ended there. Not reentrant.
//                           `more` in the answer: call again. A queue with `turns_may_pause` moves timers
//                           about, and ends a turn whose budget is not `unlimited` when it has moved many;
//                           others only when the budget is spent and something is still due.
//   pop_any()               Takes out any pending node without firing it; null when there is none.
//   reserve(count)          Makes room for `count` pending timers: up to there no start allocates. Throws
//                           std::bad_alloc, with nothing changed and all its memory back; at once for more
//                           timers than an address space has room for.
//   size(), check()         How many are pending; a walk over all invariants, O(n), for tests.
//
// A timer never fires before its deadline, in any queue. One that fires late, because its queue counts
// in ticks, is late by at most `precision`: a constant of the type, or of the object where the tick is chosen at
// run time. A queue whose ticks are coarser the further away a deadline is has beside that:
//
//   lateness_of(timeout)    How late a timer may be that is `timeout` away from the time the queue knows:
//                           that of the last expire that left nothing due, or of a later forward.
//   forward(now)            Tells it the time without firing anything. Whether it goes by that from now
//                           on: not while something is due. Who has a clock calls it before a start.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>

namespace foliot::detail {
/// Stands for any sink where the concept is checked.
template <class Node>
struct any_sink {
  void operator()(Node&) const;
};
}  // namespace foliot::detail

namespace foliot::inline queue {

template <class Queue>
concept timer_queue =
    std::default_initializable<Queue> && std::derived_from<typename Queue::node_type, timer_node> &&
    requires(Queue queue, const Queue& constant, typename Queue::node_type& node, instant t, budget limit) {
      { Queue::name } -> std::convertible_to<std::string_view>;
      { constant.precision } -> std::convertible_to<duration>;
      { Queue::ties_in_start_order } -> std::convertible_to<bool>;
      { Queue::next_deadline_exact } -> std::convertible_to<bool>;
      { queue.start(node, t) } -> std::same_as<void>;
      { queue.stop(node) } noexcept -> std::same_as<bool>;
      { queue.reset(node, t) } -> std::same_as<bool>;
      { queue.next_deadline() } noexcept -> std::same_as<instant>;
      { queue.expire(t, limit, detail::any_sink<typename Queue::node_type>{}) } -> std::same_as<expiry>;
      { queue.pop_any() } noexcept -> std::same_as<typename Queue::node_type*>;
      { queue.reserve(limit) } -> std::same_as<void>;
      { constant.size() } noexcept -> std::same_as<std::size_t>;
      { constant.check() } -> std::same_as<check_result>;
    };

}  // namespace foliot::inline queue
