// The run-next slot of a processor: the task that its worker runs before those in its queue, as the task that made it
// ready is likely to wait for it. (Go: runnext; Tokio: the LIFO slot)
//
// Thread safety: put() by the worker; take() and is_empty() from any thread.
#pragma once

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

class run_next_slot {
 public:
  /// Puts the task here, and returns the task that was here before, or null.
  // release: publishes the task to the thread that takes it. acquire: pairs with a put() by the same worker.
  [[nodiscard]] task_state* put(task_state& task) noexcept { return task_.exchange(&task, seam::acq_rel); }
  /// Takes the task; null: there is none.
  // acquire: pairs with the release in put().
  [[nodiscard]] task_state* take() noexcept { return task_.exchange(nullptr, seam::acq_rel); }
  /// May be stale.
  [[nodiscard]] bool is_empty() const noexcept { return task_.load(seam::relaxed) == nullptr; }

 private:
  seam::atomic<task_state*> task_{nullptr};
};

}  // namespace foliot::runtime::detail
