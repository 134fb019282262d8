#include <foliot/runtime/detail/frame.hpp>

#include <stdexcept>

namespace foliot::runtime::detail {

void refuse_to_begin(const frame* body) {
  if (body == nullptr) throw std::logic_error("foliot: cannot run an empty task: call a coroutine to make one");
  throw std::logic_error("foliot: a task runs once, and this one has begun: call its coroutine again for another task");
}

// The task waits in this frame or in one that this frame has called. The owner of each frame loses its pointer before
// the frame is destroyed, so that the destructors of the caller's frame do not destroy it a second time.
void frame::destroy_before_end() noexcept {
  if (!has_begun() || task_->resume == nullptr) return self_.destroy();
  task_state& task = *task_;
  for (bool last = false; !last;) {
    frame* const innermost = task.resume;
    last = innermost == this;
    task.resume = innermost->caller_;
    innermost->owner_->frame_ = nullptr;
    innermost->self_.destroy();
  }
}

}  // namespace foliot::runtime::detail
