// The reference queue: slow, and so simple that it is obviously right. Tests compare every other queue with it.
//
// It is an array of {deadline, start order, node}, and every operation searches all of it. Complexity: everything O(n).
// Choose it to test a queue, or code that embeds one; never in a product.
//
// Thread safety: none, one owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <foliot/core/timer_node.hpp>
#include <foliot/queue/detail/reserve.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// A timer_queue with exact order, for tests.
class reference_queue {
 public:
  using node_type = timer_node;
  static constexpr std::string_view name = "reference";
  static constexpr duration precision = duration::zero();
  static constexpr bool ties_in_start_order = true;
  static constexpr bool next_deadline_exact = true;

  reference_queue() noexcept = default;
  reference_queue(const reference_queue&) = delete;
  reference_queue& operator=(const reference_queue&) = delete;

  /// Makes a node pending. Throws std::bad_alloc with nothing changed. Precondition: it is not pending.
  void start(node_type& node, instant deadline) {
    FOLIOT_ASSERT(!node.pending(), "a pending timer must be reset, not started");
    pending_.push_back({deadline, next_sequence_++, &node});
    access::deadline(node) = deadline;
    access::place(node) = 0;
  }

  /// Makes a node not pending; returns whether it was.
  bool stop(node_type& node) noexcept {
    access::place(node) = access::nowhere;
    return std::erase_if(pending_, [&](const entry& each) { return each.node == &node; }) == 1;
  }

  /// Gives a node a new deadline, and starts it if it was not pending; returns whether it was. Throws as start does.
  bool reset(node_type& node, instant deadline) {
    pending_.reserve(pending_.size() + 1);  // the only step that may throw comes first
    const bool was_pending = stop(node);
    start(node, deadline);
    return was_pending;
  }

  /// The earliest deadline; never if no timer is pending.
  [[nodiscard]] instant next_deadline() const noexcept {
    return pending_.empty() ? instant::never() : first()->deadline;
  }

  /// Fires the timers that are due at `now`, at most `limit`: see timer_queue.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!pending_.empty() && is_due(first()->deadline, now)) {
      if (turn.fired == limit) return {turn.fired, true};
      node_type& node = *first()->node;
      stop(node);
      ++turn.fired;
      sink(node);
    }
    return turn;
  }

  /// Makes any pending node not pending and returns it; null if there is none.
  [[nodiscard]] node_type* pop_any() noexcept {
    if (pending_.empty()) return nullptr;
    node_type* node = pending_.back().node;
    stop(*node);
    return node;
  }

  /// Reserves memory for `count` pending timers. Throws std::bad_alloc with nothing changed.
  void reserve(std::size_t count) {
    detail::refuse_impossible(count);
    pending_.reserve(count);
  }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return pending_.size(); }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    for (const entry& each : pending_) {
      if (!each.node->pending()) return std::unexpected("reference_queue: holds a node that is not pending");
    }
    return {};
  }

 private:
  using access = timer_node_access;

  struct entry {
    instant deadline;
    std::uint64_t sequence;
    node_type* node;
  };

  [[nodiscard]] std::vector<entry>::const_iterator first() const noexcept {
    return std::min_element(pending_.begin(), pending_.end(), [](const entry& a, const entry& b) {
      return std::tie(a.deadline, a.sequence) < std::tie(b.deadline, b.sequence);
    });
  }

  std::vector<entry> pending_;
  std::uint64_t next_sequence_ = 0;
};

static_assert(timer_queue<reference_queue>);

}  // namespace foliot::inline queue
