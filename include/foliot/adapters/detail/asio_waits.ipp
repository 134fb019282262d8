// The part that all timers of one execution context share: foliot_queue, one alarm of Asio, and the waits. One source
// for both libraries: asio_timer.hpp and boost_asio_timer.hpp include it inside a namespace in which `asio` and
// `error_code` are those of their library.
//
// The states of a wait:
//
//   waiting ──due──► posted ──its handler begins──► done, with success
//      │               │
//      └────cancel─────┴──► posted, cancelled ────► done, with operation_aborted
//
// The outcome is decided when the handler begins, on the handler's executor and under the lock: a cancel before that
// wins.
//
// Thread safety: every member of asio_waits from any thread. No code of the user runs under the lock: handlers are
// posted and destroyed without it.
// Lifetime: timers and waits share an asio_waits. The end of the context drops all waits.
//
// Invariants:
//   1. If a wait of a timer is `waiting`, the timer's entry is pending in the queue.
//   2. A wait has one owner: itself (`self_`) until it is posted, then the posted function. So its memory, which is its
//      handler's to free, is freed before the handler is called, by the thread that calls the handler.
//   3. A wait and the function in its cancellation slot point to each other. Each ends without the other.

/// An executor that runs the alarm's handler on the thread on which Asio completes it, one that runs the context.
struct in_context {
  asio::execution_context* context;

  template <class Function>
  void execute(Function&& function) const {
    std::forward<Function>(function)();
  }
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.always;
  }
  friend bool operator==(const in_context&, const in_context&) noexcept = default;
};

class asio_waits;
class asio_entry;
class asio_wait;

/// The function in a handler's cancellation slot, which cancels one wait and may outlive it.
class FOLIOT_EXPORT asio_canceller {
 public:
  explicit asio_canceller(std::shared_ptr<asio_waits> waits) noexcept : all_(std::move(waits)) {}
  asio_canceller(const asio_canceller&) = delete;
  asio_canceller& operator=(const asio_canceller&) = delete;
  ~asio_canceller();
  /// From now on cancels that wait, which has no other canceller.
  void connect(asio_wait& wait) noexcept;
  /// Cancels the wait, unless its outcome is decided.
  void cancel();

 private:
  friend class asio_waits;

  const std::shared_ptr<asio_waits> all_;
  asio_wait* wait_ = nullptr;  // null once its outcome is decided; under the lock
};

/// One async_wait. Its private fields belong to asio_waits, under its lock.
class FOLIOT_EXPORT asio_wait {
 public:
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;

  const std::shared_ptr<asio_waits> all;

 protected:
  explicit asio_wait(std::shared_ptr<asio_waits> waits) noexcept : all(std::move(waits)) {}
  virtual ~asio_wait();
  /// Called when the handler begins: decides the outcome, and returns the handler's argument.
  [[nodiscard]] error_code begin() noexcept;

 private:
  friend class asio_waits;
  friend class asio_entry;
  friend class asio_canceller;
  /// Posts the handler to its executor, with the ownership of this wait, which may be gone before the call returns.
  /// Throws what the executor throws; then `self` is the owner again, unless the executor will call the function all
  /// the same.
  virtual void post(std::shared_ptr<asio_wait>& self) = 0;

  asio_entry* entry_ = nullptr;          // the entry whose cancel can still end this wait; null for none
  asio_canceller* canceller_ = nullptr;  // the function in the handler's cancellation slot; null for none
  std::shared_ptr<asio_wait> self_;      // until it is posted
  list_links<asio_wait> links_;          // in the entry's list
  asio_wait* next_ready_ = nullptr;      // in the queue of waits to be posted
  bool cancelled_ = false;
  bool posted_ = false;  // or in that queue
  bool begun_ = false;
};

/// A timer on which a wait was started, with the waits that a cancel can still end, oldest first.
class FOLIOT_EXPORT asio_entry final : public loop_node {
 public:
  explicit asio_entry(std::shared_ptr<asio_waits> shared) noexcept : all(std::move(shared)) {}
  /// Makes the timer's waits ready. Under the lock.
  void fire() override;

  const std::shared_ptr<asio_waits> all;

 private:
  friend class asio_waits;
  intrusive_list<asio_wait, &asio_wait::links_> waits_;
};

