// One wait of a timer, with its handler. Included as asio_waits.ipp is, after it.

/// The work of an executor that must not run out: an object that keeps it, until it is destroyed.
template <class Executor>
auto outstanding_work(const Executor& executor) {
  if constexpr (asio::execution::is_executor<Executor>::value) {
    return asio::prefer(executor, asio::execution::outstanding_work.tracked);
  } else {
    return asio::executor_work_guard<Executor>(executor);
  }
}

/// One wait, with its handler.
template <class Handler, class Executor>
class asio_wait_of final : public asio_wait {
 public:
  asio_wait_of(std::shared_ptr<asio_waits> waits, Handler&& handler, const Executor& executor)
      : asio_wait(std::move(waits)),
        handler_(std::move(handler)),
        unposted_(std::in_place, executor, asio::get_associated_executor(handler_, executor)) {}

 private:
  using handler_executor = asio::associated_executor_t<Handler, Executor>;
  /// asio::post accepts only executors that can be required never to run a function inside the call.
  static constexpr bool takes_posts = !asio::execution::is_executor<handler_executor>::value ||
                                      asio::can_require<handler_executor, asio::execution::blocking_t::never_t>::value;

  /// What a wait has until it is posted. Not longer: the timer's context may end before the handler is called by
  /// another context.
  struct before_post {
    before_post(const Executor& timers, const handler_executor& handlers)
        : timers_work(outstanding_work(timers)), handlers_work(outstanding_work(handlers)), executor(timers) {}
    // The order of the members: the executor is destroyed while its context is still at work.
    decltype(outstanding_work(std::declval<const Executor&>())) timers_work;
    decltype(outstanding_work(std::declval<const handler_executor&>())) handlers_work;
    Executor executor;
  };

  /// A post() of the calling thread, which gets the wait back if the executor throws. By then the executor has
  /// destroyed the function that it was to call.
  class post_in_progress {
   public:
    explicit post_in_progress(const asio_wait& wait) noexcept : wait_(wait) { innermost_ = this; }
    post_in_progress(const post_in_progress&) = delete;
    post_in_progress& operator=(const post_in_progress&) = delete;
    ~post_in_progress() { innermost_ = outer_; }
    /// For a function that is destroyed without a call.
    static void give_back(std::shared_ptr<asio_wait_of> wait) noexcept {
      if (innermost_ != nullptr && &innermost_->wait_ == wait.get()) innermost_->returned = std::move(wait);
    }
    std::shared_ptr<asio_wait_of> returned;

   private:
    static inline thread_local constinit post_in_progress* innermost_ = nullptr;
    const asio_wait& wait_;
    post_in_progress* const outer_ = innermost_;
  };

  /// The function that is posted: on the handler's executor it decides the outcome of the wait and calls the handler.
  class completion {
   public:
    using executor_type = handler_executor;
    using allocator_type = asio::associated_allocator_t<Handler>;

    completion(std::shared_ptr<asio_wait_of> wait, const Executor& executor) noexcept
        : wait_(std::move(wait)),
          executor_(asio::get_associated_executor(wait_->handler_, executor)),
          allocator_(asio::get_associated_allocator(wait_->handler_)) {}
    completion(completion&&) = default;
    completion(const completion&) = default;  // for executors that store functions that can be copied
    completion& operator=(completion&&) = delete;
    completion& operator=(const completion&) = delete;
    ~completion() {
      if (wait_.use_count() == 1) post_in_progress::give_back(std::move(wait_));
    }
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

  void post(std::shared_ptr<asio_wait>& self) override {
    // The posted function is outstanding work itself, so this work ends after the post. From the post on this wait
    // must not be accessed.
    std::optional<before_post> before(std::move(unposted_));
    unposted_.reset();
    post_in_progress failing(*this);
    try {
      completion done(std::static_pointer_cast<asio_wait_of>(std::move(self)), before->executor);
      if constexpr (takes_posts) {
        asio::post(std::move(done));  // directly to the handler's executor: through the timer's, others could overtake
      } else {
        asio::post(before->executor, std::move(done));
      }
    } catch (...) {
      if (failing.returned != nullptr) {
        unposted_.emplace(std::move(*before));
        self = std::move(failing.returned);
      }
      throw;
    }
  }

  Handler handler_;
  std::optional<before_post> unposted_;
};
