// goim's log: the entries of one operation of a shard, gathered under the shard's lock and written without it, by the
// same thread.
//
// Invariant: an operation gathers at most four entries, and each is written once.
// Thread safety: none, one thread uses it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/service/timer_log.hpp>

#include "service/shard_options.hpp"
#include "service/shared_name.hpp"

namespace foliot::detail {

/// The destructor writes the entries.
class goim_log {
 public:
  explicit goim_log(const shard_options& options) noexcept : options_(options) {
    if (options.log) [[unlikely]]
      all_.emplace();
  }
  goim_log(const goim_log&) = delete;
  goim_log& operator=(const goim_log&) = delete;
  ~goim_log() { write(); }

  /// Whether the service has a log. If not, no entry may be added.
  [[nodiscard]] bool wanted() const noexcept { return all_.has_value(); }

  // Under the lock. The record is that of the timer.

  /// The timer has been queued. `queued_until`: the deadline that it was queued at before, if it was.
  template <class Record>
  void started(Record& r, const std::optional<instant>& queued_until) noexcept {
    if (!wanted()) [[likely]]
      return;
    if (queued_until) add(timer_event::removed, r, *queued_until);
    if (timer_node_access::place(r) == 0) {  // the timer has become the earliest
      next().entry = {timer_event::alarm_moved, {}, &r, r.deadline(), -1, until(r.deadline())};
    }
    add(timer_event::added, r, r.deadline());
  }
  /// A stop is about to remove the timer from the queue, if it is queued.
  template <class Record>
  void stopping(Record& r) noexcept {
    if (wanted()) [[unlikely]]
      add(r.pending() ? timer_event::removed : timer_event::not_there, r, r.deadline());
  }
  /// The end of the timer is about to remove it from the queue, if it is queued.
  template <class Record>
  void ending(Record& r) noexcept {
    if (wanted() && r.pending()) [[unlikely]]
      add(timer_event::removed, r, r.deadline());
  }
  /// The timer has left the queue, since it is due. A ticker may have been queued again, for its next tick.
  template <class Record>
  void expired(Record& r, instant was_until) noexcept {
    if (!wanted()) [[likely]]
      return;
    add(timer_event::removed, r, was_until);
    if (r.pending()) add(timer_event::added, r, r.deadline());
  }
  /// The timer's callback is called next.
  template <class Record>
  void calling(Record& r, instant was_until) noexcept {
    if (wanted()) [[unlikely]]
      add(timer_event::expired, r, was_until);
  }
  /// All due timers have fired, and `deadline` is the queue's next.
  void all_fired(instant deadline) noexcept {
    if (!wanted()) [[likely]]
      return;
    if (deadline.is_never()) next().entry = {timer_event::none_left, {}, nullptr, deadline};
    next().entry = {timer_event::alarm_set, {}, nullptr, deadline, -1, until(deadline)};
  }

  /// Writes the entries to the log. Without the lock.
  void write() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      gathered& each = (*all_)[i];
      if (each.name != nullptr) each.entry.name = *each.name;
      try {
        options_.log(each.entry);
      } catch (...) {
        options_.report({.error = std::current_exception()});
      }
      each.name = nullptr;
    }
    count_ = 0;
  }

 private:
  struct gathered {
    timer_log_entry entry;
    shared_name name;
  };

  template <class Record>
  void add(timer_event what, Record& r, instant deadline) noexcept {
    gathered& added = next();
    added.entry = {what, {}, &r, deadline};
    if (what == timer_event::added) {
      added.entry.index = static_cast<std::ptrdiff_t>(timer_node_access::place(r));
    }
    added.name = r.name();
  }
  [[nodiscard]] gathered& next() noexcept { return (*all_)[count_++]; }
  [[nodiscard]] duration until(instant deadline) const noexcept {
    return std::max(duration::zero(), deadline - options_.time.now());
  }

  const shard_options& options_;
  std::size_t count_ = 0;
  std::optional<std::array<gathered, 4>> all_;  // only where there is a log: without one an operation pays a test
};

}  // namespace foliot::detail