/// The timers and waits of one execution context.
class FOLIOT_EXPORT asio_waits final : public loop_timers, public std::enable_shared_from_this<asio_waits> {
 public:
  explicit asio_waits(asio::execution_context& context) {
    const in_context executor{&context};
    alarms_.emplace(std::array{alarm(executor), alarm(executor)});
  }

  /// Starts a wait for `deadline`, unless the context has ended. Throws std::bad_alloc with nothing changed. The caller
  /// must keep no other reference to the wait.
  void start(asio_entry& entry, instant deadline, std::shared_ptr<asio_wait> wait) {
    const lock guard(mutex_);
    if (ended_) return;
    link(entry, *wait);
    try {
      if (!entry.pending()) reset(entry, deadline);
      set_alarm();
    } catch (...) {
      unlink(*wait);
      stop_if_unwaited(entry);
      throw;
    }
    asio_wait& started = *wait;
    started.self_ = std::move(wait);
  }

  /// Cancels all waits of the timer, or the oldest; returns how many. None of their handlers is called with success.
  std::size_t cancel(asio_entry& entry, cancelled_waits which) {
    std::size_t count = 0;
    ready_queue ready;
    {
      const lock guard(mutex_);
      while (asio_wait* const oldest = entry.waits_.front()) {
        cancel_linked(*oldest);
        ++count;
        if (which == cancelled_waits::oldest) break;
      }
      stop_if_unwaited(entry);
      ready = take_ready();
    }
    post(std::move(ready));
    return count;
  }

  /// To be called when the context ends: destroys all waits without calling their handlers.
  void end() noexcept {
    ready_queue dropped;
    {
      const lock guard(mutex_);
      ended_ = true;
      alarms_.reset();
      while (loop_node* node = take_any()) node->fire();
      ready_.prepend(std::exchange(refused_, {}));
      dropped = take_ready();
      for (asio_wait* each = dropped.front(); each != nullptr; each = dropped.next(*each)) unlink(*each);
    }
    while (asio_wait* const one = dropped.pop_front()) {
      const std::shared_ptr<asio_wait> last = std::move(one->self_);
    }
  }

 private:
  friend class asio_wait;
  friend class asio_entry;
  friend class asio_canceller;
  using alarm = asio::basic_waitable_timer<asio_clock, asio::wait_traits<asio_clock>, in_context>;
  using ready_queue = intrusive_queue<asio_wait, &asio_wait::next_ready_>;

  // ---- the overrides only note what the alarm must be set to: set_alarm does it, and may throw

