#include <foliot/runtime/context.hpp>

#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime::detail {

namespace {

/// A context with a deadline of its own, and the timer for it.
class timed_node final : public context_node, private timer_entry {
 public:
  timed_node(scheduler& owner, context_node* parent, instant deadline, const std::exception_ptr& cause) noexcept
      : context_node(parent, deadline),
        timer_entry(what_to_do),
        runtime_(reference_to(owner)),
        deadline_cause_(cause) {}

  void begin(scheduler& owner, instant deadline) {
    if (settled()) return;                                  // its parent was done
    start_timer(owner, *this, deadline, starter::goes_on);  // first, because it may throw
    join_parent();
  }

 private:
  // Under the lock of the timers, for which stop_timer() waits: the node still exists, but may be about to be deleted.
  static then come(timer_entry& self, ready_list&) noexcept {
    return static_cast<timed_node&>(self).try_retain() ? then::call : then::nothing;
  }
  static void call(timer_entry& self) noexcept {
    auto& mine = static_cast<timed_node&>(self);
    mine.cancel(context_end::deadline_exceeded, mine.deadline_cause_);
    mine.release();
  }
  static constexpr actions what_to_do{come, call};

  void stop_timer() noexcept override { static_cast<void>(detail::stop_timer(*this)); }
  const runtime_ref* keeper() const noexcept override { return &runtime_; }

  const runtime_ref runtime_;
  const std::exception_ptr deadline_cause_;
};

}  // namespace

context_node::context_node(context_node* parent, instant deadline) noexcept
    : parent_(parent == nullptr || parent->settled() ? nullptr : parent),
      root_(parent_ == nullptr ? *this : parent_->root_),
      deadline_(deadline) {
  if (parent_ != nullptr) {
    parent_->retain();
  } else if (parent != nullptr) {
    end_ = parent->end_;
    cause_ = parent->cause_;
    settle();
  }
}

context_ptr context_node::make(context_node* parent) {
  context_ptr made(*new context_node(parent, parent == nullptr ? instant::never() : parent->deadline_));
  made->join_parent();
  return made;
}

context_node::kept_deadline context_node::next_deadline() const noexcept {
  if (deadline_.is_never()) return {};  // then its ancestors have none either
  for (const context_node* node = this; node != nullptr; node = node->parent_) {
    const runtime_ref* const keeper = node->keeper();
    const scheduler* const by = keeper == nullptr ? nullptr : keeper->living();
    if (by != nullptr) return {node->deadline_, by};  // a deadline of its own is earlier than those of its ancestors
  }
  return {};
}

instant context_node::deadline() const noexcept { return settled() ? deadline_ : next_deadline().when; }

/// The deadline that a new context below `parent` inherits. The deadline of a parent that is done already needs no
/// timer, so it counts as kept by `owner`.
context_node::kept_deadline context_node::deadline_above(const context_node* parent, const scheduler& owner) noexcept {
  if (parent == nullptr) return {};
  return parent->settled() ? kept_deadline{parent->deadline_, &owner} : parent->next_deadline();
}

context_ptr context_node::make(context_node* parent, instant deadline, const std::exception_ptr& cause) {
  scheduler& owner = this_scheduler("a context with a deadline");
  const kept_deadline above = deadline_above(parent, owner);
  const bool has_earlier = above.when <= deadline;
  // A timer of an ancestor serves if this runtime keeps it. Another runtime may end before that timer fires.
  if (has_earlier && (above.by == &owner || above.when.is_never())) return make(parent);
  const instant first = has_earlier ? above.when : deadline;
  const std::exception_ptr why = has_earlier ? nullptr : cause;
  if (first <= now_or_later(owner) && first <= now(owner)) {
    context_ptr past(*new context_node(parent, first));
    past->join_parent();
    past->cancel(context_end::deadline_exceeded, why);
    return past;
  }
  auto* const timed = new timed_node(owner, parent, first, why);
  context_ptr made(*timed);
  timed->begin(owner, first);
  return made;
}

void context_node::join_parent() noexcept {
  if (parent_ == nullptr) return;
  const lock held(root_.lock_);
  if (end_ != context_end::none) return;  // its deadline has ended it already
  if (parent_->end_ != context_end::none) {
    end_ = parent_->end_;
    cause_ = parent_->cause_;
    stop_timer();
    return settle();
  }
  parent_->children_.push_front(*this);
  joined_ = true;
}

void context_node::leave_parent() noexcept {
  if (!joined_) return;
  parent_->children_.erase(*this);
  joined_ = false;
}

// A loop up the tree, not a recursion: the chain of ancestors may be long.
void context_node::release() noexcept {
  for (context_node* node = this; node != nullptr && node->drop_reference();) {
    context_node* const parent = node->parent_;
    node->forget();
    delete node;
    node = parent;
  }
}

/// Returns true if it was the last reference.
bool context_node::drop_reference() noexcept {
  // The deadline of a settled node no longer retains it, so no other thread can: the holder of the only reference need
  // not count it down.
  return (settled() && references_.is_unique()) || references_.release();
}

/// Removes the node, which has no reference any more, from the list of its parent and from the timers.
void context_node::forget() noexcept {
  if (settled()) return;
  const lock held(root_.lock_);
  leave_parent();
  stop_timer();
}

void context_node::cancel(context_end why, const std::exception_ptr& cause) noexcept {
  if (settled()) return;
  ready_list ready;
  const lock held(root_.lock_);
  if (end_ != context_end::none) return;
  leave_parent();
  // A loop, not a recursion: the tree may be deep.
  intrusive_list<context_node, &context_node::links_> reached;
  for (context_node* node = this; node != nullptr; node = reached.pop_front()) {
    node->finish(why, cause, ready);
    while (context_node* const child = node->children_.pop_front()) {
      child->joined_ = false;
      reached.push_front(*child);
    }
    node->settle();  // from now on it may be deleted; readers of its descendants, which are not settled, need the lock
  }
  // Under the lock, which each of these tasks needs to end its wait: so the tasks, and their schedulers, still exist.
  while (task_state* const task = ready.pop_front()) make_ready(*task);
}

/// Makes this node alone done, under the lock.
void context_node::finish(context_end why, const std::exception_ptr& cause, ready_list& ready) noexcept {
  end_ = why;
  cause_ = cause;
  stop_timer();
  while (context_hook* const hook = hooks_.pop_front()) {
    hook->listed_ = false;
    hook->context_is_done(ready);  // its task may continue at once, but must take the lock before it destroys the hook
  }
}

void context_node::add(context_hook& hook) noexcept {
  ready_list ready;
  {
    const lock held(root_.lock_);
    if (end_ != context_end::none) {
      hook.context_is_done(ready);
    } else {
      hooks_.push_back(hook);
      hook.listed_ = true;
    }
    while (task_state* const task = ready.pop_front()) make_ready(*task);
  }
}

bool context_node::remove(context_hook& hook) noexcept {
  const lock held(root_.lock_);
  if (!hook.listed_) return false;
  hooks_.erase(hook);
  hook.listed_ = false;
  return true;
}

context_end context_node::end() const noexcept {
  if (settled()) return end_;
  const lock held(root_.lock_);
  return end_;
}

std::exception_ptr context_node::cause() const noexcept {
  if (settled()) return cause_;
  const lock held(root_.lock_);
  return cause_;
}

void context_callback_hook::context_is_done(ready_list&) noexcept { timer_.reset(duration::zero()); }

}  // namespace foliot::runtime::detail
