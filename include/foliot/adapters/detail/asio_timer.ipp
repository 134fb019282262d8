// The timer of asio_timer.hpp and boost_asio_timer.hpp, which include it inside a namespace in which `asio` and
// `error_code` are those of their library, and `parts` is the namespace of its waits.

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
      : executor_(executor), waits_(waits_of(context_of(executor_))) {}
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
  /// called with success, even if the timer has expired. Throws the first error of the handlers' executors; the context
  /// then tries again to post the handlers that they have not taken.
  std::size_t cancel() { return cancel(detail::cancelled_waits::all); }
  /// As cancel(), for the oldest wait only.
  std::size_t cancel_one() { return cancel(detail::cancelled_waits::oldest); }

  /// Blocks the calling thread until the expiry. A cancel does not end it.
  void wait() {
    note never_woken;
    never_woken.sleep_until(detail::to_instant(expiry_));
  }
  /// As wait(); never reports an error.
  void wait(error_code& error) {
    error = error_code();
    wait();
  }

  /// Starts a wait, whose handler of signature void(error_code) is called after the expiry, or with
  /// operation_aborted after a cancel. Does not call it inside this call. Throws std::bad_alloc; then there is no wait.
  template <class Token = asio::default_completion_token_t<executor_type>>
  auto async_wait(Token&& token = Token()) {
    return asio::async_initiate<Token, void(error_code)>(initiation(this), token);
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
    using wait = parts::asio_wait_of<Handler, Executor>;
    parts::handler_slot<Handler> slot(handler);
    if (entry_ == nullptr) entry_ = std::make_unique<parts::asio_entry>(waits_);
    const auto allocator = asio::get_associated_allocator(handler);
    auto started = std::allocate_shared<wait>(allocator, waits_, std::move(handler), executor_);
    slot.connect(*started);
    waits_->start(*entry_, detail::to_instant(expiry_), std::move(started));
  }

  static asio::execution_context& context_of(const executor_type& executor) {
    if constexpr (asio::execution::is_executor<executor_type>::value) {
      return asio::query(executor, asio::execution::context);
    } else {
      return executor.context();  // of the Networking TS, as io_context::strand
    }
  }
  static std::shared_ptr<parts::asio_waits> waits_of(asio::execution_context& context) {
    return asio::use_service<parts::asio_timer_service>(context).waits;
  }
  /// The expiry `length` from now; never if that is past the end of time.
  static time_point after(duration length) noexcept {
    const instant now = detail::to_instant(clock_type::now());
    return detail::to_time_point(now + foliot::duration(length));
  }

  executor_type executor_;
  std::shared_ptr<parts::asio_waits> waits_;
  std::unique_ptr<parts::asio_entry> entry_;  // from the first wait on
  time_point expiry_{};
};
