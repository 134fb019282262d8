// Channels: values from task to task, and from any thread to a task.
//
//   foliot::runtime::channel<int> numbers;                   // unbuffered; channel<int> numbers(10) has room for ten
//   …
//   co_await numbers.send(42);                               // waits for a receiver, or for room
//   …
//   while (auto n = co_await numbers.receive()) use(*n);     // until the channel is closed and empty
//
// A channel object is a handle. Its copies refer to the same channel, which lives as long as one of them: pass it to
// tasks by value. send_end and receive_end are handles that can only send, or only receive; both can close.
//
// Waiting senders, and waiting receivers, are served in the order of their arrival. Values come out in the order in
// which they went in, and a value goes straight from its sender to a waiting receiver. A wait throws `cancelled` in a
// task that is asked to stop; then nothing was sent or received. An operation that completes at once does so in such a
// task too, except as the last step of the task's turn (task.hpp), where it throws `cancelled` as well.
//
//   send         waits for room or a receiver; throws channel_closed if the channel is closed, also during the wait
//   emplace      makes the value of these arguments, and sends it as send does
//   receive      waits for a value; gives nothing once the channel is closed and empty
//   try_send     does not wait: returns false, with the value untouched, if there is neither room nor a receiver
//   try_receive  does not wait: returns nothing if there is no value; drained() tells whether one may still come
//   close        ends all waits: receivers get nothing, senders channel_closed; values in the channel stay
//
// Thread safety: any thread may call the functions of a handle, also concurrently. Only a task may await send() and
// receive(), alone or as cases of a select, and the handle must live as long as the wait. Complexity: O(1); close() is
// O(waiting tasks).
//
// T must be movable, its destructor must not throw, and it must not be over-aligned (task.hpp). If T's moves may throw,
// each value is allocated for itself from send to receive, and is not moved in between: if the sender's move throws,
// nothing was sent; if the receiver's move throws, the value is lost. try_send then also needs T's move assignment.
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
#include <foliot/runtime/detail/temporaries.hpp>

namespace foliot::runtime {

namespace detail {

/// What all handles of a channel have in common.
template <class T>
class channel_handle {
  static_assert(std::is_object_v<T> && std::move_constructible<T> && std::is_nothrow_destructible_v<T>,
                "foliot: a channel's values must be movable objects whose destructors do not throw");
  static_assert(fits_in_frame<T>,
                "foliot: a channel's values must not need a stricter alignment than operator new gives, which the "
                "frame of a waiting task does not have: send a pointer to the value");

 public:
  using value_type = T;

  /// Whether this is a handle of a channel. False after it was moved from: then it may only be assigned to, compared
  /// and destroyed.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(core_); }
  /// Whether both are handles of the same channel.
  [[nodiscard]] friend bool operator==(const channel_handle&, const channel_handle&) noexcept = default;

  /// Closes the channel, and ends all waits: receivers get nothing, senders channel_closed. Receivers still get the
  /// values that are in the channel. Throws channel_closed if the channel is closed already. O(waiting tasks).
  void close() const { core().close(); }
  /// Whether close() was called.
  [[nodiscard]] bool closed() const noexcept { return core().closed(); }
  /// Whether the channel is closed and empty: no receive will give a value again.
  [[nodiscard]] bool drained() const noexcept { return core().drained(); }
  /// How many values are in the channel. Other threads may change that at any time.
  [[nodiscard]] std::size_t size() const noexcept { return core().size(); }
  /// How many values the channel has room for. Constant.
  [[nodiscard]] std::size_t capacity() const noexcept { return core().capacity(); }

 protected:
  explicit channel_handle(std::size_t capacity) : core_(*new channel_core<T>(capacity)) {}