  void wake_at(instant next) noexcept override {
    alarm_wanted_ = refused_.empty() ? next : std::min(next, now());
    alarm_is_right_ = false;
  }
  /// Asio's context runs as long as an operation is outstanding, so the alarm must be cancelled when no timer is
  /// pending.
  void any_pending(bool any) noexcept override {
    if (any) return;
    alarm_is_off();
    wake_at(instant::never());
  }
  void set_alarm() {
    if (alarm_is_right_ || !alarms_) return;
    if (!alarm_wanted_.is_never()) {
      alarm& next = (*alarms_)[1 - set_];
      next.expires_at(to_time_point(alarm_wanted_));
      next.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->turn();
      });
      set_ = 1 - set_;
      (*alarms_)[1 - set_].cancel();
    } else {
      (*alarms_)[set_].cancel();
    }
    alarm_is_right_ = true;
  }
  /// For callers that cannot report the error, or report another one. The next start tries again.
  void try_to_set_alarm() noexcept {
    try {
      set_alarm();
    } catch (...) {
    }
  }

  /// Fires the due timers; called when the alarm has rung.
  void turn() {
    constexpr budget at_a_time = 256;
    for (bool more = true; more;) {
      ready_queue ready;
      {
        const lock guard(mutex_);
        try {
          ready_.prepend(std::exchange(refused_, {}));
          alarm_is_off();  // so that the next deadline sets it again
          more = expire(now(), at_a_time).more;
          set_alarm();
        } catch (...) {
          wake_at(now());
          try_to_set_alarm();
          throw;
        }
        ready = take_ready();
      }
      post(std::move(ready));
    }
  }

  /// Posts the handlers; without the lock. If some cannot be posted, posts the others, so that an executor that fails
  /// holds up no other, and throws the first error; the waits that are left are posted in the next turn.
  void post(ready_queue ready) {
    ready_queue left;
    std::exception_ptr error;
    while (asio_wait* const one = ready.pop_front()) {
      std::shared_ptr<asio_wait> self = std::move(one->self_);
      try {
        one->post(self);
      } catch (...) {
        if (error == nullptr) error = std::current_exception();
        if (self == nullptr) continue;
        one->self_ = std::move(self);
        left.push_back(*one);
      }
    }
    if (error == nullptr) return;
    {
      const lock guard(mutex_);
      refused_.prepend(std::move(left));
      wake_at(now());
      try_to_set_alarm();
    }
    std::rethrow_exception(std::move(error));
  }

  // ---- under the lock

  void link(asio_entry& entry, asio_wait& wait) noexcept {
    wait.entry_ = &entry;
    entry.waits_.push_back(wait);
  }
  void unlink(asio_wait& wait) noexcept {
    if (wait.entry_ != nullptr) std::exchange(wait.entry_, nullptr)->waits_.erase(wait);
  }
  void disconnect(asio_wait& wait) noexcept {
    if (wait.canceller_ != nullptr) std::exchange(wait.canceller_, nullptr)->wait_ = nullptr;
  }
  void make_ready(asio_wait& wait) noexcept {
    if (!std::exchange(wait.posted_, true)) ready_.push_back(wait);
  }
  ready_queue take_ready() noexcept { return std::exchange(ready_, {}); }
  void cancel_linked(asio_wait& wait) noexcept {
    wait.cancelled_ = true;
    unlink(wait);
    make_ready(wait);
  }
  /// Stops the timer unless one of its waits is `waiting`.
  void stop_if_unwaited(asio_entry& entry) noexcept {
    for (const asio_wait* each = entry.waits_.front(); each != nullptr; each = entry.waits_.next(*each)) {
      if (!each->posted_) return;
    }
    if (entry.pending()) stop(entry);
    try_to_set_alarm();
  }

  mutex mutex_{lock_rank::engine};
  // Two, so that the one that is set stays so until the other is: the wait that sets it may find no memory, and then
  // the timers that are pending must still fire.
  std::optional<std::array<alarm, 2>> alarms_;
  std::size_t set_ = 0;  // the one that was set last
  instant alarm_wanted_ = instant::never();
  bool alarm_is_right_ = true;  // the alarm is set to alarm_wanted_
  bool ended_ = false;
  ready_queue ready_;    // the waits that are to be posted
  ready_queue refused_;  // those that an executor has refused: only turn() posts them again. While there are some, the
                         // alarm is set to the present
};

inline asio_wait::~asio_wait() {
  if (begun_) return;
  const lock guard(all->mutex_);
  all->unlink(*this);
  all->disconnect(*this);
}

inline error_code asio_wait::begin() noexcept {
  const lock guard(all->mutex_);
  begun_ = true;
  all->unlink(*this);
  all->disconnect(*this);
  return cancelled_ ? error_code(asio::error::operation_aborted) : error_code();
}

inline asio_canceller::~asio_canceller() {
  const lock guard(all_->mutex_);
  if (wait_ != nullptr) all_->disconnect(*wait_);
}

inline void asio_canceller::connect(asio_wait& wait) noexcept {
  const lock guard(all_->mutex_);
  wait_ = &wait;
  wait.canceller_ = this;
}

inline void asio_canceller::cancel() {
  const std::shared_ptr<asio_waits> all = all_;  // the handler may run elsewhere at once, and destroy its slot
  asio_waits::ready_queue ready;
  {
    const lock guard(all->mutex_);
    asio_entry* const entry = wait_ == nullptr ? nullptr : wait_->entry_;
    if (entry == nullptr) return;
    all->cancel_linked(*wait_);
    all->stop_if_unwaited(*entry);
    ready = all->take_ready();
  }
  all->post(std::move(ready));
}

inline void asio_entry::fire() {
  for (asio_wait* each = waits_.front(); each != nullptr; each = waits_.next(*each)) all->make_ready(*each);
}

/// Asio's service that has a context's waits, and ends them with the context.
class FOLIOT_EXPORT asio_timer_service final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;

  explicit asio_timer_service(asio::execution_context& context)
      : service(context), waits(std::make_shared<asio_waits>(context)) {}
  void shutdown() noexcept override { waits->end(); }

  const std::shared_ptr<asio_waits> waits;
};
