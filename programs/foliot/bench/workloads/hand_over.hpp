// A ring through which one thread hands numbers to one other, in order, without a lock.
//
// Thread safety: one thread gives, one takes; both are wait-free.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <foliot/core/seam/sync.hpp>

namespace foliot::program::bench {

class hand_over {
 public:
  /// Holds at least so many numbers. Precondition: room is positive.
  explicit hand_over(std::size_t room) : ring_(std::bit_ceil(room)) {}

  /// False, and nothing done, if the ring is full.
  bool give(std::uint32_t number) noexcept {
    const std::size_t end = given_.load(seam::relaxed);  // only this thread writes it
    // acquire: pairs with the release in take(), after which the slot has been read.
    if (end - taken_.load(seam::acquire) == ring_.size()) return false;
    ring_[end % ring_.size()] = number;
    given_.store(end + 1, seam::release);  // publishes the slot, to take()
    return true;
  }

  /// False, and nothing done, if the ring is empty.
  bool take(std::uint32_t& number) noexcept {
    const std::size_t begin = taken_.load(seam::relaxed);   // only this thread writes it
    if (begin == given_.load(seam::acquire)) return false;  // pairs with the release in give()
    number = ring_[begin % ring_.size()];
    taken_.store(begin + 1, seam::release);  // gives the slot back, to give()
    return true;
  }

  /// Whether give() would fail. Only the thread that gives may ask.
  [[nodiscard]] bool full() const noexcept {
    return given_.load(seam::relaxed) - taken_.load(seam::acquire) == ring_.size();
  }

 private:
  static constexpr std::size_t line = 64;

  std::vector<std::uint32_t> ring_;
  alignas(line) seam::atomic<std::size_t> given_{0};  // written by the giver, read by both
  alignas(line) seam::atomic<std::size_t> taken_{0};  // written by the taker, read by both
};

}  // namespace foliot::program::bench
