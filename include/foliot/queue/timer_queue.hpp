// The concept of a timer queue: a single-threaded set of intrusive timers, ordered by deadline.
//
//   foliot::quad_heap queue;
//   queue.start(node, now + 30s);
//   queue.reset(node, now + 60s);
//   queue.expire(now, 100, [](foliot::timer_node& due) { … });
//   sleep_until(queue.next_deadline());
//
// The contract, which the conformance suite (tests/queue/conformance) tests for every queue:
//
//   start(node, deadline)
//                        Makes the node pending. Precondition: it is not. Any deadline is allowed: one in the past is
//                        due at once, and a timer with a deadline of never does not fire. Throws std::bad_alloc with
//                        nothing changed if an array cannot grow.
//   stop(node)           Makes the node not pending; returns whether it was. Never fails.
//   reset(node, deadline)
//                        As stop and start in one step, so its start is the latest; returns whether it was pending.
//                        Throws as start does; then the node keeps its old deadline.
//   next_deadline()      Not later than the earliest deadline; never if no timer is pending. Exact if
//                        `next_deadline_exact`. After an expire(now) that has left nothing due it is later than
//                        `now`, so that a thread that sleeps until then does not wake at once.
//   expire(now, limit, sink)
//                        Fires the timers that are due at `now`, at most `limit`, in the order of their deadlines (to
//                        `precision`), and equal deadlines in the order of their starts if `ties_in_start_order`. The
//                        node is not pending when `sink(node)` is called. The sink may start, stop and reset any
//                        node, also this one, and may destroy this one; timers that it starts and that are due at
//                        `now` fire in the same call, in their order. If the sink throws, its timer has fired, and
//                        the queue is in the state in which the call would have returned then. Not reentrant. If the
//                        result has `more`, call again. A queue with `turns_may_pause` also moves timers, and may end
//                        a turn whose budget is not `unlimited` after many moves; other queues return `more` only if
//                        the budget is spent and a timer is still due.
//   pop_any()            Makes any pending node not pending, without firing it, and returns it; null if there is
//                        none.
//   reserve(count)       Reserves memory for `count` pending timers: up to that number no start allocates. Throws
//                        std::bad_alloc with nothing changed and no memory kept, and at once for more timers than an
//                        address space has room for.
//   size(), check()      The number of pending timers; a check of all invariants, O(n), for tests.
//
// A timer never fires before its deadline, in any queue. In a queue that counts in ticks it fires at most `precision`
// late: a constant of the type, or of the object where the tick is chosen at run time. A queue whose ticks are coarser
// for deadlines further away has in addition:
//
//   lateness_of(timeout) How late a timer may fire whose deadline is `timeout` after the time that the queue knows:
//                        that of the last expire that left nothing due, or of a later forward.
//   forward(now)         Tells the queue the time without firing. Returns whether the queue uses that time from now
//                        on, which it does not while a timer is due. Users with a clock call it before a start.
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
/// Stands for any sink in the concept.
template <class Node>
struct any_sink {
  void operator()(Node&) const;
};
}  // namespace foliot::detail

namespace foliot::inline queue {

/// A queue with the operations and constants above.
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
