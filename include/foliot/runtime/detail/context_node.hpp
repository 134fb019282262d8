// A context that can be done, and what it has to notify.
//
// All contexts of a tree share the lock of its root, so a cancel reaches them all at once. A node is settled once it is
// done and will not change any more: from then on it is read without the lock, and its descendants no longer need it.
// While a node is not settled, its state must be read under the lock.
//
// Thread safety: any thread. Lifetime: counted; references are held by contexts, by children, and by the call of a
// deadline that has come.
// Invariants: a node that is done has neither children nor hooks; a child of a node that is done is done.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
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
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

/// How a context ended; `none` as long as it is not done.
enum class context_end : std::uint8_t { none, cancelled, deadline_exceeded };

namespace detail {

/// Is notified once, under the lock, when a context is done.
class FOLIOT_EXPORT context_hook {
 public:
  context_hook(const context_hook&) = delete;
  context_hook& operator=(const context_hook&) = delete;

 protected:
  context_hook() noexcept = default;
  virtual ~context_hook() = default;

 private:
  friend class context_node;
  /// Tasks that it claims, and that were parked, are appended to the list.
  virtual void context_is_done(ready_list& ready) noexcept = 0;

  list_links<context_hook> links_;
  bool listed_ = false;
};

class context_node;
using context_ptr = intrusive_ptr<context_node>;

/// A context in its tree.
class FOLIOT_EXPORT context_node : public pooled {
 public:
  /// A context below `parent`, or a root if `parent` is null. Throws std::bad_alloc.
  static context_ptr make(context_node* parent);
  /// The same with a deadline, whose cause is `cause`. Throws std::logic_error outside of a runtime, std::bad_alloc.
  static context_ptr make(context_node* parent, instant deadline, const std::exception_ptr& cause);

  context_node(const context_node&) = delete;
  context_node& operator=(const context_node&) = delete;

  void retain() noexcept { references_.retain(); }
  void release() noexcept;

  /// Makes the node, and all that descend from it, done, unless it is done already.
  void cancel(context_end why, const std::exception_ptr& cause) noexcept;

  /// Notifies the hook when the node is done, or at once.
  void add(context_hook& hook) noexcept;
  /// Afterwards no thread touches the hook. Returns true if it was not notified.
  bool remove(context_hook& hook) noexcept;

  /// How the context ended.
  [[nodiscard]] context_end end() const noexcept;
  /// The cause that was given; null if there is none, or if the node is not done.
  [[nodiscard]] std::exception_ptr cause() const noexcept;
  /// The earliest deadline of this context and its ancestors whose runtime still exists. O(depth).
  [[nodiscard]] instant deadline() const noexcept;

 protected:
  /// `deadline` is the node's own, and earlier than those of its ancestors, or else its parent's.
  context_node(context_node* parent, instant deadline) noexcept;
  virtual ~context_node() = default;

  /// Whether the node is done and will not change any more.
  // acquire: pairs with the release in settle().
  [[nodiscard]] bool settled() const noexcept { return settled_.load(seam::acquire); }
  /// For a caller without a reference: returns false if the last one has been dropped.
  [[nodiscard]] bool try_retain() noexcept { return references_.try_retain(); }
  /// Enters the node into the list of its parent. Before other threads know of the node.
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

  /// Stops the timer of the node's own deadline, under the lock. A call of that timer that is on its way may still
  /// cancel the node afterwards.
  virtual void stop_timer() noexcept {}
  void finish(context_end why, const std::exception_ptr& cause, ready_list& ready) noexcept;
  void leave_parent() noexcept;
  /// Returns true if it was the last reference.
  [[nodiscard]] bool drop_reference() noexcept;
  void forget() noexcept;

  void settle() noexcept { settled_.store(true, seam::release); }  // pairs with settled()

  context_node* const parent_;  // holds a reference; null for a root, and if the parent was settled before
  context_node& root_;
  const instant deadline_;  // its own, or an ancestor's; its runtime may have ended since

  mutable mutex lock_{lock_rank::context};  // only the root's is used
  // Held by contexts, by children, and by the call of a deadline that has come.
  reference_count references_{1};
  // Written once, under the lock or before other threads know of the node; publishes end_ and cause_.
  seam::atomic<bool> settled_{false};
  // Under the root's lock, until the node is settled.
  bool joined_ = false;  // is in its parent's list
  context_end end_ = context_end::none;
  std::exception_ptr cause_;
  list_links<context_node> links_;  // in its parent's children, or in the nodes that a cancel has yet to reach
  intrusive_list<context_node, &context_node::links_> children_;
  intrusive_list<context_hook, &context_hook::links_> hooks_;
};

/// An operation, see operation.hpp: waits until a context is done; for ever if it is null.
class FOLIOT_EXPORT context_done final : private context_hook {
 public:
  explicit context_done(context_ptr context) noexcept : context_(std::move(context)) {}
  ~context_done() override { end(); }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::context; }
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

/// Ends the waits of a task when a context is done.
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

/// Calls a function when a context is done.
class FOLIOT_EXPORT context_callback_hook final : private context_hook {
 public:
  /// Starts the timer without a deadline, since the reset of a pending timer needs no memory. Throws std::bad_alloc.
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
    const stop_result stopped = timer_.stop();  // pending in either case
    return was_not_told ? stop_result::stopped : stopped;
  }

 private:
  void context_is_done(ready_list& ready) noexcept override;

  context_ptr context_;
  callback_timer timer_;
  bool over_ = false;  // stop() was called, where context_ is null
};

}  // namespace detail
}  // namespace foliot::runtime
