// What handles and jobs call on a timer: the shard that owns its record. Private: users hold a `timer_service`, a
// `timer` and a `ticker`, and choose an engine by its name. Here only because their inline functions call it; the
// shards themselves are in src/service.
//
// A timer's life:
//
//     make ──► idle ──reset──► pending ──due──► running ──► idle       (a ticker: ──► pending)
//               ▲                 │ ▲ reset          │
//               └──────stop───────┘ └────────────────┘ reset from its callback
//
// From each of these states stop_and_wait closes the timer: it is not pending and not running, its closure is
// destroyed, and no reset arms it again.
//
// Thread safety: every member from any thread, and from inside callbacks.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/detail/closure_life.hpp>
#include <foliot/service/detail/pinned_layout.hpp>
#include <foliot/service/firing.hpp>

namespace foliot::detail {

class engine;

/// One timer, as handles see it. Its shard makes and frees it, and adds the closure and the queue's node.
class timer_record : protected closure_use {
 public:
  /// The shard that made the record; it exists as long as any of its records. A shard also finds records that have
  /// moved to another shard of the service since.
  [[nodiscard]] engine& owner() const noexcept { return *owner_; }
  /// Whether set_location and set_name may be called: the record has room for both.
  [[nodiscard]] bool has_location() const noexcept { return has_location_; }
  /// Fetches the cache lines that a start, a stop and a reset use.
  void prefetch() const noexcept {
    __builtin_prefetch(prefetched().first, 1);
    __builtin_prefetch(prefetched().last, 1);
  }
  /// Bytes on the first and the last of these lines. The 48 bytes (shard_record.hpp) begin three before kind_, so the
  /// last of them is 44 behind it.
  struct prefetched_bytes {
    const void* first;
    const void* last;
  };
  [[nodiscard]] prefetched_bytes prefetched() const noexcept {
    return {&kind_, reinterpret_cast<const char*>(&kind_) + 44};
  }

 protected:
  enum class kind : std::uint8_t {
    one_shot,
    ticker,
    pinned,  // of one shot, in the user's object: see pinned_timer.hpp
  };
  enum class location : bool { none, stored };

  timer_record(engine& owner, kind is, location where, pinned_distance closure = {}) noexcept
      : kind_(is), has_location_(where == location::stored), closure_at_(closure), owner_(&owner) {}
  ~timer_record() = default;

  // The shard's, under its lock, as far as it is not constant.

  const kind kind_;
  const bool has_location_;
  /// Its callback is running.
  bool running_ = false;
  /// It is the timer of a sleeping thread. The thread or the shard owns the record; no handle does.
  bool is_sleep_ = false;
  /// A pinned timer's: where its closure is.
  const pinned_distance closure_at_;

 private:
  engine* const owner_;
};

class FOLIOT_EXPORT engine : public timeline {
 public:
  /// Makes an idle timer; a positive period makes it a ticker. Throws std::bad_alloc.
  [[nodiscard]] virtual timer_record* make(timer_callback callback, duration period) = 0;

  /// Makes an idle pinned timer, or one that is armed for `deadline` if there is one, at the record's address in
  /// `where`. The closure has been made there. Throws std::invalid_argument if the service has an executor or a log, or
  /// the record does not fit, and as reset() does; there is no timer then.
  virtual void pin(pinned_layout where, const pinned_operations& closure, const std::optional<instant>& deadline) = 0;
  /// Ends a pinned timer: as stop_and_wait, and nothing uses its place on return. Returns whether the closure is still
  /// there: the caller must destroy it then. Inside its own callback it does not wait: the callback goes on, and
  /// nothing uses the place after this.
  virtual bool unpin(timer_record& timer) noexcept = 0;

  /// Stores where in the source the timer is made, or about to be armed. Precondition: has_location().
  virtual void set_location(timer_record& timer, std::source_location location) noexcept = 0;
  /// Names the timer. Precondition: has_location(). Throws std::bad_alloc.
  virtual void set_name(timer_record& timer, std::string_view name) = 0;

  /// Arms the timer for `deadline`, in whichever state it is. Throws std::bad_alloc, or std::system_error when the
  /// shard's thread cannot be started; the timer is then as it was.
  virtual reset_result reset(timer_record& timer, instant deadline) = 0;
  /// The same for `delay` from now, or up to `slack` later. Does not read the clock, which may not exist any more, for
  /// a timer that is closed.
  virtual reset_result reset(timer_record& timer, duration delay, duration slack) = 0;
  /// Begins a new grid: the ticker's next tick is one `period` from now. Precondition: the period is positive.
  virtual reset_result restart(timer_record& timer, duration period) = 0;
  /// Stops the timer, and returns what became of its latest start.
  virtual stop_result stop(timer_record& timer) noexcept = 0;
  /// Closes the timer, waits until no thread uses its closure, and destroys the closure. Inside the timer's own
  /// callback it does not wait: the closure is destroyed when the callback returns.
  virtual stop_result stop_and_wait(timer_record& timer) noexcept = 0;
  /// As stop_and_wait, and frees the record.
  virtual void destroy(timer_record* timer) noexcept = 0;
  /// Takes over the record of a one-shot timer: frees it after it has fired, or at once if it is not pending.
  virtual void detach(timer_record* timer) noexcept = 0;

  /// What the job of a timer does when the executor calls it.
  virtual void run_posted(timer_record& timer) noexcept = 0;
  /// What it does when the executor destroys it uncalled.
  virtual void drop_posted(timer_record& timer) noexcept = 0;

  /// Whether the timer will fire.
  [[nodiscard]] virtual bool pending(const timer_record& timer) const noexcept = 0;
  /// How many ticks the ticker has skipped.
  [[nodiscard]] virtual std::uint64_t skipped(const timer_record& timer) const noexcept = 0;

  /// The service's clock.
  [[nodiscard]] virtual const clock& time() const noexcept = 0;
};

}  // namespace foliot::detail
