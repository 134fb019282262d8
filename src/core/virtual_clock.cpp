#include <foliot/core/virtual_clock.hpp>

#include <algorithm>
#include <stdexcept>

namespace foliot::inline core {

virtual_clock::virtual_clock(instant start) noexcept : now_(std::min(start, instant::latest()).nanoseconds()) {}

instant virtual_clock::now() const noexcept { return instant::from_nanoseconds(now_.load(seam::acquire)); }

/// Makes the calling thread the advancing thread for a scope.
class virtual_clock::turn_to_advance {
 public:
  explicit turn_to_advance(virtual_clock& clock) : clock_(clock) {
    const void* self = &seam::this_thread();
    const lock held(clock_.lock_);
    if (clock_.advancer_ == self) {
      throw std::logic_error(
          "foliot: a callback must not advance the virtual clock that runs it: advance it after the callback's return");
    }
    while (clock_.advancer_ != nullptr) clock_.turn_.wait(clock_.lock_);
    clock_.advancer_ = self;
  }
  ~turn_to_advance() {
    clock_.found_.clear();  // before the turn ends and without the lock: this may destroy an engine
    const lock held(clock_.lock_);
    clock_.advancer_ = nullptr;
    clock_.turn_.notify_all();
  }
  turn_to_advance(const turn_to_advance&) = delete;
  turn_to_advance& operator=(const turn_to_advance&) = delete;

 private:
  virtual_clock& clock_;
};

bool virtual_clock::moved_by_caller() const noexcept {
  const lock held(lock_);
  return advancer_ == &seam::this_thread();
}

expiry virtual_clock::advance(duration length, budget limit) {
  const turn_to_advance mine(*this);
  return run_to(deadline_after(now(), length), limit);
}

expiry virtual_clock::advance_to(instant target, budget limit) {
  const turn_to_advance mine(*this);
  return run_to(target, limit);
}

expiry virtual_clock::run_to(instant target, budget limit) {
  expiry turn;
  for (;;) {
    find_followers(found_);
    instant deadline;
    const std::shared_ptr<timeline> next = earliest_of(found_, deadline);
    if (next == nullptr || !is_due(deadline, std::max(target, now()))) break;
    if (turn.fired == limit) {
      turn.more = true;
      return turn;
    }
    raise_to(deadline);
    turn.fired += next->run_due(now(), limit - turn.fired).fired;
  }
  raise_to(target);
  return turn;
}

void virtual_clock::stall(duration length) noexcept { raise_to(deadline_after(now(), length)); }

instant virtual_clock::wall_now() const noexcept {
  const duration ahead = duration::nanoseconds(wall_ahead_.load(seam::acquire));
  return std::min(now() + ahead, instant::latest());
}

void virtual_clock::set_wall(instant shown) noexcept {
  const duration ahead = std::min(shown, instant::latest()) - now();
  wall_ahead_.store(ahead.count(), seam::release);
}

instant virtual_clock::when_wall_shows(instant wall) const noexcept {
  return wall - duration::nanoseconds(wall_ahead_.load(seam::acquire));
}

void virtual_clock::raise_to(instant target) noexcept {
  const std::int64_t wanted = std::min(target, instant::latest()).nanoseconds();
  std::int64_t shown = now_.load(seam::relaxed);
  // acq_rel: pairs with the acquire in now() and with other threads that raise; relaxed on failure, which only retries.
  while (shown < wanted && !now_.compare_exchange_weak(shown, wanted, seam::acq_rel, seam::relaxed)) {
  }
}

instant virtual_clock::next_deadline() {
  followers all;
  find_followers(all);
  instant deadline;
  static_cast<void>(earliest_of(all, deadline));
  return deadline;
}

void virtual_clock::join(std::weak_ptr<timeline> follower) {
  const lock held(lock_);
  std::erase_if(followers_, [](const auto& each) { return each.expired(); });
  followers_.push_back(std::move(follower));
}

void virtual_clock::find_followers(followers& found) {
  found.clear();  // without the lock: an engine that is destroyed here runs destructors of its user
  const lock held(lock_);
  // Reserved first: a push_back that threw would release its follower, and perhaps destroy it, under the lock.
  found.reserve(followers_.size());
  for (const auto& each : followers_) {
    if (std::shared_ptr<timeline> follower = each.lock()) found.push_back(std::move(follower));
  }
}

std::shared_ptr<timeline> virtual_clock::earliest_of(const followers& all, instant& deadline) {
  deadline = instant::never();
  const std::shared_ptr<timeline>* earliest = nullptr;
  for (const auto& each : all) {
    const instant its = each->next_deadline();
    if (its < deadline) {
      deadline = its;
      earliest = &each;
    }
  }
  return earliest == nullptr ? nullptr : *earliest;
}

}  // namespace foliot::inline core
