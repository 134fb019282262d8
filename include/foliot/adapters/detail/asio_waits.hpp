// What all foliot::asio_timer of one execution context share: foliot's queue, one alarm of Asio's underneath, and the
// waits. For asio_timer.hpp.
//
//   waiting ──due──► posted ──its handler begins──► done, with success
//      │               │
//      └────cancel─────┴──► posted, cancelled ────► done, with operation_aborted
//
// A wait is decided when its handler begins, on the handler's executor and under the lock: a cancel before that wins.
//
// Thread safety: every member of asio_waits from any thread. Nothing of a user's runs under the lock: handlers are
// posted, and destroyed, without it.
// Lifetime: timers and waits share it. The context's end drops what waits, and leaves it empty.
//
// Invariant: a timer's entry is pending in the queue if one of its waits is `waiting`; those own themselves.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ratio>
#include <utility>

#include <asio/basic_waitable_timer.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/wait_traits.hpp>

#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::detail {

/// The standard library's name for CLOCK_MONOTONIC, which is what Asio's programs use. What foliot reads itself is
/// its own monotonic clock, the same one.
using asio_clock = std::chrono::steady_clock;  // tidy: allow(seam-clock) a name in Asio's interface
static_assert(std::ratio_equal_v<asio_clock::period, std::nano>);

inline instant to_instant(asio_clock::time_point t) noexcept {
  return instant::from_nanoseconds(t.time_since_epoch().count());
}
inline asio_clock::time_point to_time_point(instant t) noexcept {
  return asio_clock::time_point(asio_clock::duration(t.nanoseconds()));
}

/// Runs the alarm's handler where Asio completes it: on a thread that runs the context.
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

/// One async_wait. What follows is asio_waits', under its lock.
class FOLIOT_EXPORT asio_wait {
 public:
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;

  const std::shared_ptr<asio_waits> all;

 protected:
  explicit asio_wait(std::shared_ptr<asio_waits> waits) noexcept : all(std::move(waits)) {}
  virtual ~asio_wait();
  /// Its handler begins: what with?
  [[nodiscard]] asio::error_code begin() noexcept;

 private:
  friend class asio_waits;
  friend class asio_entry;
  /// Has the handler called on its executor; throws what that throws.
  virtual void post(std::shared_ptr<asio_wait> self) = 0;

  asio_entry* entry_ = nullptr;      // that it can be cancelled by
  std::shared_ptr<asio_wait> self_;  // until it is posted
  asio_wait* next_ = nullptr;        // in the entry's list
  asio_wait* previous_ = nullptr;
  asio_wait* next_ready_ = nullptr;  // of those that are to be posted
  bool cancelled_ = false;
  bool posted_ = false;
  bool begun_ = false;
};

/// A timer that was waited for. It has those of its waits that a cancel can still reach, oldest first.
class FOLIOT_EXPORT asio_entry final : public loop_node {
 public:
  explicit asio_entry(std::shared_ptr<asio_waits> waits) noexcept : all(std::move(waits)) {}
  void fire() override;

  const std::shared_ptr<asio_waits> all;
  asio_wait* first = nullptr;
  asio_wait* last = nullptr;
};

class FOLIOT_EXPORT asio_waits final : public loop_timers, public std::enable_shared_from_this<asio_waits> {
 public:
  explicit asio_waits(asio::execution_context& context) { alarm_.emplace(in_context{&context}); }

  /// Throws std::bad_alloc; then there is no wait.
  void start(asio_entry& entry, instant deadline, std::shared_ptr<asio_wait> wait) {
    const lock guard(mutex_);
    if (ended_) return;
    link(entry, *wait);
    try {
      if (!entry.pending()) reset(entry, deadline);
      set_alarm();
    } catch (...) {
      unlink(*wait);
      stop_if_nobody_waits(entry);
      throw;
    }
    asio_wait& started = *wait;
    started.self_ = std::move(wait);
  }

  /// Cancels the timer's waits, or the oldest; returns how many. None of them will be told of success.
  std::size_t cancel(asio_entry& entry, bool all_of_them = true) {
    std::size_t count = 0;
    asio_wait* ready = nullptr;
    {
      const lock guard(mutex_);
      while (entry.first != nullptr && (all_of_them || count == 0)) {
        cancel_linked(*entry.first);
        ++count;
      }
      stop_if_nobody_waits(entry);
      ready = take_ready();
    }
    post(ready);
    return count;
  }

  void cancel(asio_wait& wait) {
    asio_wait* ready = nullptr;
    {
      const lock guard(mutex_);
      asio_entry* const entry = wait.entry_;
      if (entry == nullptr) return;
      cancel_linked(wait);
      stop_if_nobody_waits(*entry);
      ready = take_ready();
    }
    post(ready);
  }

  /// The context ends: what waits is dropped, without being called.
  void end() noexcept {
    asio_wait* dropped = nullptr;
    {
      const lock guard(mutex_);
      ended_ = true;
      alarm_.reset();
      while (loop_node* node = take_any()) node->fire();
      dropped = take_ready();
      for (asio_wait* each = dropped; each != nullptr; each = each->next_ready_) unlink(*each);
    }
    while (dropped != nullptr) {
      asio_wait& one = *std::exchange(dropped, dropped->next_ready_);
      const std::shared_ptr<asio_wait> last = std::move(one.self_);
    }
  }

