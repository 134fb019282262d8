// Whether a runtime still lives, for what may outlive it: timers and contexts.
//
// A runtime has a place while it lives. Places are never freed; a later runtime takes the place of one that has ended,
// and its turn there has a number that no other has had. So a reference, which is a place and a turn, may be asked at
// any time, and also from a static object's destructor.
//
// Thread safety: all from any thread, but nobody uses what he got from living() while that runtime ends: that is the
// rule for every handle that outlives its runtime. Complexity: living() is two loads and a comparison; a runtime's
// beginning looks for a free place, O(runtimes that have lived at once). Lock-free, so a fork leaves it usable.
#pragma once

#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class scheduler;

class runtime_place {
 public:
  runtime_place() noexcept = default;
  runtime_place(const runtime_place&) = delete;
  runtime_place& operator=(const runtime_place&) = delete;

 private:
  friend class runtime_life;
  friend class runtime_ref;

  // Odd while a runtime has the place. Raised by the runtime that takes it, once owner_ is there, and at its end; read
  // by every reference.
  seam::atomic<std::uint64_t> turn_{0};
  // Set by the runtime that is about to take the place, under taken_; read by who has found its turn.
  scheduler* owner_ = nullptr;
  // Held by the runtime that has the place, from before its turn until after it.
  seam::atomic<bool> taken_{false};
  // The place that was made before it. Never changes once others know of the place.
  runtime_place* next_ = nullptr;
};

/// A runtime that may have ended.
class runtime_ref {
 public:
  /// The runtime; null: it has ended.
  // acquire: pairs with the release in runtime_life: the owner of this turn is there.
  [[nodiscard]] scheduler* living() const noexcept {
    return place_->turn_.load(seam::acquire) == turn_ ? place_->owner_ : nullptr;
  }

 private:
  friend class runtime_life;
  runtime_ref(const runtime_place& place, std::uint64_t turn) noexcept : place_(&place), turn_(turn) {}

  const runtime_place* place_;
  std::uint64_t turn_;
};

/// The runtime's own side: it lives from here on, until the end.
class FOLIOT_EXPORT runtime_life {
 public:
  /// Throws std::bad_alloc.
  explicit runtime_life(scheduler& owner);
  ~runtime_life() { end(); }
  runtime_life(const runtime_life&) = delete;
  runtime_life& operator=(const runtime_life&) = delete;

  /// From now on every reference says so. Again for nothing.
  void end() noexcept;
  [[nodiscard]] runtime_ref ref() const noexcept { return {place_, turn_}; }

 private:
  static runtime_place& take_place();

  runtime_place& place_;
  const std::uint64_t turn_;
  bool ended_ = false;
};

/// The caller is run by it, or knows otherwise that it lives.
[[nodiscard]] FOLIOT_EXPORT runtime_ref reference_to(const scheduler& which) noexcept;

}  // namespace foliot::runtime::detail
