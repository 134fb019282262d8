// The part that loop_timer and loop_ticker have in common: a node with a callback, which may destroy its own timer.
//
// Thread safety and lifetime: see loop_timers.hpp.
#pragma once

#include <utility>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/export.h>
#include <foliot/core/firing.hpp>
#include <foliot/core/outcome.hpp>

namespace foliot::detail {

/// A node of an event loop with a callback.
class FOLIOT_EXPORT loop_callback : public loop_node {
 protected:
  loop_callback(loop_timers& timers, timer_callback&& callback) noexcept
      : timers_(timers), callback_(std::move(callback)) {}
  ~loop_callback() {
    if (pending()) timers_.stop(*this);
    if (running_ != nullptr) running_->node = nullptr;
  }

  /// Makes the node pending; returns its state before. Throws std::bad_alloc with nothing changed.
  reset_result start_at(instant deadline) {
    if (timers_.reset(*this, deadline)) return reset_result::superseded;
    return running_ != nullptr ? reset_result::running : reset_result::idle;
  }
  /// Makes the node idle; returns its state before.
  stop_result end_start() noexcept {
    if (pending() && timers_.stop(*this)) return stop_result::stopped;
    return running_ != nullptr ? stop_result::running : stop_result::idle;
  }
  /// Calls the callback, which may destroy the node. Throws what the callback throws.
  void call(const firing& due) {
    in_progress now(*this);
    now.callback(due);
  }

  loop_timers& timers() const noexcept { return timers_; }

 private:
  /// The callback while it runs: on the stack, because it may destroy the node.
  struct in_progress {
    explicit in_progress(loop_callback& due) noexcept : node(&due), callback(std::move(due.callback_)) {
      due.running_ = this;
    }
    in_progress(const in_progress&) = delete;
    in_progress& operator=(const in_progress&) = delete;
    ~in_progress() {
      if (node == nullptr) return;
      node->callback_ = std::move(callback);
      node->running_ = nullptr;
    }
    loop_callback* node;  // null once the callback has destroyed it
    timer_callback callback;
  };

  loop_timers& timers_;
  timer_callback callback_;
  in_progress* running_ = nullptr;  // null unless the callback is running
};

}  // namespace foliot::detail