 private:
  friend class asio_wait;
  friend class asio_entry;
  using alarm = asio::basic_waitable_timer<asio_clock, asio::wait_traits<asio_clock>, in_context>;

  // ---- what the queue asks for; done by set_alarm, which may fail

  void wake_at(instant next) noexcept override {
    alarm_wanted_ = next;
    alarm_is_right_ = false;
  }
  /// Asio's context runs as long as there is something to wait for, so that an alarm for nothing has to go.
  void any_pending(bool any) noexcept override {
    if (any) return;
    alarm_is_off();
    wake_at(instant::never());
  }
  void set_alarm() {
    if (alarm_is_right_ || !alarm_) return;
    if (alarm_wanted_.is_never()) {
      alarm_->cancel();
    } else {
      alarm_->expires_at(to_time_point(alarm_wanted_));
      alarm_->async_wait([self = shared_from_this()](const asio::error_code& error) {
        if (!error) self->turn();
      });
    }
    alarm_is_right_ = true;
  }
  /// Where an error has to be told of already. The next start tries again.
  void try_to_set_alarm() noexcept {
    try {
      set_alarm();
    } catch (...) {
    }
  }

  /// The alarm has rung.
  void turn() {
    constexpr budget at_a_time = 256;
    for (bool more = true; more;) {
      asio_wait* ready = nullptr;
      {
        const lock guard(mutex_);
        try {
          alarm_is_off();  // whatever it rang for: what is next sets it again
          more = expire(now(), at_a_time).more;
          set_alarm();
        } catch (...) {
          wake_at(now());
          try_to_set_alarm();
          throw;
        }
        ready = take_ready();
      }
      post(ready);
    }
  }

  /// Without the lock. What cannot be posted is tried again in the next turn, and the error is the caller's.
  void post(asio_wait* ready) {
    while (ready != nullptr) {
      asio_wait& one = *ready;
      asio_wait* const next = std::exchange(one.next_ready_, nullptr);
      std::shared_ptr<asio_wait> self = std::move(one.self_);
      try {
        one.post(self);
      } catch (...) {
        one.self_ = std::move(self);
        one.next_ready_ = next;
        const lock guard(mutex_);
        asio_wait* last = ready;
        while (last->next_ready_ != nullptr) last = last->next_ready_;
        last->next_ready_ = first_ready_;
        if (first_ready_ == nullptr) last_ready_ = last;
        first_ready_ = ready;
        wake_at(now());
        try_to_set_alarm();
        throw;
      }
      ready = next;
    }
  }

  // ---- under the lock

  void link(asio_entry& entry, asio_wait& wait) noexcept {
    wait.entry_ = &entry;
    wait.previous_ = entry.last;
    (entry.last != nullptr ? entry.last->next_ : entry.first) = &wait;
    entry.last = &wait;
  }
  void unlink(asio_wait& wait) noexcept {
    if (wait.entry_ == nullptr) return;
    asio_entry& entry = *std::exchange(wait.entry_, nullptr);
    (wait.previous_ != nullptr ? wait.previous_->next_ : entry.first) = wait.next_;
    (wait.next_ != nullptr ? wait.next_->previous_ : entry.last) = wait.previous_;
    wait.next_ = wait.previous_ = nullptr;
  }
  void make_ready(asio_wait& wait) noexcept {
    if (std::exchange(wait.posted_, true)) return;
    (last_ready_ != nullptr ? last_ready_->next_ready_ : first_ready_) = &wait;
    last_ready_ = &wait;
  }
  asio_wait* take_ready() noexcept {
    last_ready_ = nullptr;
    return std::exchange(first_ready_, nullptr);
  }
  void cancel_linked(asio_wait& wait) noexcept {
    wait.cancelled_ = true;
    unlink(wait);
    make_ready(wait);
  }
  void stop_if_nobody_waits(asio_entry& entry) noexcept {
    for (const asio_wait* each = entry.first; each != nullptr; each = each->next_) {
      if (!each->posted_) return;
    }
    if (entry.pending()) stop(entry);
    try_to_set_alarm();
  }

  mutex mutex_{lock_rank::engine};
  std::optional<alarm> alarm_;
  instant alarm_wanted_ = instant::never();
  bool alarm_is_right_ = true;
  bool ended_ = false;
  asio_wait* first_ready_ = nullptr;
  asio_wait* last_ready_ = nullptr;
};

inline asio_wait::~asio_wait() {
  if (begun_) return;
  const lock guard(all->mutex_);
  all->unlink(*this);
}

inline asio::error_code asio_wait::begin() noexcept {
  const lock guard(all->mutex_);
  begun_ = true;
  all->unlink(*this);
  return cancelled_ ? asio::error_code(asio::error::operation_aborted) : asio::error_code();
}

inline void asio_entry::fire() {
  for (asio_wait* each = first; each != nullptr; each = each->next_) all->make_ready(*each);
}

/// Keeps a context's waits, and ends them with it.
class FOLIOT_EXPORT asio_timer_service final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;

  explicit asio_timer_service(asio::execution_context& context)
      : service(context), waits(std::make_shared<asio_waits>(context)) {}
  void shutdown() noexcept override { waits->end(); }

  const std::shared_ptr<asio_waits> waits;
};

}  // namespace foliot::detail
