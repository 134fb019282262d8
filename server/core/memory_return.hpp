// Gives memory that the server does not use any more back to the system, on a thread beside the workers.
//
// The allocator keeps what is freed in the middle of its heaps: after many clients that have not read large answers
// that is hundreds of megabytes. To give it back takes milliseconds for each gigabyte, so it is done when much has been
// freed, not each time.
//
// Thread safety: any task of one runtime, which this must outlive.
#pragma once

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::program {

class memory_return {
 public:
  /// Begins to give memory back a moment later, unless that is under way. Without memory for the task, does nothing.
  void begin() noexcept;

 private:
  task<> give_back();

  // Sequentially consistent: a call that finds it under way may leave its memory to it.
  seam::atomic<bool> is_under_way_{false};
};

}  // namespace foliot::program
