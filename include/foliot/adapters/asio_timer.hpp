// A timer for Asio that behaves as asio::steady_timer does, on top of foliot_queue: a program switches by changing a
// type.
//
//   foliot::asio_timer idle(context, 30s);
//   idle.async_wait([&](asio::error_code error) { if (!error) session.close(); });
//   idle.expires_after(30s);                // the wait ends with operation_aborted
//   co_await idle.async_wait(asio::use_awaitable);
//
// Completion tokens, associated executors, allocators and cancellation slots are honoured. Any number of waits may be
// outstanding; the context runs as long as there is one. The timers of one context share a queue and one alarm.
//
// Better than steady_timer: a cancel is certain. The handler of a wait that cancel() counts is not called with success,
// even if the timer had expired and the handler was queued; steady_timer does not count such handlers and calls them
// with success after the cancel. The same holds for a change of the expiry and for the destructor. Timers expire in
// exact order, to the nanosecond. Different: the alarm is a handler of the context, too, which run_one and poll_one
// count.
//
// Thread safety: that of steady_timer: distinct timers from any thread, one timer from one thread at a time.
// Lifetime: after the end of its context a timer must not be used, except that it may be destroyed.
// Complexity: a wait allocates by its handler's associated allocator; the rest is that of foliot_queue, O(1).
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include <foliot/adapters/detail/asio_waits.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/note.hpp>

namespace foliot::detail {

/// One wait, with its handler.
template <class Handler, class Executor>
class asio_wait_of final : public asio_wait {
 public:
  asio_wait_of(std::shared_ptr<asio_waits> waits, Handler&& handler, const Executor& executor)
      : asio_wait(std::move(waits)),
        handler_(std::move(handler)),
        executor_(executor),
        work_(executor),
        handler_work_(asio::get_associated_executor(handler_, executor)) {}

 private:
  using handler_executor = asio::associated_executor_t<Handler, Executor>;
  /// asio::post accepts only executors that can be required never to run a function inside the call.
  static constexpr bool takes_posts = !asio::execution::is_executor<handler_executor>::value ||
                                      asio::can_require<handler_executor, asio::execution::blocking_t::never_t>::value;

  /// The function that is posted: on the handler's executor it decides the outcome of the wait and calls the handler.
  class completion {
   public:
    using executor_type = handler_executor;
    using allocator_type = asio::associated_allocator_t<Handler>;

    explicit completion(std::shared_ptr<asio_wait_of> wait) noexcept
        : wait_(std::move(wait)),
          executor_(asio::get_associated_executor(wait_->handler_, wait_->executor_)),
          allocator_(asio::get_associated_allocator(wait_->handler_)) {}
    executor_type get_executor() const noexcept { return executor_; }
    allocator_type get_allocator() const noexcept { return allocator_; }
    void operator()() {
      const asio::error_code error = wait_->begin();
      Handler handler(std::move(wait_->handler_));
      wait_.reset();  // frees the memory of the wait before the handler is called, as Asio requires
      std::move(handler)(error);
    }

   private:
    std::shared_ptr<asio_wait_of> wait_;
    // Stored here instead of read from the handler, because Asio also asks a moved-from object.
    executor_type executor_;
    allocator_type allocator_;
  };

  void post(std::shared_ptr<asio_wait> self) override {
    completion done(std::static_pointer_cast<asio_wait_of>(std::move(self)));
    if constexpr (takes_posts) {
      asio::post(std::move(done));  // directly to the handler's executor: through the timer's, others could overtake it
    } else {
      asio::post(executor_, std::move(done));
    }
    // The posted function is outstanding work itself.
    work_.reset();
    handler_work_.reset();
  }

  Handler handler_;
  const Executor executor_;
  asio::executor_work_guard<Executor> work_;
  asio::executor_work_guard<handler_executor> handler_work_;
};

/// The function in the handler's cancellation slot. May outlive the wait.
class asio_cancellation {
 public:
  explicit asio_cancellation(std::weak_ptr<asio_wait> wait) noexcept : wait_(std::move(wait)) {}
  void operator()(asio::cancellation_type_t type) {
    using kind = asio::cancellation_type;
    if (!(type & (kind::terminal | kind::partial | kind::total))) return;
    if (const std::shared_ptr<asio_wait> wait = wait_.lock()) wait->all->cancel(*wait);
  }

 private:
  std::weak_ptr<asio_wait> wait_;
};

}  // namespace foliot::detail

namespace foliot::inline adapters {

/// A timer with the interface of asio::basic_waitable_timer, for asio_clock. Can be moved.
template <class Executor = asio::any_io_executor>
class basic_asio_timer {
 public:
  using executor_type = Executor;
  using clock_type = detail::asio_clock;
  using duration = typename clock_type::duration;
  using time_point = typename clock_type::time_point;

  /// The same timer for another type of executor.
  template <class Other>
  struct rebind_executor {
    using other = basic_asio_timer<Other>;
  };

  /// A timer that has expired. The constructors throw std::bad_alloc.
  explicit basic_asio_timer(const executor_type& executor)
      : executor_(executor), waits_(waits_of(asio::query(executor_, asio::execution::context))) {}
  /// A timer that expires at `expiry`.
  basic_asio_timer(const executor_type& executor, const time_point& expiry) : basic_asio_timer(executor) {
    expiry_ = expiry;
  }
  /// A timer that expires `length` from now.
  basic_asio_timer(const executor_type& executor, const duration& length) : basic_asio_timer(executor) {
    expiry_ = after(length);
  }
  /// A timer of the context's executor that has expired.
  template <std::derived_from<asio::execution_context> Context>
  explicit basic_asio_timer(Context& context) : basic_asio_timer(context.get_executor()) {}
  /// A timer of the context's executor that expires at `expiry`.
  template <std::derived_from<asio::execution_context> Context>
  basic_asio_timer(Context& context, const time_point& expiry) : basic_asio_timer(context.get_executor(), expiry) {}
  /// A timer of the context's executor that expires `length` from now.
  template <std::derived_from<asio::execution_context> Context>
  basic_asio_timer(Context& context, const duration& length) : basic_asio_timer(context.get_executor(), length) {}

