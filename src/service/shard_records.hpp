// Which record each timer of a shard gets, so that none is larger than it must be: a part of shard.hpp.
#pragma once

#include <source_location>
#include <utility>

#include "shard.hpp"

namespace foliot::inline service {

template <class Design>
timer_record* shard<Design>::make(timer_callback callback, duration period) {
  record* made = nullptr;
  if (options_.slow_callback != nullptr) {
    made = new placed_record(*this, std::move(callback), period);
  } else if (options_.executor != nullptr) {
    made = new posting_record(*this, std::move(callback), period);
  } else if (period > duration::zero()) {
    made = new ticking_record(*this, std::move(callback), period);
  } else {
    made = new record(*this, std::move(callback), false);
  }
  const lock held(lock_);
  hold();
  return made;
}

/// Destroys the record, as what it was made.
template <class Design>
void shard<Design>::forget(record& r) noexcept {
  if (r.wants_place()) {
    delete &static_cast<placed_record&>(r);
  } else if (options_.executor != nullptr) {
    delete &as_posting(r);
  } else if (r.ticks_) {
    delete &static_cast<ticking_record&>(r);
  } else {
    delete &r;
  }
  --holders_;
}

template <class Design>
void shard<Design>::arms_at(timer_record& timer, std::source_location place) noexcept {
  // relaxed, here and in run_watched(): a place is constant for the whole program, and publishes nothing.
  static_cast<placed_record&>(as_record(timer)).armed_at_.store(place, seam::relaxed);
}

/// Calls the callback, measures it, and tells of it if it was slow. Without the lock.
template <class Design>
void shard<Design>::run_watched(record& r, const firing& now) noexcept {
  std::source_location armed_at;
  if (r.wants_place()) armed_at = static_cast<placed_record&>(r).armed_at_.load(seam::relaxed);
  const instant began = watch_->now();
  run(r, now);
  const duration took = watch_->now() - began;
  if (slow_callback_watch* const slow = watch_->too_slow_for(took)) {
    try {
      slow->tell({took, armed_at, now});
    } catch (...) {
      report(std::current_exception());
    }
  }
  const lock held(lock_);
  watch_->record(now.lateness(), took);
}

}  // namespace foliot::inline service
