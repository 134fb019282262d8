// One wait of a timer, with its handler. Included as asio_waits.ipp is, after it.

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
      const error_code error = wait_->begin();
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
