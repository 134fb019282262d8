// The processors of a runtime. Each is made once and stays until the end; those with numbers from count() on are
// retired, and are used again when the number grows.
//
// Thread safety: all() and count() from any thread; add() by the thread that changes the number of processors;
// set_count() by that thread, under the scheduler's lock where workers run (on real time).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <foliot/core/seam/sync.hpp>

#include "processor.hpp"

namespace foliot::runtime::detail {

class processor_set {
 public:
  static constexpr std::size_t most = 256;

  /// All processors that were ever made, by number.
  // acquire: pairs with the release in add().
  [[nodiscard]] std::span<const std::unique_ptr<processor>> all() const noexcept {
    return {processors_.data(), made_.load(seam::acquire)};
  }
  [[nodiscard]] std::size_t made() const noexcept { return made_.load(seam::acquire); }
  /// Whether only one was ever made: then no other worker exists.
  // relaxed: the count alone is used.
  [[nodiscard]] bool is_single() const noexcept { return made_.load(seam::relaxed) == 1; }
  /// Precondition: it was made.
  [[nodiscard]] processor& operator[](std::size_t number) const noexcept { return *processors_[number]; }

  processor& add(std::unique_ptr<processor> one) noexcept {
    const std::size_t number = made_.load(seam::relaxed);
    processors_[number] = std::move(one);
    made_.store(number + 1, seam::release);  // pairs with the acquire in all()
    return *processors_[number];
  }

  /// How many processors there are now: those from 0 to count() - 1.
  // relaxed: read under the lock, or as a hint.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(seam::relaxed); }
  void set_count(std::size_t count) noexcept { count_.store(count, seam::relaxed); }

 private:
  std::array<std::unique_ptr<processor>, most> processors_;
  seam::atomic<std::size_t> made_{0};
  seam::atomic<std::size_t> count_{0};
};

}  // namespace foliot::runtime::detail
