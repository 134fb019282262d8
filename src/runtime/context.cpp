#include <foliot/runtime/context.hpp>

#include <new>

namespace foliot::runtime::detail {

context_node::context_node(std::shared_ptr<context_node> parent) noexcept
    : parent_(std::move(parent)), root_(parent_ == nullptr ? *this : parent_->root_) {
  if (parent_ != nullptr) deadline_ = parent_->deadline_;
}

context_node::~context_node() {
  timer_ = callback_timer();  // without the lock, which its function may be about to take
  const lock held(root_.lock_);
  leave_parent();
}

void context_node::begin() {
  if (parent_ == nullptr) return;
  const lock held(root_.lock_);
  if (parent_->end_ != context_end::none) {
    end_ = parent_->end_;
    cause_ = parent_->cause_;
    return;
  }
  next_ = parent_->first_child_;
  if (next_ != nullptr) next_->previous_ = this;
  parent_->first_child_ = this;
  joined_ = true;
}

void context_node::begin(instant deadline, std::exception_ptr cause) {
  scheduler& owner = this_scheduler("a context with a deadline");
  begin();
  if (end() != context_end::none || deadline_ <= deadline) return;  // that of a context above comes first
  deadline_ = deadline;
  if (deadline <= now(owner)) return cancel(context_end::deadline_exceeded, cause);
  callback_timer made([this, cause] { cancel(context_end::deadline_exceeded, cause); });
  const lock held(root_.lock_);
  if (end_ != context_end::none) return;  // a context above was quicker
  timer_ = std::move(made);
  timer_.reset_at(deadline);
}

void context_node::leave_parent() noexcept {
  if (!joined_) return;
  (previous_ == nullptr ? parent_->first_child_ : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  joined_ = false;
}

void context_node::cancel(context_end why, const std::exception_ptr& cause) noexcept {
  ready_list ready;
  {
    const lock held(root_.lock_);
    if (end_ != context_end::none) return;
    leave_parent();
    next_ = nullptr;
    for (context_node* node = this; node != nullptr;) {
      node->finish(why, cause, ready);
      context_node* rest = node->next_;
      for (context_node* child = std::exchange(node->first_child_, nullptr); child != nullptr;) {
        context_node* const sibling = child->next_;
        child->joined_ = false;
        child->next_ = rest;
        rest = child;
        child = sibling;
      }
      node = rest;
    }
    // Under the lock, which those who end wait for: the tasks, and their scheduler, are there still.
    while (task_state* const task = ready.pop_front()) make_ready(*task);
  }
}

/// Under the lock.
void context_node::finish(context_end why, const std::exception_ptr& cause, ready_list& ready) noexcept {
  end_ = why;
  cause_ = cause;
  timer_.stop();
  while (context_hook* const hook = first_hook_) {
    first_hook_ = hook->next_;
    hook->listed_ = false;
    hook->context_is_done(ready);  // its task may go on at once, but waits for the lock before the hook goes
  }
  last_hook_ = nullptr;
}

void context_node::add(context_hook& hook) noexcept {
  ready_list ready;
  {
    const lock held(root_.lock_);
    if (end_ != context_end::none) {
      hook.context_is_done(ready);
    } else {
      hook.next_ = nullptr;
      hook.previous_ = last_hook_;
      (last_hook_ == nullptr ? first_hook_ : last_hook_->next_) = &hook;
      last_hook_ = &hook;
      hook.listed_ = true;
    }
    while (task_state* const task = ready.pop_front()) make_ready(*task);
  }
}

bool context_node::remove(context_hook& hook) noexcept {
  const lock held(root_.lock_);
  if (!hook.listed_) return false;
  (hook.previous_ == nullptr ? first_hook_ : hook.previous_->next_) = hook.next_;
  (hook.next_ == nullptr ? last_hook_ : hook.next_->previous_) = hook.previous_;
  hook.listed_ = false;
  return true;
}

context_end context_node::end() const noexcept {
  const lock held(root_.lock_);
  return end_;
}

std::exception_ptr context_node::cause() const noexcept {
  const lock held(root_.lock_);
  return cause_;
}

void context_callback_hook::context_is_done(ready_list&) noexcept {
  for (;;) {
    try {
      timer_.reset(duration::zero());
      return;
    } catch (const std::bad_alloc&) {
      seam::spin_pause();  // memory comes back, or nothing goes on anyway
    }
  }
}

}  // namespace foliot::runtime::detail
