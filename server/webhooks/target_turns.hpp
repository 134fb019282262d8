// The turns of a target's deliveries: tasks that wait until its gate lets them in, in the order of their arrival.
//
//   auto turn = co_await target_turns::enter(turns);
//   if (!turn) …                              // the target is disabled
//   …                                          // deliver
//   turn->settle(went::well, runtime::now());
//
// Only the first task in the order asks the gate and waits for a time or for a change; the others wait for it alone. So
// a target that is down costs one timer, and other targets nothing.
//
// A turn that is dropped without settle() says nothing about the target (went::nowhere).
//
// Thread safety: any task; settle() and the destructor of a turn from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>

#include "target_gate.hpp"

namespace foliot::program::webhooks {

/// How many deliveries of all targets may be under way, but for the first one of each: a target that has none under way
/// never waits for others. A target has a place less than it has turns, so one that has a single turn and waits for a
/// job holds none, whatever was under way when that turn came.
class shared_room {
 public:
  explicit shared_room(std::size_t most) noexcept : free_(most) {}

 private:
  friend class target_turns;
  runtime::task_semaphore free_;
};

class target_turns;

/// The right to make one delivery. Move-only.
class delivery_turn {
 public:
  delivery_turn(delivery_turn&& other) noexcept
      : turns_(std::move(other.turns_)), has_entered_(other.has_entered_), is_probe_(other.is_probe_) {}
  delivery_turn& operator=(delivery_turn&&) = delete;
  ~delivery_turn();

  /// Ends the turn; the next one may begin.
  void settle(went how, instant now) noexcept;
  /// No delivery to this target begins before that instant.
  void hold_until(instant when) const noexcept;
  /// No delivery to this target begins before it is enabled again.
  void disable() const noexcept;
  /// Whether a delivery may begin by a turn that was granted a while ago: the target may have become disabled, held or
  /// closed by its circuit since, for which this turn is no probe. Precondition: it is not settled.
  [[nodiscard]] bool is_good(instant now) const noexcept;

 private:
  friend class target_turns;
  delivery_turn(std::shared_ptr<target_turns> turns, bool is_probe) noexcept
      : turns_(std::move(turns)), is_probe_(is_probe) {}

  std::shared_ptr<target_turns> turns_;
  bool has_entered_ = false;  // it counts for the places of its target
  bool is_probe_ = false;
};

class target_turns {
 public:
  /// The room must outlive all turns.
  target_turns(const target_limits& limits, shared_room& room) : gate_(limits), room_(room) {}
  target_turns(const target_turns&) = delete;
  target_turns& operator=(const target_turns&) = delete;

  /// Waits for a turn. Nothing if the target is disabled, now or meanwhile. Throws `cancelled`, std::bad_alloc.
  [[nodiscard]] static runtime::task<std::optional<delivery_turn>> enter(std::shared_ptr<target_turns> turns);

  /// A turn that may begin at once; nothing: there is none, or another task waits. One that is not used costs a target
  /// with a rate its part of that.
  [[nodiscard]] static std::optional<delivery_turn> try_enter(const std::shared_ptr<target_turns>& turns);

  void disable() noexcept;
  void enable() noexcept;
  void set_limits(const target_limits& limits);
  [[nodiscard]] gate_state state() const noexcept { return gate_.state(); }
  /// How many tasks wait.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.load(seam::relaxed); }

 private:
  friend class delivery_turn;
  /// The first waiting task asks the gate again.
  void tell() noexcept { static_cast<void>(changed_.try_send(true)); }
  /// Counts a turn. False: it needs a place, which `has_place` says that it has; it is given back if it is not needed.
  bool enter_room(bool has_place) noexcept;
  /// A turn that was counted has ended.
  void leave_room() noexcept;

  target_gate gate_;
  shared_room& room_;
  runtime::task_mutex order_;
  runtime::channel<bool> changed_{1};
  seam::atomic<std::size_t> waiting_{0};  // orders nothing
  mutable mutex lock_{lock_rank::object};
  // The places of the room that are held: one less than these, or none.
  std::size_t entered_ FOLIOT_GUARDED_BY(lock_) = 0;
};

}  // namespace foliot::program::webhooks