  [[nodiscard]] channel_core<T>& core() const noexcept {
    FOLIOT_ASSERT(core_, "the channel handle must not have been moved from");
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
  template <class Value>
  [[nodiscard]] auto refuse_send(T&& value) const {
    static_assert(
        !destroyed_twice<Value>,
        "foliot: g++ 12 destroys a struct that is made in a co_await expression twice: write co_await "
        "c.emplace(a, b) instead of co_await c.send(T{a, b}), and co_await c.emplace(std::move(name)) instead "
        "of co_await c.send(std::move(name))");
    return make_send(std::move(value));
  }
  template <class... Arguments>
  [[nodiscard]] auto make_emplace(Arguments&&... arguments) const {
    using awaiter = operation_awaiter<send_operation<T>>;
    if constexpr (channel_core<T>::boxed) {
      return awaiter(core(), std::unique_ptr<T>(new T(std::forward<Arguments>(arguments)...)));
    } else {
      return awaiter(core(), T(std::forward<Arguments>(arguments)...));
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
    if (result == transfer::closed)
      throw channel_closed("foliot: send on a closed channel: send all values before close()");
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

/// What receive() returns, for containers and select_any(). It may be awaited any number of times.
template <class T>
using receiving = detail::operation_awaiter<detail::receive_operation<T>>;
/// What send() returns. It may be awaited once: its value is gone then.
template <class T>
using sending = detail::operation_awaiter<detail::send_operation<T>>;

template <class T>
class channel;

/// A handle that can send, and close.
template <class T>
class send_end : public detail::channel_handle<T> {
 public:
  /// A handle of the same channel.
  send_end(const channel<T>& whole) noexcept : detail::channel_handle<T>(whole) {}

  /// A task must await the result: it waits for a receiver, or for room. The wait throws channel_closed, and
  /// `cancelled`; if T's moves may throw, this throws what they throw, and std::bad_alloc.
  [[nodiscard("co_await it")]] sending<T> send(T value) const
    requires(!detail::destroyed_twice<T>)
  {
    return this->make_send(std::move(value));
  }
  /// The same with a copy of the value, where g++ 12 would destroy the struct of co_await jobs.send(job{id, reply})
  /// twice.
  [[nodiscard("co_await it")]] sending<T> send(const T& value) const
    requires detail::destroyed_twice<T>
  {
    return this->make_send(T(value));
  }
  /// Does not compile: that struct, or one that was moved from, which the compiler cannot tell from it.
  template <class Value = T>
  [[nodiscard("co_await it")]] sending<T> send(T&& value) const
    requires detail::destroyed_twice<T>
  {
    return this->template refuse_send<Value>(std::move(value));
  }
  /// The same with the value T(arguments...), which is made before the wait: co_await jobs.emplace(id, reply), also for
  /// an aggregate, or co_await jobs.emplace(std::move(name)). The arguments must have no form that g++ 12 destroys
  /// twice (docs/runtime/README.md). They are moved from also if the wait throws. Numbers narrow without a warning, and
  /// a member that is a reference must not be bound to an argument that is converted.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  [[nodiscard("co_await it")]] sending<T> emplace(Arguments&&... arguments) const {
    return this->make_emplace(std::forward<Arguments>(arguments)...);
  }
  /// Sends without waiting. Returns false if there is neither room nor a waiting receiver; `value` is then untouched.
  /// Throws channel_closed; if T's moves may throw, also what they throw, and std::bad_alloc.
  [[nodiscard]] bool try_send(T&& value) const { return this->send_now(std::move(value)); }
  /// The same with a copy of the value.
  [[nodiscard]] bool try_send(const T& value) const { return this->send_now(T(value)); }
};

/// A handle that can receive, and close.
template <class T>
class receive_end : public detail::channel_handle<T> {
 public:
  /// A handle of the same channel.
  receive_end(const channel<T>& whole) noexcept : detail::channel_handle<T>(whole) {}

  /// A task must await the result: it gives the next value, or nothing once the channel is closed and empty. The wait
  /// throws `cancelled`.
  [[nodiscard("co_await it")]] receiving<T> receive() const noexcept { return this->make_receive(); }
  /// The next value, or nothing if there is none. Does not wait.
  [[nodiscard]] std::optional<T> try_receive() const { return this->receive_now(); }
};

/// A handle that can send, receive, and close.
template <class T>
class channel : public detail::channel_handle<T> {
 public:
  /// Makes a channel with room for `capacity` values. With no room, a send waits for a receiver. Throws std::bad_alloc.
  explicit channel(std::size_t capacity = 0) : detail::channel_handle<T>(capacity) {}

  /// A task must await the result: it waits for a receiver, or for room. The wait throws channel_closed, and
  /// `cancelled`; if T's moves may throw, this throws what they throw, and std::bad_alloc.
  [[nodiscard("co_await it")]] sending<T> send(T value) const
    requires(!detail::destroyed_twice<T>)
  {
    return this->make_send(std::move(value));
  }
  /// The same with a copy of the value, where g++ 12 would destroy the struct of co_await jobs.send(job{id, reply})
  /// twice.
  [[nodiscard("co_await it")]] sending<T> send(const T& value) const
    requires detail::destroyed_twice<T>
  {
    return this->make_send(T(value));
  }
  /// Does not compile: that struct, or one that was moved from, which the compiler cannot tell from it.
  template <class Value = T>
  [[nodiscard("co_await it")]] sending<T> send(T&& value) const
    requires detail::destroyed_twice<T>
  {
    return this->template refuse_send<Value>(std::move(value));
  }
  /// The same with the value T(arguments...), which is made before the wait: co_await jobs.emplace(id, reply), also for
  /// an aggregate, or co_await jobs.emplace(std::move(name)). The arguments must have no form that g++ 12 destroys
  /// twice (docs/runtime/README.md). They are moved from also if the wait throws. Numbers narrow without a warning, and
  /// a member that is a reference must not be bound to an argument that is converted.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  [[nodiscard("co_await it")]] sending<T> emplace(Arguments&&... arguments) const {
    return this->make_emplace(std::forward<Arguments>(arguments)...);
  }
  /// A task must await the result: it gives the next value, or nothing once the channel is closed and empty. The wait
  /// throws `cancelled`.
  [[nodiscard("co_await it")]] receiving<T> receive() const noexcept { return this->make_receive(); }
  /// Sends without waiting. Returns false if there is neither room nor a waiting receiver; `value` is then untouched.
  /// Throws channel_closed; if T's moves may throw, also what they throw, and std::bad_alloc.
  [[nodiscard]] bool try_send(T&& value) const { return this->send_now(std::move(value)); }
  /// The same with a copy of the value.
  [[nodiscard]] bool try_send(const T& value) const { return this->send_now(T(value)); }
  /// The next value, or nothing if there is none. Does not wait.
  [[nodiscard]] std::optional<T> try_receive() const { return this->receive_now(); }
};

}  // namespace foliot::runtime

namespace foliot {
using runtime::channel;
}  // namespace foliot
