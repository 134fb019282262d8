// The part of a timer that a queue sees. It is intrusive: the user's object holds it, or derives
// from it, and the queue links it without allocating anything for it.
//
// Thread safety: none of its own; a node belongs to the queue that it is pending in, and to whatever
// protects that queue.
// Lifetime: a node must outlive its pending time: stop it before it is destroyed (asserted).
// Queues that need more fields than these derive a node type of their own (`Queue::node_type`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

class timer_node {
 public:
  timer_node() noexcept = default;
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;
  ~timer_node() { FOLIOT_ASSERT(!pending(), "a timer node must be stopped before it is destroyed"); }

  /// When the timer is to fire; once it has fired or been stopped, when it was to.
  [[nodiscard]] instant deadline() const noexcept { return deadline_; }
  /// Whether some queue holds this node.
  [[nodiscard]] bool pending() const noexcept { return place_ != nowhere; }

 private:
  friend struct timer_node_access;
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  instant deadline_;
  std::uint64_t sequence_ = 0;
  std::size_t place_ = nowhere;
};

/// For the authors of queues: the fields that a queue writes, and nobody else.
struct timer_node_access {
  static constexpr std::size_t nowhere = timer_node::nowhere;

  static instant& deadline(timer_node& node) noexcept { return node.deadline_; }
  /// For queues whose nodes' deadlines other threads look at, by deadline_seen(), while it is written.
  // relaxed: whoever looks finds out by other means what to make of it.
  static void set_deadline(timer_node& node, instant deadline) noexcept {
    seam::atomic_ref<instant>(node.deadline_).store(deadline, seam::relaxed);
  }
  static instant deadline_seen(timer_node& node) noexcept {
    return seam::atomic_ref<instant>(node.deadline_).load(seam::relaxed);
  }
  /// The order of starts within one queue, for ties: a larger one was started later.
  static std::uint64_t& sequence(timer_node& node) noexcept { return node.sequence_; }
  /// Where in the queue the node is, in the queue's own terms; `nowhere` when it is not pending.
  static std::size_t& place(timer_node& node) noexcept { return node.place_; }
};

}  // namespace foliot::inline core
