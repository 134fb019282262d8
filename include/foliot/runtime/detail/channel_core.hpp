// A channel without its handles: its values, and the operations that wait to send or to receive.
//
// 1. While a receiver waits that can be claimed, the channel has no value, and no sender waits that can be claimed.
// 2. While a sender waits that can be claimed, the channel has no room.
// 3. A closed channel has no waiting operation that can be claimed.
// (A queued operation can no longer be claimed if something else has just ended its wait.)
//
// A sender and a receiver meet although each may be in a select, whose wait other things can end. The thread of the
// second operation claims its own wait first, and then that of the first operation. If the second claim comes too late
// and no other operation waits, begin() has spent the caller's wait for nothing: it returns false, and is called again
// with a new wait. Each failed claim means that another claim succeeded, so the tasks together always make progress.
//
// Values are passed as payloads, whose moves do not throw: T itself, or a unique_ptr to a T whose moves may throw.
//
// Lifetime: counted by the handles. Operations that are destroyed after the last handle, as at the end of a runtime,
// keep the channel alive as long as they are queued. Thread safety: any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/channel_closed.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/ring.hpp>
#include <foliot/runtime/detail/wait_queue.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// What became of an attempt to send or receive: not possible now, done, or the channel is closed.
enum class transfer : std::uint8_t { none, done, closed };

/// A channel with values of type T.
template <class T>
class channel_core {
 public:
  static constexpr bool boxed = !std::is_nothrow_move_constructible_v<T>;
  using payload = std::conditional_t<boxed, std::unique_ptr<T>, T>;

  /// An operation that waits to send.
  struct sender : queued_wait {
    explicit sender(payload what) noexcept : value(std::move(what)) {}
    payload value;
    transfer outcome = transfer::none;
  };
  /// An operation that waits to receive.
  struct receiver : queued_wait {
    std::optional<payload> value;
    transfer outcome = transfer::none;
  };

  /// Holds one reference. Throws std::bad_alloc.
  explicit channel_core(std::size_t capacity) : values_(capacity) { publish(); }

  void retain() noexcept { references_.retain(); }
  void release() noexcept {
    if (!references_.release()) return;
    lock held(lock_);
    orphan_ = true;
    leave_and_end(held);
  }

  /// Takes the value only if it returns `done`.
  [[nodiscard]] transfer try_send(payload& value) noexcept {
    const lock held(lock_);
    return send(value, nullptr);
  }
  /// Sets `into` only if it returns `done`.
  [[nodiscard]] transfer try_receive(std::optional<payload>& into) noexcept {
    const lock held(lock_);
    return receive(into, nullptr);
  }

  /// Sends, or queues the operation. Returns false if the wait was claimed but nothing was done: the caller must end()
  /// the operation, and begin it with a new wait.
  [[nodiscard]] bool begin(sender& one, wait_point& wait, wait_word::source by) noexcept {
    const lock held(lock_);
    if (closed_ || !values_.full() || receivers_.first_but(&wait) != nullptr) {
      if (!wait.claim(by)) return true;
      one.outcome = send(one.value, &wait);
      return one.outcome != transfer::none;
    }
    senders_.link(one, wait, by);
    publish();
    return true;
  }
  /// The same for a receiver.
  [[nodiscard]] bool begin(receiver& one, wait_point& wait, wait_word::source by) noexcept {
    const lock held(lock_);
    if (closed_ || !values_.empty() || senders_.first_but(&wait) != nullptr) {
      if (!wait.claim(by)) return true;
      one.outcome = receive(one.value, &wait);
      return one.outcome != transfer::none;
    }
    receivers_.link(one, wait, by);
    publish();
    return true;
  }
  /// Removes the operation from its queue. The channel may be deleted. Precondition: is_over() was false.
  void end(sender& one) noexcept { end(senders_, one); }
  void end(receiver& one) noexcept { end(receivers_, one); }

  /// Throws channel_closed if it is closed already.
  void close() {
    const lock held(lock_);
    if (closed_) throw channel_closed("foliot: close of a closed channel: close a channel once");
    closed_ = true;
    while (queued_wait* const each = receivers_.claim_first()) {
      static_cast<receiver*>(each)->outcome = transfer::closed;
      receivers_.finish(*each);
    }
    while (queued_wait* const each = senders_.claim_first()) {
      static_cast<sender*>(each)->outcome = transfer::closed;
      senders_.finish(*each);
    }
    publish();
  }

  [[nodiscard]] bool closed() const noexcept {
    const lock held(lock_);
    return closed_;
  }
  [[nodiscard]] bool drained() const noexcept {
    const lock held(lock_);
    return closed_ && values_.empty();
  }
  [[nodiscard]] std::size_t size() const noexcept {
    const lock held(lock_);
    return values_.size();
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }

  /// Hints whether a try may succeed. They may miss what has just become possible; begin() looks again under the lock.
  [[nodiscard]] bool may_send() const noexcept { return (possible_.load(seam::relaxed) & can_send) != 0; }
  [[nodiscard]] bool may_receive() const noexcept { return (possible_.load(seam::relaxed) & can_receive) != 0; }

 private:
  static constexpr std::uint8_t can_send = 1;
  static constexpr std::uint8_t can_receive = 2;

  ~channel_core() = default;

