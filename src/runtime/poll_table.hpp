// The file descriptors that tasks wait for, and the poller that tells of them.
//
// A descriptor is added once, for both directions and on edges; what is told of it while nobody waits is remembered
// until somebody does. Its place here is used again for another one only with another generation, so that what the
// poller has still to tell of one that is gone is not taken for news of the next.
//
// Thread safety: from any thread. Of several that wait at once each event is told to one, and so is a break.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/poller.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/detail/task_list.hpp>

namespace foliot::runtime::detail {

class poll_table {
 public:
  /// Throws std::system_error, with nothing changed, and std::bad_alloc.
  descriptor& add(int fd);
  /// Tasks that wait for it are woken, and find it closed. Before the descriptor is closed.
  void remove(descriptor& which) noexcept;

  /// Whether there is anything to poll for.
  [[nodiscard]] bool empty() const noexcept { return watched_.load(seam::relaxed) == 0; }

  /// Waits at most until then; whoever waited for what became ready goes to the list. True: somebody has broken the
  /// wait, this one or another's, who has not heard of it.
  bool wait(instant until, ready_list& ready) noexcept;
  /// Ends the wait, or the next one.
  void break_wait() noexcept { poller_.wake(); }

 private:
  [[nodiscard]] descriptor* find(std::uint64_t token) noexcept;

  seam::poller poller_;
  mutex lock_{lock_rank::scheduler};  // a descriptor's is taken before it
  std::vector<std::unique_ptr<descriptor>> places_ FOLIOT_GUARDED_BY(lock_);
  std::vector<std::uint32_t> free_ FOLIOT_GUARDED_BY(lock_);
  seam::atomic<std::size_t> watched_{0};
};

}  // namespace foliot::runtime::detail
