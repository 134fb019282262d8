// A context that can be done, and who is to be told of it.
//
// All contexts that descend from one, which itself descends from none, share that one's lock: so a cancel reaches all
// of them at once. A node is settled when it is done and nobody will change it any more: from then on what it says is
// read without the lock, and who descends from it needs it no longer. Of one that is not, the lock decides.
//
// Thread safety: any thread. Lifetime: counted, by contexts, by children, and by the call of a deadline that has come.
// Invariants: a node that is done has neither children nor hooks; a child of one that is done is done.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/detail/cancel_scope.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/runtime_life.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime {

/// Why a context is done.
enum class context_end : std::uint8_t { none, cancelled, deadline_exceeded };

namespace detail {

/// Somebody who is told, under the lock, once.
class FOLIOT_EXPORT context_hook {
 public:
  context_hook(const context_hook&) = delete;
  context_hook& operator=(const context_hook&) = delete;

 protected:
  context_hook() noexcept = default;
  virtual ~context_hook() = default;

 private:
  friend class context_node;
  /// Tasks that it claims, and that were parked, go to the list.
  virtual void context_is_done(ready_list& ready) noexcept = 0;

  context_hook* next_ = nullptr;
  context_hook* previous_ = nullptr;
  bool listed_ = false;
};

class context_node;
using context_ptr = intrusive_ptr<context_node>;

class FOLIOT_EXPORT context_node : public pooled {
 public:
  /// One below `parent`; null: below none. Throws std::bad_alloc.
  static context_ptr make(context_node* parent);
  /// The same, done at the deadline, with that cause. Throws std::logic_error outside of a runtime, std::bad_alloc.
  static context_ptr make(context_node* parent, instant deadline, const std::exception_ptr& cause);

  context_node(const context_node&) = delete;
  context_node& operator=(const context_node&) = delete;

  void retain() noexcept { references_.retain(); }
  void release() noexcept;

  /// First come, first served: it, and all that descend from it, are done.
  void cancel(context_end why, const std::exception_ptr& cause) noexcept;

  /// Tells the hook when the node is done, or at once.
  void add(context_hook& hook) noexcept;
  /// Afterwards nobody touches the hook. True: it was not told.
  bool remove(context_hook& hook) noexcept;

  [[nodiscard]] context_end end() const noexcept;
  [[nodiscard]] std::exception_ptr cause() const noexcept;
  /// The earliest deadline of this context and its ancestors whose runtime still exists. O(depth).
  [[nodiscard]] instant deadline() const noexcept;

 protected:
  /// `deadline` is the context's own, and earlier than those of its ancestors; or else its parent's.
  context_node(context_node* parent, instant deadline) noexcept;
  virtual ~context_node() = default;

  // acquire: pairs with the release in settle().
  [[nodiscard]] bool settled() const noexcept { return settled_.load(seam::acquire); }
  /// For a caller without a reference: returns false if the last one has been dropped.
  [[nodiscard]] bool try_retain() noexcept { return references_.try_retain(); }
  /// Before others know of it.
  void join_parent() noexcept;

 private:
  /// The runtime whose timer keeps this node's own deadline; null if the node has no deadline of its own.
  [[nodiscard]] virtual const runtime_ref* keeper() const noexcept { return nullptr; }
  /// The earliest deadline that will come, of this node and its ancestors, and the runtime whose timer keeps it.
  struct kept_deadline {
    instant when = instant::never();
    const scheduler* by = nullptr;
  };
  [[nodiscard]] kept_deadline next_deadline() const noexcept;
  static kept_deadline deadline_above(const context_node* parent, const scheduler& owner) noexcept;

  /// Under the lock: afterwards its timer tells nobody any more, but who was told may be about to cancel it.
  virtual void stop_timer() noexcept {}
  void finish(context_end why, const std::exception_ptr& cause, ready_list& ready) noexcept;
  void leave_parent() noexcept;
  [[nodiscard]] bool drop_reference() noexcept;
  void forget() noexcept;

  void settle() noexcept { settled_.store(true, seam::release); }  // pairs with settled(): publishes end_ and cause_

  context_node* const parent_;  // a reference to it; null: none, or it was settled before
  context_node& root_;
  const instant deadline_;  // its own, or of those above; their runtime may have ended since

  mutable mutex lock_{lock_rank::context};  // the root's counts
  // Held by contexts, by children, and by the call of a deadline that has come.
  reference_count references_{1};
  // Written once, under the lock or before others know of the node; publishes how it ended.
  seam::atomic<bool> settled_{false};
  // Under that lock, until it is settled.
  bool joined_ = false;  // its parent's list
  context_end end_ = context_end::none;
  std::exception_ptr cause_;
  context_node* first_child_ = nullptr;
  context_node* next_ = nullptr;  // of its parent's, or of those that a cancel is about to reach
  context_node* previous_ = nullptr;
  context_hook* first_hook_ = nullptr;
  context_hook* last_hook_ = nullptr;
};

/// An operation, see operation.hpp: waits until a context is done; null: for ever.
class FOLIOT_EXPORT context_done final : private context_hook {
 public:
  explicit context_done(context_ptr context) noexcept : context_(std::move(context)) {}
  ~context_done() override { end(); }

  [[nodiscard]] bool try_complete() const noexcept { return context_ && context_->end() != context_end::none; }
  void begin(wait_point& wait, wait_word::source by) noexcept {
    wait_ = &wait;
    by_ = by;
    waits_ = static_cast<bool>(context_);
    if (waits_) context_->add(*this);
  }
  void end() noexcept {
    if (waits_) context_->remove(*this);
    waits_ = false;
  }
  void result() const noexcept {}

 private:
  void context_is_done(ready_list& ready) noexcept override { ready.claim(*wait_, by_); }

  context_ptr context_;
  wait_point* wait_ = nullptr;
  wait_word::source by_ = 0;
  bool waits_ = false;
};

/// Ends a task's waits when a context is done.
class FOLIOT_EXPORT context_scope final : private context_hook {
 public:
  context_scope(const context_ptr& context, task_state& task) noexcept : scope_(task), context_(context) {
    if (context_) context_->add(*this);
  }
  ~context_scope() override {
    if (context_) context_->remove(*this);
  }
  [[nodiscard]] const cancel_scope& scope() const noexcept { return scope_; }

 private:
  void context_is_done(ready_list& ready) noexcept override { scope_.expire(ready); }

  cancel_scope scope_;
  context_ptr context_;
};

/// Has a function called when a context is done.
class FOLIOT_EXPORT context_callback_hook final : private context_hook {
 public:
  /// Throws std::bad_alloc. Starts the timer, with no deadline: a later reset of a pending timer needs no memory.
  context_callback_hook(context_ptr context, callback_timer timer)
      : context_(std::move(context)), timer_(std::move(timer)) {
    if (!context_) return;
    timer_.reset_at(instant::never());
    context_->add(*this);
  }
  ~context_callback_hook() override {
    if (context_) context_->remove(*this);
  }
  stop_result stop() noexcept {
    if (!context_) return std::exchange(over_, true) ? stop_result::idle : stop_result::stopped;
    const bool was_not_told = context_->remove(*this);
    const stop_result stopped = timer_.stop();  // which is pending either way
    return was_not_told ? stop_result::stopped : stopped;
  }

 private:
  void context_is_done(ready_list& ready) noexcept override;

  context_ptr context_;
  callback_timer timer_;
  bool over_ = false;  // stopped, where there is nobody to tell it anything
};

}  // namespace detail
}  // namespace foliot::runtime
