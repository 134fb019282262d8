// The callbacks of a shard that are running, as far as stalls are to be reported: each on its thread's stack. And the
// waits for callbacks, which are reported if they last too long.
//
// While a callback is reported the lock is released, so it may end meanwhile: a report is made of copies.
//
// Invariant: the list has those callbacks whose threads have called add() and not yet remove(). Their timers exist,
// since their closures are in use; forget_timer() is called for one that ends inside its callback.
// Thread safety: the shard's lock guards all members; their callers hold it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <source_location>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/service/firing.hpp>
#include <foliot/service/stall.hpp>

#include "shard_options.hpp"
#include "shared_name.hpp"

namespace foliot::detail {

/// A callback that is running on the thread that made this object.
template <class Record>
struct running_callback {
  running_callback(const Record& of, const firing& argument, std::source_location location, duration limit) noexcept
      : timer(&of), fired(argument), armed_at(location), began(seam::monotonic_now()), report_at(began + limit) {}

  const Record* timer;  // null: it was pinned, and has been destroyed inside the callback
  const firing fired;
  const std::source_location armed_at;
  const instant began;  // by the monotonic clock
  const std::uint32_t system_thread = seam::this_thread_id();
  const void* const thread = &seam::this_thread();
  /// When the thread `foliot-stalls` reports it next.
  instant report_at;
  list_links<running_callback> links;
};

/// `Record`: a timer's, which has a name().
template <class Record>
class running_callbacks {
  using callback = running_callback<Record>;
  using list = intrusive_list<callback, &callback::links>;

 public:
  explicit running_callbacks(const shard_options& options) noexcept : options_(options) {}

  void add(callback& one) noexcept { all_.push_front(one); }
  void remove(callback& one) noexcept { all_.erase(one); }
  /// A pinned timer has been destroyed inside its callback.
  void forget_timer(const Record& gone) noexcept {
    for (callback* one = all_.front(); one != nullptr; one = list::next(*one)) {
      if (one->timer == &gone) one->timer = nullptr;
    }
  }
  /// In the child of a fork: those of other threads, whose stacks do not exist here, are not in the list any more.
  void forget_other_threads() noexcept {
    list of_all = std::move(all_);
    while (callback* const one = of_all.pop_front()) {
      if (one->thread == &seam::this_thread()) all_.push_front(*one);
    }
  }

  /// Waits until `is_over()`, which is called under the lock and after every notification of `done`, at most until the
  /// monotonic clock shows `until`. With a stall report, tells it which callback the wait is for when that callback and
  /// the wait have lasted for too long, and again each time when the wait has doubled. `of`: the timer whose callback
  /// it is; null: any.
  template <class IsOver>
  void wait(mutex& held, condition& done, stall_kind kind, const Record* of, instant until, IsOver is_over) noexcept
      FOLIOT_REQUIRES(held) {
    const duration limit = options_.stalls.longer_than;
    instant began;
    instant look = instant::never();
    if (is_over()) return;
    if (options_.stalls.tell) {
      began = seam::monotonic_now();
      look = began + limit;
    }
    do {
      const instant next = std::min(until, look);
      done.wait_until(held, next);
      if (next == instant::never()) continue;
      const instant now = seam::monotonic_now();
      if (now < look) {
        if (now >= until) return;
        continue;
      }
      look = now + limit;
      if (const callback* const one = oldest(of); one != nullptr) {
        if (one->began + limit <= now) {
          look = now + (now - began);
          tell(held, kind, *one, now, now - began);
        } else {
          look = one->began + limit;
        }
      }
    } while (!is_over());
  }

  /// Reports the callbacks that have been running for too long, each again when it has lasted twice as long, and
  /// returns when to look again. Ends when a report has set `is_over`.
  instant report_overdue(mutex& held, const bool& is_over) noexcept FOLIOT_REQUIRES(held) {
    while (!is_over) {
      const instant now = seam::monotonic_now();
      callback* const one = next_to_report();
      if (one == nullptr) return instant::never();
      if (one->report_at > now) return one->report_at;
      one->report_at = now + (now - one->began);
      tell(held, stall_kind::callback_runs, *one, now, duration::zero());
    }
    return instant::never();
  }

 private:
  /// The oldest callback of this timer, or of all if it is null; null if none runs.
  [[nodiscard]] const callback* oldest(const Record* of) noexcept {
    const callback* found = nullptr;
    for (const callback* one = all_.front(); one != nullptr; one = list::next(*one)) {
      if ((of == nullptr || one->timer == of) && (found == nullptr || one->began < found->began)) found = one;
    }
    return found;
  }
  /// The callback that is to be reported first; null if none runs.
  [[nodiscard]] callback* next_to_report() noexcept {
    callback* found = nullptr;
    for (callback* one = all_.front(); one != nullptr; one = list::next(*one)) {
      if (found == nullptr || one->report_at < found->report_at) found = one;
    }
    return found;
  }

  /// Releases the lock meanwhile.
  void tell(mutex& held, stall_kind kind, const callback& one, instant now, duration waited) noexcept
      FOLIOT_REQUIRES(held) {
    const shared_name name = one.timer != nullptr ? one.timer->name() : nullptr;
    const stall report_of{kind, now - one.began, waited, one.system_thread, one.armed_at, one.fired, view_of(name)};
    held.unlock();
    try {
      options_.stalls.tell(report_of);
    } catch (...) {
      options_.report({.error = std::current_exception()});
    }
    held.lock();
  }

  const shard_options& options_;
  list all_;
};

}  // namespace foliot::detail
