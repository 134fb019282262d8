#include <foliot/core/virtual_clock.hpp>

#include <algorithm>
#include <stdexcept>

namespace foliot::inline core {

virtual_clock::virtual_clock(instant start) noexcept : now_(std::min(start, instant::latest()).nanoseconds()) {}

instant virtual_clock::now() const noexcept { return instant::from_nanoseconds(now_.load(seam::acquire)); }

expiry virtual_clock::advance(duration length, budget limit) {
  return advance_to(deadline_after(now(), length), limit);
}

expiry virtual_clock::advance_to(instant target, budget limit) {
  const void* self = &seam::this_thread();
  if (advancer_.load(seam::relaxed) == self) {
    throw std::logic_error("foliot: a callback must not advance the virtual clock that runs it");
  }
  const lock one_at_a_time(advancing_);
  advancer_.store(self, seam::relaxed);
  struct on_leave {
    seam::atomic<const void*>& advancer;
    ~on_leave() { advancer.store(nullptr, seam::relaxed); }
  } const leave{advancer_};

  expiry turn;
  for (;;) {
    instant deadline;
    const std::shared_ptr<timeline> next = earliest_follower(deadline);
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

void virtual_clock::raise_to(instant target) noexcept {
  const std::int64_t wanted = std::min(target, instant::latest()).nanoseconds();
  std::int64_t shown = now_.load(seam::relaxed);
  // acq_rel: pairs with the acquire in now() and with the others who raise. A failure only looks again.
  while (shown < wanted && !now_.compare_exchange_weak(shown, wanted, seam::acq_rel, seam::relaxed)) {
  }
}

instant virtual_clock::next_deadline() {
  instant deadline;
  static_cast<void>(earliest_follower(deadline));
  return deadline;
}

void virtual_clock::join(std::weak_ptr<timeline> follower) {
  const lock held(list_);
  std::erase_if(followers_, [](const auto& each) { return each.expired(); });
  followers_.push_back(std::move(follower));
}

std::shared_ptr<timeline> virtual_clock::earliest_follower(instant& deadline) {
  const lock held(list_);
  std::shared_ptr<timeline> earliest;
  deadline = instant::never();
  for (const auto& each : followers_) {
    std::shared_ptr<timeline> follower = each.lock();
    if (follower == nullptr) continue;
    const instant its = follower->next_deadline();
    if (its < deadline) {
      deadline = its;
      earliest = std::move(follower);
    }
  }
  return earliest;
}

}  // namespace foliot::inline core
