// A part of a task that may be ended before the task is: what a timeout, or a context, is made of.
//
// While it lives it is the innermost scope of its task. Once it has expired, every wait inside throws scope_expired,
// which whoever made the scope catches, and nobody else. Thread safety: expire() from any thread, as long as the scope
// lives, which is the caller's business.
#pragma once

#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

class cancel_scope {
 public:
  explicit cancel_scope(task_state& task) noexcept : task_(task), outer_(task.scopes) { task.scopes = this; }
  ~cancel_scope() { task_.scopes = outer_; }
  cancel_scope(const cancel_scope&) = delete;
  cancel_scope& operator=(const cancel_scope&) = delete;

  /// The task's wait is over, or the next one. A task that was parked goes to the list.
  void expire(ready_list& ready) noexcept {
    expired_.store(true, seam::release);  // pairs with expired(); before the interrupt that tells of it
    if (task_.wait().interrupt()) ready.push_back(task_);
  }
  [[nodiscard]] bool expired() const noexcept { return expired_.load(seam::acquire); }
  [[nodiscard]] cancel_scope* outer() const noexcept { return outer_; }

 private:
  task_state& task_;
  cancel_scope* const outer_;
  seam::atomic<bool> expired_{false};
};

/// What ends the waits inside a scope. Not for users, nor derived from std::exception: only the scope's maker
/// catches it, and everything in between lets it pass.
class FOLIOT_EXPORT scope_expired {
 public:
  explicit scope_expired(const cancel_scope& which) noexcept : which_(&which) {}
  [[nodiscard]] bool is(const cancel_scope& scope) const noexcept { return which_ == &scope; }

 private:
  const cancel_scope* which_;
};

}  // namespace foliot::runtime::detail
