// A timer for Asio that behaves as asio::steady_timer does, on top of foliot's queue: a program switches by changing
// a type.
//
//   foliot::asio_timer idle(context, 30s);
//   idle.async_wait([&](asio::error_code error) { if (!error) session.close(); });
//   idle.expires_after(30s);                // the wait ends with operation_aborted
//   co_await idle.async_wait(asio::use_awaitable);
//
// Completion tokens, associated executors, allocators and cancellation slots are honoured; any number of waits at
// once; the context runs as long as somebody waits. The timers of one context share a queue and one alarm.
//
// What is better: a cancel is certain. A wait that cancel counts is not told of success, even if its time had come and
// its handler was queued; steady_timer leaves those out, and calls them after the cancel. So does a change of the
// expiry, and the end of the timer. In exact order, to the nanosecond.
// What differs: the alarm is a handler of the context too, and counts where run_one and poll_one count.
//
// Thread safety: as steady_timer's: distinct timers from any thread, one timer from one at a time.
// Lifetime: a timer must not be used after its context has ended; it may be destroyed.
// Complexity: a wait allocates as its handler's associated allocator does; the rest is the queue's, O(1).
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
  /// Asio posts to none that cannot promise not to run what it is given at once.
  static constexpr bool takes_posts = !asio::execution::is_executor<handler_executor>::value ||
                                      asio::can_require<handler_executor, asio::execution::blocking_t::never_t>::value;

  /// What is posted: on the handler's executor it asks how the wait ended, and calls.
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
      wait_.reset();  // its memory is free when the handler is called
      std::move(handler)(error);
    }

   private:
    std::shared_ptr<asio_wait_of> wait_;
    // Here, and not asked of the handler: Asio looks at them after a move as well.
    executor_type executor_;
    allocator_type allocator_;
  };

  void post(std::shared_ptr<asio_wait> self) override {
    completion done(std::static_pointer_cast<asio_wait_of>(std::move(self)));
    if constexpr (takes_posts) {
      asio::post(std::move(done));  // to the handler's own at once: by way of the timer's others could overtake it
    } else {
      asio::post(executor_, std::move(done));
    }
    // What is posted is work itself.
    work_.reset();
    handler_work_.reset();
  }

  Handler handler_;
  const Executor executor_;
  asio::executor_work_guard<Executor> work_;
  asio::executor_work_guard<handler_executor> handler_work_;
};

/// What a cancellation slot calls. It may outlive the wait.
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

template <class Executor = asio::any_io_executor>
class basic_asio_timer {
 public:
  using executor_type = Executor;
  using clock_type = detail::asio_clock;
  using duration = typename clock_type::duration;
  using time_point = typename clock_type::time_point;

  template <class Other>
  struct rebind_executor {
    using other = basic_asio_timer<Other>;
  };

  /// A timer whose time has come, until it is given another.
  explicit basic_asio_timer(const executor_type& executor)
      : executor_(executor), waits_(waits_of(asio::query(executor_, asio::execution::context))) {}
  basic_asio_timer(const executor_type& executor, const time_point& expiry) : basic_asio_timer(executor) {
    expiry_ = expiry;
  }
  basic_asio_timer(const executor_type& executor, const duration& length) : basic_asio_timer(executor) {
    expiry_ = after(length);
  }
  template <std::derived_from<asio::execution_context> Context>
  explicit basic_asio_timer(Context& context) : basic_asio_timer(context.get_executor()) {}
  template <std::derived_from<asio::execution_context> Context>
  basic_asio_timer(Context& context, const time_point& expiry) : basic_asio_timer(context.get_executor(), expiry) {}
  template <std::derived_from<asio::execution_context> Context>
  basic_asio_timer(Context& context, const duration& length) : basic_asio_timer(context.get_executor(), length) {}

  /// The waits move too. What is moved from is as if new.
  basic_asio_timer(basic_asio_timer&& other) noexcept
      : executor_(other.executor_),
        waits_(other.waits_),
        entry_(std::move(other.entry_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  template <class Other>
    requires(!std::same_as<Other, Executor> && std::convertible_to<Other, Executor>)
  basic_asio_timer(basic_asio_timer<Other>&& other)
      : executor_(other.executor_),
        waits_(other.waits_),
        entry_(std::move(other.entry_)),
        expiry_(std::exchange(other.expiry_, time_point())) {}
  basic_asio_timer& operator=(basic_asio_timer&& other) {
    if (this == &other) return *this;
    cancel();
    executor_ = other.executor_;
    waits_ = other.waits_;
    entry_ = std::move(other.entry_);
    expiry_ = std::exchange(other.expiry_, time_point());
    return *this;
  }
  template <class Other>
    requires(!std::same_as<Other, Executor> && std::convertible_to<Other, Executor>)
  basic_asio_timer& operator=(basic_asio_timer<Other>&& other) {
    return *this = basic_asio_timer(std::move(other));
  }
  /// cancel().
  ~basic_asio_timer() {
    try {
      cancel();
    } catch (...) {  // no memory to call a handler with: the context tries again
    }
  }

  [[nodiscard]] executor_type get_executor() noexcept { return executor_; }
  [[nodiscard]] time_point expiry() const noexcept { return expiry_; }

  /// Sets the expiry, and cancels the waits for the old one; returns how many.
  std::size_t expires_at(const time_point& expiry) {
    const std::size_t cancelled = cancel();
    expiry_ = expiry;
    return cancelled;
  }
  std::size_t expires_after(const duration& length) { return expires_at(after(length)); }

  /// Ends the waits with operation_aborted; returns how many. None of these handlers is told of success, whatever the
  /// time is. Handlers that have begun are not among them.
  std::size_t cancel() { return entry_ == nullptr ? 0 : waits_->cancel(*entry_); }
  /// The oldest wait only.
  std::size_t cancel_one() { return entry_ == nullptr ? 0 : waits_->cancel(*entry_, false); }

  /// Blocks the calling thread until the expiry, which nothing ends early.
  void wait() {
    note nobody_wakes;
    nobody_wakes.sleep_until(detail::to_instant(expiry_));
  }
  void wait(asio::error_code& error) {
    error = asio::error_code();
    wait();
  }

  /// Calls a handler once the timer has expired, or with operation_aborted; void(asio::error_code). Never from
  /// inside this call. Throws std::bad_alloc, and then there is no wait.
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
  /// Past the end of time it is never.
  static time_point after(duration length) noexcept {
    const instant now = detail::to_instant(clock_type::now());
    return detail::to_time_point(now + foliot::duration(length));
  }

  executor_type executor_;
  std::shared_ptr<detail::asio_waits> waits_;
  std::unique_ptr<detail::asio_entry> entry_;  // from the first wait on
  time_point expiry_{};
};

using asio_timer = basic_asio_timer<>;

}  // namespace foliot::inline adapters
