// The part of a timer that a queue knows. It is intrusive: the user's object contains a node or derives from one, and
// the queue allocates nothing for it.
//
// Thread safety: none of its own. While a node is pending it is protected by the lock or the thread that protects its
// queue.
// Lifetime: a pending node must be stopped before it is destroyed (asserted).
// A queue that needs further fields derives its own node type, `Queue::node_type`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core {

/// A timer's deadline and its position in a queue. Neither copied nor moved: the queue keeps its address.
class timer_node {
 public:
  /// Not pending.
  timer_node() noexcept = default;
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;
  ~timer_node() { FOLIOT_ASSERT(!pending(), "a timer node must be stopped before it is destroyed"); }

  /// The deadline of the timer's latest start; it stays readable after the timer has fired or been stopped.
  [[nodiscard]] instant deadline() const noexcept { return deadline_; }
  /// Whether the node is in a queue.
  [[nodiscard]] bool pending() const noexcept { return place_ != nowhere; }

 private:
  friend struct timer_node_access;
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  instant deadline_;
  std::uint64_t sequence_ = 0;
  std::size_t place_ = nowhere;
};

/// Access to the fields of a node that only its queue may write. For authors of queues.
struct timer_node_access {
  static constexpr std::size_t nowhere = timer_node::nowhere;

  /// The deadline, for its one writer.
  static instant& deadline(timer_node& node) noexcept { return node.deadline_; }
  /// Writes a deadline that other threads may read at the same time, by deadline_seen().
  // relaxed: the deadline publishes nothing; a reader validates it by other means.
  static void set_deadline(timer_node& node, instant deadline) noexcept {
    seam::atomic_ref<instant>(node.deadline_).store(deadline, seam::relaxed);
  }
  /// Reads a deadline that another thread may write at the same time, by set_deadline().
  static instant deadline_seen(timer_node& node) noexcept {
    return seam::atomic_ref<instant>(node.deadline_).load(seam::relaxed);
  }
  /// The order of starts within one queue, which decides ties: a later start has a larger number.
  static std::uint64_t& sequence(timer_node& node) noexcept { return node.sequence_; }
  /// Where the node is queued, in a code of the queue's own; `nowhere` if the node is not pending.
  static std::size_t& place(timer_node& node) noexcept { return node.place_; }
};

}  // namespace foliot::inline core
