// A file descriptor that tasks wait for: what it is known to be ready for, and who waits in which direction.
//
// The poller tells on edges. What is told is remembered until a task has found, by an operation that would block, that
// it is so no more: it takes the memory back first, and then tries, so that news between the two are not lost.
//
// Thread safety: under its lock; one task waits in each direction at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/readiness.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

enum class direction : std::uint8_t { in, out };

class descriptor {
 public:
  descriptor() noexcept = default;

  /// Forgets that it was ready: the caller is about to try.
  void forget(direction way) noexcept {
    const lock held(lock_);
    ready_[index(way)] = false;
  }

  /// The caller's task waits until it is ready, or closed: then `wait` is claimed for `by`, now or later. False:
  /// another task waits in that direction.
  [[nodiscard]] bool begin_wait(direction way, wait_point& wait, wait_word::source by) noexcept {
    const lock held(lock_);
    if (waits_[index(way)] != nullptr) return false;
    if (ready_[index(way)] || closed_) {
      wait.claim(by);
      return true;
    }
    waits_[index(way)] = &wait;
    by_[index(way)] = by;
    return true;
  }
  /// Afterwards nobody touches that wait.
  void end_wait(direction way, const wait_point& wait) noexcept {
    const lock held(lock_);
    if (waits_[index(way)] == &wait) waits_[index(way)] = nullptr;
  }

  [[nodiscard]] bool closed() const noexcept {
    const lock held(lock_);
    return closed_;
  }

 private:
  friend class poll_table;

  static constexpr std::size_t index(direction way) noexcept { return static_cast<std::size_t>(way); }

  void tell(readiness now, std::uint32_t generation, ready_list& ready) noexcept {
    const lock held(lock_);
    if (generation != generation_) return;  // of the one that was here before
    constexpr auto both = readiness::hung_up | readiness::failed;
    if (has(now, readiness::readable | readiness::peer_closed | both)) tell(direction::in, ready);
    if (has(now, readiness::writable | both)) tell(direction::out, ready);
  }
  void tell(direction way, ready_list& ready) noexcept FOLIOT_REQUIRES(lock_) {
    ready_[index(way)] = true;
    if (wait_point* const wait = waits_[index(way)]) {
      waits_[index(way)] = nullptr;
      ready.claim(*wait, by_[index(way)]);
    }
  }

  mutable mutex lock_{lock_rank::object};
  std::array<bool, 2> ready_ FOLIOT_GUARDED_BY(lock_) = {};
  std::array<wait_point*, 2> waits_ FOLIOT_GUARDED_BY(lock_) = {};
  std::array<wait_word::source, 2> by_ FOLIOT_GUARDED_BY(lock_) = {};
  bool closed_ FOLIOT_GUARDED_BY(lock_) = false;
  std::uint32_t generation_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::uint32_t place_ = 0;
  int fd_ = -1;
};

}  // namespace foliot::runtime::detail
