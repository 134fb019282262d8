// Channels: values from task to task, and from any thread to a task.
//
//   foliot::runtime::channel<int> numbers;                   // unbuffered; channel<int> numbers(10) has room for ten
//   …
//   co_await numbers.send(42);                               // waits until somebody has taken it, or there is room
//   …
//   while (auto n = co_await numbers.receive()) use(*n);     // until it is closed and empty
//
// A channel is a handle, and its copies are the same channel: hand it to tasks by value, and it lives as long as one of
// them. send_end and receive_end are handles that can only do the one or the other.
//
// Who waits is served in order, senders and receivers alike: values come out in the order in which they went in, and a
// value goes straight from who sends to who waits for it. Waiting throws `cancelled` in a task that is to stop; the
// value was not sent then, and none was taken. What can be done at once is done also in a task that is to stop, unless
// its turn has come to its end (task.hpp): then it throws as well.
//
//   send        waits for room or a receiver. channel_closed if it is closed, also while it waits
//   receive     waits for a value; nothing once the channel is closed and empty
//   try_send    the same without waiting: false, and the value is untouched, if there is neither room nor a receiver
//   try_receive nothing if there is no value; drained() tells whether there will ever be one
//   close       receivers that wait get nothing, senders channel_closed; what is in it stays. channel_closed if it is
//
// send and receive are awaited as they are, or as cases of a select, in a task; the handle lives as long. The others
// from any thread. All O(1), but for close: by the number of those who wait.
//
// T can be moved; its destructor does not throw; it is not over-aligned, since frames are not (task.hpp). Where its
// moves can, each value gets memory of its own, from send to receive, and no move happens in between: a throw reaches
// who sends, and nothing was sent; or who receives, and the value is gone. try_send then also needs T's assignment.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/runtime/channel_closed.hpp>
#include <foliot/runtime/detail/channel_core.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/operation.hpp>

namespace foliot::runtime {

namespace detail {

/// A reference to a channel, or none.
template <class T>
class channel_handle {
  static_assert(std::is_object_v<T> && std::move_constructible<T> && std::is_nothrow_destructible_v<T>,
                "foliot: a channel carries objects that can be moved, whose destructors do not throw");
  static_assert(
      fits_in_frame<T>,
      "foliot: a channel's values must not need a stricter alignment than operator new gives, which the frame "
      "of who waits does not have: send a pointer to it");

 public:
  using value_type = T;

  /// Whether it is a handle of a channel: false of one that was moved from, with which nothing else may be done but to
  /// assign, compare and destroy it.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(core_); }
  /// Whether both are handles of the same channel.
  [[nodiscard]] friend bool operator==(const channel_handle&, const channel_handle&) noexcept = default;

  void close() const { core().close(); }
  [[nodiscard]] bool closed() const noexcept { return core().closed(); }
  /// The channel is closed, and nothing is left in it.
  [[nodiscard]] bool drained() const noexcept { return core().drained(); }
  /// How many values are in it: a moment's answer.
  [[nodiscard]] std::size_t size() const noexcept { return core().size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return core().capacity(); }

 protected:
  explicit channel_handle(std::size_t capacity) : core_(*new channel_core<T>(capacity)) {}

  [[nodiscard]] channel_core<T>& core() const noexcept {
    FOLIOT_ASSERT(core_, "this handle has no channel: it was moved from");
    return *core_;
  }

  [[nodiscard]] auto make_send(T&& value) const {
    using awaiter = operation_awaiter<send_operation<T>>;
    if constexpr (channel_core<T>::boxed) {
      return awaiter(core(), std::make_unique<T>(std::move(value)));
    } else {
      return awaiter(core(), std::move(value));
    }
  }
  [[nodiscard]] auto make_receive() const noexcept { return operation_awaiter<receive_operation<T>>(core()); }

  [[nodiscard]] bool send_now(T&& value) const {
    transfer result = transfer::none;
    if constexpr (channel_core<T>::boxed) {
      auto box = std::make_unique<T>(std::move(value));
      result = core().try_send(box);
      if (result != transfer::done) value = std::move(*box);
    } else {
      result = core().try_send(value);
    }
    if (result == transfer::closed) throw channel_closed("foliot: a value was sent on a closed channel");
    return result == transfer::done;
  }
  [[nodiscard]] std::optional<T> receive_now() const {
    receive_operation<T> once(core());
    if (!once.try_complete()) return std::nullopt;
    return once.result();
  }

 private:
  intrusive_ptr<channel_core<T>> core_;
};

}  // namespace detail

/// What a select or a container holds. A receive may be awaited again and again, a send once: its value is gone then.
template <class T>
using receiving = detail::operation_awaiter<detail::receive_operation<T>>;
template <class T>
using sending = detail::operation_awaiter<detail::send_operation<T>>;

template <class T>
class channel;

/// A handle that can send, and close.
template <class T>
class send_end : public detail::channel_handle<T> {
 public:
  send_end(const channel<T>& whole) noexcept : detail::channel_handle<T>(whole) {}

  [[nodiscard("co_await it")]] sending<T> send(T value) const { return this->make_send(std::move(value)); }
  [[nodiscard]] bool try_send(T&& value) const { return this->send_now(std::move(value)); }
  [[nodiscard]] bool try_send(const T& value) const { return this->send_now(T(value)); }
};

/// A handle that can receive, and close.
template <class T>
class receive_end : public detail::channel_handle<T> {
 public:
  receive_end(const channel<T>& whole) noexcept : detail::channel_handle<T>(whole) {}

  [[nodiscard("co_await it")]] receiving<T> receive() const noexcept { return this->make_receive(); }
  [[nodiscard]] std::optional<T> try_receive() const { return this->receive_now(); }
};

template <class T>
class channel : public detail::channel_handle<T> {
 public:
  /// Has room for that many values; none: whoever sends waits for who receives. Throws std::bad_alloc.
  explicit channel(std::size_t capacity = 0) : detail::channel_handle<T>(capacity) {}

  [[nodiscard("co_await it")]] sending<T> send(T value) const { return this->make_send(std::move(value)); }
  [[nodiscard("co_await it")]] receiving<T> receive() const noexcept { return this->make_receive(); }
  [[nodiscard]] bool try_send(T&& value) const { return this->send_now(std::move(value)); }
  [[nodiscard]] bool try_send(const T& value) const { return this->send_now(T(value)); }
  [[nodiscard]] std::optional<T> try_receive() const { return this->receive_now(); }
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::channel;
}  // namespace foliot
