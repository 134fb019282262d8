// Timers that move between shards, in the engine `bucket-heaps`: a part of shard.hpp.
//
// A start, and so a reset, moves the timer to the shard of the calling thread, as in Go 1.10 to 1.13 (assignBucket). In
// Go a Reset was a deltimer and then an addtimer, and two goroutines that reset one timer raced. Here it is one step,
// under the locks of both shards, so that the results are exact:
//
//   any other operation    reads the timer's home, takes that shard's lock, and reads the home again; if the timer has
//                          moved meanwhile, it begins again
//   reset                  the same with two locks, that of the home and that of the caller's shard
//
// Lock order: a thread that takes two of these locks, or all, takes the lock of the higher index first. A fork takes
// them in the same order, since it asks its witnesses in the reverse order of their making.
//
// A timer stays where it is, and is armed there,
//   - while its callback runs or its closure is destroyed: its callbacks must not overlap;
//   - while the executor is called with its job: the shard's thread uses the record after that;
//   - when one of both shards drains or has ended: the end of a service must find each timer once.
//
// Lifetime: an operation may reach a timer by way of any shard of its service. So all shards of a service live as long
// as one of them has a timer.
#pragma once

#include <memory>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

template <class Design>
struct shard<Design>::siblings {
  /// Valid as long as a shard of the service has a timer, or the service is in use.
  const shard_list* all = nullptr;
  std::weak_ptr<const shard_list> owner{};
};

/// The shard's own, while it has references: where timers move, it owns all shards of its service.
template <class Design>
std::shared_ptr<engine> shard<Design>::owning_pointer() noexcept {
  if constexpr (moves) {
    return {siblings_.owner.lock(), this};
  } else {
    return this->shared_from_this();
  }
}

/// Whether the shard has the timer. Certain under the shard's lock.
template <class Design>
template <class Record>
bool shard<Design>::is_home_of([[maybe_unused]] const shard& it, [[maybe_unused]] const Record& r) noexcept {
  if constexpr (moves) {
    return r.home() == &it;
  } else {
    return true;
  }
}

/// Calls a member function of the shard that has the timer, under that shard's lock.
template <class Design>
template <auto Here, class Self, class Record, class... More>
[[gnu::always_inline]] inline auto shard<Design>::at_home(Self& self, Record& r, More&... more) noexcept {
  for (;;) {
    Self* home = &self;
    if constexpr (moves) home = static_cast<Self*>(r.home());
    const lock held(home->lock_);
    if (is_home_of(*home, r)) return (home->*Here)(r, more...);
  }
}

/// The same for a function that may free the record: if that was the shard's last reference, the shard is destroyed.
template <class Design>
template <auto Here>
auto shard<Design>::at_home_then_release(record& r) noexcept {
  std::shared_ptr<engine> last;   // outlives the lock, which belongs to the shard
  std::shared_ptr<engine> kept;   // while the log's entries are written
  log_entries entries(options_);  // written without the lock, and before the two above are destroyed
  struct parting {
    shard& left;
    std::shared_ptr<engine>& last;
    ~parting() FOLIOT_NO_ANALYSIS { last = left.take_unreferenced(); }
  };
  for (;;) {
    shard* home = this;
    if constexpr (moves) home = static_cast<shard*>(r.home());
    const lock held(home->lock_);
    if (!is_home_of(*home, r)) continue;
    if (entries.wanted()) [[unlikely]]
      kept = home->shared_from_this();
    const parting after{*home, last};
    if constexpr (requires { (home->*Here)(r, entries); }) {
      return (home->*Here)(r, entries);
    } else {
      return (home->*Here)(r);
    }
  }
}

/// The locks of two shards, or of one.
template <class Design>
struct shard<Design>::two_locks {
  two_locks(shard& a, shard& b) noexcept FOLIOT_NO_ANALYSIS : high(a.index_ < b.index_ ? b : a),
                                                              low(a.index_ < b.index_ ? a : b) {
    high.lock_.lock();
    if (&high != &low) low.lock_.lock_beside_others();
  }
  ~two_locks() FOLIOT_NO_ANALYSIS {
    if (&high != &low) low.lock_.unlock_beside_others();
    high.lock_.unlock();
  }
  two_locks(const two_locks&) = delete;
  two_locks& operator=(const two_locks&) = delete;

  shard& high;
  shard& low;
};

/// Whether a start may move the timer from this shard to `to`. Under both locks.
template <class Design>
bool shard<Design>::may_leave(const record& r, const shard& to) const noexcept {
  const auto starts = [](const shard& one)
                          FOLIOT_NO_ANALYSIS { return one.phase_ == phase::running || one.phase_ == phase::unstarted; };
  const bool being_posted = options_.executor && as_extended(r).being_posted_;
  return starts(*this) && starts(to) && !r.life().closed() && !r.life().in_use() && !being_posted;
}

/// rearm(), in the shard of the calling thread if the timer may move there.
template <class Design>
template <class DeadlineOf, class Then>
reset_result shard<Design>::rearm_at_caller(record& r, DeadlineOf deadline_of, Then then) FOLIOT_NO_ANALYSIS {
  const shard_list& all = *siblings_.all;
  shard& here = static_cast<shard&>(*all[seam::this_thread_home() % all.size()]);
  for (;;) {
    shard& from = static_cast<shard&>(*r.home());
    shard* to = &here;
    armed done{};
    std::shared_ptr<engine> last;  // not the last owner of `from`: the timer's new home owns all shards too
    {
      const two_locks held(from, here);
      if (!is_home_of(from, r)) continue;
      if (&from == to || !from.may_leave(r, here)) {
        to = &from;
        log_entries none(options_);
        done = from.arm(r, deadline_of, then, none);
      } else {
        if (to->phase_ == phase::unstarted) to->start_thread();
        to->queue_.make_room();
        // From here on nothing fails.
        const instant deadline = deadline_of();
        const bool queued = from.queue_.stop(r);
        const bool superseded = from.cancel_posted(r) || queued;
        to->retain();
        --from.references_;
        last = from.take_unreferenced();
        r.move_to(*to);
        to->queue_.reset(r, deadline);
        if (to->queue_.size() > to->counters_.peak_pending) to->counters_.peak_pending = to->queue_.size();
        done = to->count_armed(r, deadline, superseded, then);
      }
    }
    // The caller's handle keeps the timer, and so the shards.
    if (done.to_wake != nullptr) done.to_wake->wake();
    return done.result;
  }
}

}  // namespace foliot::detail
