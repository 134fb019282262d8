// Tells timers and contexts, which may outlive their runtime, whether that runtime still exists.
//
// A runtime occupies a slot from its start to its end. Slots are never freed. A later runtime reuses the slot of an
// ended one, under a turn number that no runtime before it had there. A runtime_ref is a slot and a turn number, so
// living() may be called at any time, also by the destructor of a static object.
//
// Thread safety: all functions from any thread; but no thread may use the result of living() while that runtime ends,
// as for every handle that outlives its runtime. Complexity: living() is two loads and a comparison; the start of a
// runtime searches for a free slot, O(the largest number of runtimes that existed at once). Lock-free, and so usable
// after a fork.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class scheduler;

class runtime_slot {
 public:
  runtime_slot() noexcept = default;
  runtime_slot(const runtime_slot&) = delete;
  runtime_slot& operator=(const runtime_slot&) = delete;

 private:
  friend class runtime_life;
  friend class runtime_ref;

  // Odd while a runtime occupies the slot. That runtime increments it after it has set owner_, and again at its end;
  // every runtime_ref reads it.
  seam::atomic<std::uint64_t> turn_{0};
  // Written by the runtime that holds taken_, before it raises turn_; read after turn_ was found unchanged.
  scheduler* owner_ = nullptr;
  // True while a runtime occupies the slot: set before its turn begins, cleared after the turn has ended.
  seam::atomic<bool> taken_{false};
  // The next older slot of a stack that only grows, without a lock. Constant once the slot is published.
  runtime_slot* next_ = nullptr;
};

/// A reference to a runtime that may have ended.
class runtime_ref {
 public:
  /// The runtime; null if it has ended.
  // acquire: pairs with the release in runtime_life: the owner of this turn is there.
  [[nodiscard]] scheduler* living() const noexcept {
    return slot_->turn_.load(seam::acquire) == turn_ ? slot_->owner_ : nullptr;
  }

 private:
  friend class runtime_life;
  runtime_ref(const runtime_slot& slot, std::uint64_t turn) noexcept : slot_(&slot), turn_(turn) {}

  const runtime_slot* slot_;
  std::uint64_t turn_;
};

/// The runtime's own side: references to it are living from the constructor to end().
class FOLIOT_EXPORT runtime_life {
 public:
  /// Throws std::bad_alloc.
  explicit runtime_life(scheduler& owner);
  ~runtime_life() { end(); }
  runtime_life(const runtime_life&) = delete;
  runtime_life& operator=(const runtime_life&) = delete;

  /// From now on living() of every reference returns null. A second call does nothing.
  void end() noexcept;
  [[nodiscard]] runtime_ref ref() const noexcept { return {slot_, turn_}; }

 private:
  static runtime_slot& take_slot();

  runtime_slot& slot_;
  const std::uint64_t turn_;
  bool ended_ = false;
};

/// Precondition: the runtime exists, as it does while it runs the caller.
[[nodiscard]] FOLIOT_EXPORT runtime_ref reference_to(const scheduler& which) noexcept;

}  // namespace foliot::runtime::detail