  /// `own` is a wait that must not be claimed: that of the caller, or null.
  [[nodiscard]] transfer send(payload& value, const wait_point* own) noexcept FOLIOT_REQUIRES(lock_) {
    transfer result = transfer::none;
    if (closed_) {
      result = transfer::closed;
    } else if (queued_wait* const first = receivers_.claim_first(own)) {
      auto& to = *static_cast<receiver*>(first);
      to.value.emplace(std::move(value));
      to.outcome = transfer::done;
      receivers_.finish(to);
      result = transfer::done;
    } else if (!values_.full()) {
      values_.push(std::move(value));
      result = transfer::done;
    }
    publish();
    return result;
  }
  [[nodiscard]] transfer receive(std::optional<payload>& into, const wait_point* own) noexcept FOLIOT_REQUIRES(lock_) {
    transfer result = closed_ ? transfer::closed : transfer::none;
    if (!values_.empty()) {
      into.emplace(values_.pop());
      if (queued_wait* const first = senders_.claim_first()) {
        values_.push(std::move(static_cast<sender*>(first)->value));
        sent(*first);
      }
      result = transfer::done;
    } else if (queued_wait* const first = senders_.claim_first(own)) {
      into.emplace(std::move(static_cast<sender*>(first)->value));
      sent(*first);
      result = transfer::done;
    }
    publish();
    return result;
  }
  /// Ends the wait of a claimed sender, whose value was taken.
  void sent(queued_wait& first) noexcept FOLIOT_REQUIRES(lock_) {
    static_cast<sender&>(first).outcome = transfer::done;
    senders_.finish(first);
  }

  void end(wait_queue& queue, queued_wait& one) noexcept {
    lock held(lock_);
    queue.unlink(one);
    publish();
    leave_and_end(held);
  }
  /// Unlocks, and deletes the channel if nothing refers to it any more.
  void leave_and_end(lock& held) noexcept FOLIOT_NO_ANALYSIS {
    const bool last = orphan_ && receivers_.empty() && senders_.empty();
    held.leave();
    if (last) delete this;
  }

  /// Updates the hints for may_send() and may_receive(). Under the lock, or before the channel is shared.
  void publish() noexcept {
    const bool sends = closed_ || !values_.full() || !receivers_.empty();
    const bool receives = closed_ || !values_.empty() || !senders_.empty();
    const auto now = static_cast<std::uint8_t>((sends ? can_send : 0) | (receives ? can_receive : 0));
    // relaxed: a hint publishes nothing.
    if (possible_.load(seam::relaxed) != now) possible_.store(now, seam::relaxed);
  }

  mutable mutex lock_{lock_rank::object};
  // All under the lock, except that may_send() and may_receive() read possible_ without it.
  seam::atomic<std::uint8_t> possible_{0};
  bool closed_ = false;
  bool orphan_ = false;  // the last handle is gone
  wait_queue receivers_;
  wait_queue senders_;
  ring<payload> values_;
  reference_count references_{1};
};

/// An operation, see operation.hpp: sends a value.
template <class T>
class send_operation : private channel_core<T>::sender {
  using core = channel_core<T>;
  using record = typename core::sender;

 public:
  send_operation(core& channel, typename core::payload what) noexcept : record(std::move(what)), channel_(&channel) {}
  send_operation(send_operation&&) noexcept = default;
  ~send_operation() { end(); }

  [[nodiscard]] bool may_complete() const noexcept { return channel_->may_send(); }
  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::send; }
  [[nodiscard]] bool try_complete() noexcept {
    this->outcome = channel_->try_send(this->value);
    return this->outcome != transfer::none;
  }
  [[nodiscard]] bool begin(wait_point& wait, wait_word::source by) noexcept { return channel_->begin(*this, wait, by); }
  void end() noexcept {
    if (!this->is_over()) channel_->end(*this);
  }
  void result() const {
    if (this->outcome == transfer::closed)
      throw channel_closed("foliot: send on a closed channel: send all values before close()");
  }

 private:
  core* channel_;
};

/// An operation, see operation.hpp: receives a value. May be used repeatedly.
template <class T>
class receive_operation : private channel_core<T>::receiver {
  using core = channel_core<T>;

 public:
  explicit receive_operation(core& channel) noexcept : channel_(&channel) {}
  receive_operation(receive_operation&&) noexcept = default;
  ~receive_operation() { end(); }

  [[nodiscard]] bool may_complete() const noexcept { return channel_->may_receive(); }
  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::receive; }
  [[nodiscard]] bool try_complete() noexcept {
    this->outcome = channel_->try_receive(this->value);
    return this->outcome != transfer::none;
  }
  [[nodiscard]] bool begin(wait_point& wait, wait_word::source by) noexcept { return channel_->begin(*this, wait, by); }
  void end() noexcept {
    if (!this->is_over()) channel_->end(*this);
  }
  /// Whether it has a result that was not taken.
  [[nodiscard]] bool completed() const noexcept { return this->outcome != transfer::none; }
  [[nodiscard]] std::optional<T> result() {
    this->outcome = transfer::none;
    if (!this->value.has_value()) return std::nullopt;
    std::optional<typename core::payload> got(std::move(this->value));
    this->value.reset();
    if constexpr (core::boxed) {
      return std::optional<T>(std::move(**got));
    } else {
      return got;
    }
  }

 private:
  core* channel_;
};

}  // namespace foliot::runtime::detail
