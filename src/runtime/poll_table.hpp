// The file descriptors that tasks wait for, and the poller that reports on them.
//
// A descriptor is added once, for both directions and on edges. An event that comes while no task waits is remembered
// until one does. A descriptor's slot is used again after its last reference was released, with another generation, so
// that a late event of the earlier descriptor is not taken for one of the next. Slots are kept until the end, since an
// event may name one at any time.
//
// Thread safety: all functions from any thread. If several threads wait at once, one of them gets each event, and one
// gets a break. Complexity: O(1), and one system call for add() and wait().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <system_error>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/detail/task_list.hpp>

namespace foliot::runtime::detail {

class poll_table {
 public:
  poll_table() = default;
  /// Sockets that outlive the runtime are closed when their owners release them.
  ~poll_table();
  poll_table(const poll_table&) = delete;
  poll_table& operator=(const poll_table&) = delete;

  /// Adds `fd`, and returns a reference to its descriptor. Errors: those of the poller, and errc::not_enough_memory;
  /// the caller must then still close `fd`.
  [[nodiscard]] std::expected<descriptor_ptr, std::error_code> add(int fd, at_end then, scheduler& owner) noexcept;

  /// From now on the ring of this alarm ends a wait, which returns `rung`. The alarm must outlive the waits. Throws
  /// std::system_error.
  void listen_to(const seam::alarm& bell) { poller_.listen_to(bell); }
  /// A task begins to wait for an event of the poller, and ends its wait.
  void begin_wait() noexcept { waits_.fetch_add(1, seam::relaxed); }  // the caller's worker reads it before it sleeps
  void end_wait() noexcept { waits_.fetch_sub(1, seam::relaxed); }

  /// How many tasks wait.
  [[nodiscard]] std::size_t waits() const noexcept { return waits_.load(seam::relaxed); }
  /// Whether no task waits.
  [[nodiscard]] bool empty() const noexcept { return waits() == 0; }

  /// What ended a wait, beside an event of a descriptor or the deadline.
  struct wait_result {
    bool broken = false;  ///< break_wait() was called, for this wait or for another thread's that has not seen it
    bool rung = false;    ///< the alarm has rung; only one wait returns this for each ring
  };
  /// Waits until `until` at most. Claims the tasks whose descriptors became ready, and appends them to the list.
  wait_result wait(instant until, ready_list& ready) noexcept;
  /// Ends the present wait, or else the next one.
  void break_wait() noexcept { poller_.wake(); }

 private:
  friend class descriptor;
  friend class descriptor_wait;

  [[nodiscard]] descriptor& take_slot();
  void give_back(descriptor& which) noexcept;
  [[nodiscard]] descriptor* find(std::uint64_t token) noexcept;

  seam::poller poller_;
  mutex lock_{lock_rank::scheduler};  // taken after a descriptor's lock
  std::vector<std::unique_ptr<descriptor>> slots_ FOLIOT_GUARDED_BY(lock_);
  std::vector<std::uint32_t> free_ FOLIOT_GUARDED_BY(lock_);
  // How many tasks wait. Written by those tasks. Read by workers: the last worker to sleep was the last to run a task.
  seam::atomic<std::size_t> waits_{0};
};

}  // namespace foliot::runtime::detail
