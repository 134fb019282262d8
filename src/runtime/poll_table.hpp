// The file descriptors that tasks wait for, and the poller that tells of them.
//
// A descriptor is added once, for both directions and on edges; what is told of it while nobody waits is remembered
// until somebody does. Its slot here is used again when the last reference in it has gone, and with another
// generation, so that what the poller has still to tell of one that is gone is not taken for news of the next. Slots
// are kept until the end: an event may point to one at any time.
//
// Thread safety: from any thread. Of several that wait at once each event is told to one, and so is a break.
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
  /// Sockets that outlive the runtime are closed when their owners let go of them.
  ~poll_table();
  poll_table(const poll_table&) = delete;
  poll_table& operator=(const poll_table&) = delete;

  /// A reference to it. What the poller refuses, and errc::not_enough_memory; the caller then still has to close `fd`.
  [[nodiscard]] std::expected<descriptor_ptr, std::error_code> add(int fd, at_end then, scheduler& owner) noexcept;

  /// From now on a ring of this bell ends a wait, and is told to one. It outlives the waits. Throws std::system_error.
  void listen_to(const seam::alarm& bell) { poller_.listen_to(bell); }
  /// A task waits for what the poller will tell; and not any more.
  void begin_wait() noexcept { waits_.fetch_add(1, seam::relaxed); }  // the caller's worker reads it before it sleeps
  void end_wait() noexcept { waits_.fetch_sub(1, seam::relaxed); }

  /// Whether nobody waits.
  [[nodiscard]] bool empty() const noexcept { return waits_.load(seam::relaxed) == 0; }

  /// How a wait ended.
  struct news {
    bool broken = false;  ///< somebody has broken the wait, this one or another's, who has not heard of it
    bool rung = false;    ///< the bell has rung; nobody else is told
  };
  /// Waits at most until then; whoever waited for what became ready goes to the list.
  news wait(instant until, ready_list& ready) noexcept;
  /// Ends the wait, or the next one.
  void break_wait() noexcept { poller_.wake(); }

 private:
  friend class descriptor;
  friend class descriptor_wait;

  [[nodiscard]] descriptor& take_slot();
  void give_back(descriptor& which) noexcept;
  [[nodiscard]] descriptor* find(std::uint64_t token) noexcept;

  seam::poller poller_;
  mutex lock_{lock_rank::scheduler};  // a descriptor's is taken before it
  std::vector<std::unique_ptr<descriptor>> slots_ FOLIOT_GUARDED_BY(lock_);
  std::vector<std::uint32_t> free_ FOLIOT_GUARDED_BY(lock_);
  // How many tasks wait. Written by them; read by workers, of whom the last one to sleep was the last to run a task.
  seam::atomic<std::size_t> waits_{0};
};

}  // namespace foliot::runtime::detail
