// A coroutine frame of a task, with links to the frame that called it and to the task object that owns it. The base
// class of the promises of tasks.
//
// A waiting task is a chain of frames. The worker resumes the innermost frame; each frame was called by the next one
// outwards. Destroying a waiting frame first destroys the frames that it called, the innermost first: the order in
// which an exception would unwind them. The loop uses constant stack, however long the chain is.
//
// Thread safety: none. Before a frame has begun its owner uses it, afterwards the worker that runs its task.
// Invariants: a frame has exactly one owner; task_state::resume of a waiting task is its innermost frame.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

/// The base of foliot's own awaiters, which know how tasks wait (wait_point.hpp). Other awaiters are wrapped in a
/// foreign_awaiter.
class task_awaiter {};

class frame_owner;

class frame {
 public:
  frame(const frame&) = delete;
  frame& operator=(const frame&) = delete;

  /// The task that the frame is a part of. Precondition: the frame has begun.
  [[nodiscard]] task_state& task() const noexcept { return *task_; }
  /// The frame that called this one, and goes on after it; null: this is the outermost one.
  [[nodiscard]] frame* caller() const noexcept { return caller_; }
  /// From now on the frame is a part of `task`.
  void begin(task_state& task, frame* caller) noexcept {
    task_ = &task;
    caller_ = caller;
  }
  [[nodiscard]] bool has_begun() const noexcept { return task_ != nullptr; }
  void resume() const { self_.resume(); }
  [[nodiscard]] bool done() const noexcept { return self_.done(); }

 protected:
  frame() noexcept = default;
  ~frame() = default;

 private:
  friend class frame_owner;

  /// Destroys a frame that has not ended: it has not begun, or it waits.
  FOLIOT_EXPORT void destroy_before_end() noexcept;

  std::coroutine_handle<> self_;
  frame_owner* owner_ = nullptr;
  task_state* task_ = nullptr;
  frame* caller_ = nullptr;
};

/// Throws std::logic_error: there is no coroutine, or it has begun already.
[[noreturn]] FOLIOT_EXPORT void refuse_to_begin(const frame* body);
inline void check_can_begin(const frame* body) {
  if (body == nullptr || body->has_begun()) [[unlikely]]
    refuse_to_begin(body);
}

/// Owns a frame, and destroys it: a part of `task`.
class frame_owner {
 public:
  frame_owner() noexcept = default;
  frame_owner(frame& made, std::coroutine_handle<> self) noexcept : frame_(&made) {
    made.self_ = self;
    made.owner_ = this;
  }
  frame_owner(frame_owner&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {
    if (frame_ != nullptr) frame_->owner_ = this;
  }
  frame_owner& operator=(frame_owner&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    frame_ = std::exchange(other.frame_, nullptr);
    if (frame_ != nullptr) frame_->owner_ = this;
    return *this;
  }
  ~frame_owner() { destroy(); }

  [[nodiscard]] frame* get() const noexcept { return frame_; }

 private:
  friend class frame;

  void destroy() noexcept {
    if (frame_ == nullptr) return;
    if (frame_->self_.done()) [[likely]] {
      frame_->self_.destroy();
    } else {
      frame_->destroy_before_end();
    }
  }

  frame* frame_ = nullptr;
};

}  // namespace foliot::runtime::detail