  /// Moves the waits as well. The moved-from timer is as newly constructed, without a wait.
  basic_asio_timer(basic_asio_timer&& other) noexcept
      : executor_(other.executor_),
        waits_(other.waits_),
        entry_(std::move(other.entry_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  /// The same from a timer with another type of executor.
  template <class Other>
    requires(!std::same_as<Other, Executor> && std::convertible_to<Other, Executor>)
  basic_asio_timer(basic_asio_timer<Other>&& other)
      : executor_(other.executor_),
        waits_(other.waits_),
        entry_(std::move(other.entry_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  /// Cancels this timer's waits, and moves those of `other`. Throws as cancel() does.
  basic_asio_timer& operator=(basic_asio_timer&& other) {
    if (this == &other) return *this;
    cancel();
    executor_ = other.executor_;
    waits_ = other.waits_;
    entry_ = std::move(other.entry_);
    expiry_ = std::exchange(other.expiry_, time_point());
    return *this;
  }
  /// As the move assignment, from a timer of another type of executor.
  template <class Other>
    requires(!std::same_as<Other, Executor> && std::convertible_to<Other, Executor>)
  basic_asio_timer& operator=(basic_asio_timer<Other>&& other) {
    return *this = basic_asio_timer(std::move(other));
  }
  /// Cancels all waits.
  ~basic_asio_timer() {
    try {
      cancel();
    } catch (...) {  // a handler could not be posted for want of memory: the context tries again
    }
  }

  /// The executor on which handlers run unless they have one of their own.
  [[nodiscard]] executor_type get_executor() noexcept { return executor_; }
  /// When the timer expires, or has expired.
  [[nodiscard]] time_point expiry() const noexcept { return expiry_; }

  /// Sets the expiry and cancels the waits for the old one; returns how many. Throws as cancel() does.
  std::size_t expires_at(const time_point& expiry) {
    const std::size_t cancelled = cancel();
    expiry_ = expiry;
    return cancelled;
  }
  /// As expires_at(), with an expiry `length` from now; past the end of time it is never.
  std::size_t expires_after(const duration& length) { return expires_at(after(length)); }

  /// Ends all waits whose handlers have not begun with operation_aborted; returns how many. None of these handlers is
  /// called with success, even if the timer has expired. Throws what the handlers' executors throw; the context then
  /// posts the remaining handlers.
  std::size_t cancel() { return cancel(detail::cancelled_waits::all); }
  /// As cancel(), for the oldest wait only.
  std::size_t cancel_one() { return cancel(detail::cancelled_waits::oldest); }

  /// Blocks the calling thread until the expiry. A cancel does not end it.
  void wait() {
    note never_woken;
    never_woken.sleep_until(detail::to_instant(expiry_));
  }
  /// As wait(); never reports an error.
  void wait(asio::error_code& error) {
    error = asio::error_code();
    wait();
  }

  /// Starts a wait, whose handler of signature void(asio::error_code) is called after the expiry, or with
  /// operation_aborted after a cancel. Does not call it inside this call. Throws std::bad_alloc; then there is no wait.
  template <class Token = asio::default_completion_token_t<executor_type>>
  auto async_wait(Token&& token = Token()) {
    return asio::async_initiate<Token, void(asio::error_code)>(initiation(this), token);
  }

 private:
  template <class Other>
  friend class basic_asio_timer;

  class initiation {
   public:
    using executor_type = Executor;
    explicit initiation(basic_asio_timer* timer) noexcept : timer_(timer) {}
    executor_type get_executor() const noexcept { return timer_->get_executor(); }
    template <class Handler>
    void operator()(Handler&& handler) const {
      timer_->start(std::decay_t<Handler>(std::forward<Handler>(handler)));
    }

   private:
    basic_asio_timer* timer_;
  };

  std::size_t cancel(detail::cancelled_waits which) { return entry_ == nullptr ? 0 : waits_->cancel(*entry_, which); }

  template <class Handler>
  void start(Handler handler) {
    using wait = detail::asio_wait_of<Handler, Executor>;
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (entry_ == nullptr) entry_ = std::make_unique<detail::asio_entry>(waits_);
    const auto allocator = asio::get_associated_allocator(handler);
    const auto started = std::allocate_shared<wait>(allocator, waits_, std::move(handler), executor_);
    if (slot.is_connected()) slot.template emplace<detail::asio_cancellation>(started);
    waits_->start(*entry_, detail::to_instant(expiry_), started);
  }

  static std::shared_ptr<detail::asio_waits> waits_of(asio::execution_context& context) {
    return asio::use_service<detail::asio_timer_service>(context).waits;
  }
  /// The expiry `length` from now; never if that is past the end of time.
  static time_point after(duration length) noexcept {
    const instant now = detail::to_instant(clock_type::now());
    return detail::to_time_point(now + foliot::duration(length));
  }

  executor_type executor_;
  std::shared_ptr<detail::asio_waits> waits_;
  std::unique_ptr<detail::asio_entry> entry_;  // from the first wait on
  time_point expiry_{};
};

/// The timer for any_io_executor, as asio::steady_timer is.
using asio_timer = basic_asio_timer<>;

}  // namespace foliot::inline adapters
