// Work arrives while the only other worker goes to sleep. The test uses the shipped set of idle workers and the shipped
// parker, in the steps and with the orders of scheduler::sleep() and wake_one(), around a queue of one word. The worker
// must run the work, since the thread that made it computes for ever. The lock is a simple one: foliot's own lock is a
// full barrier after an unlock in the model, and must not replace the barriers of the handshake.
#include <vector>

#include <foliot/core/annotations.hpp>

#include "audited.hpp"
#include "runtime/idle_workers.hpp"

namespace foliot::model {
namespace {

using runtime::detail::idle_worker;
using runtime::detail::idle_workers;
using runtime::detail::parker;

class FOLIOT_CAPABILITY("mutex") simple_mutex {
 public:
  void lock() noexcept FOLIOT_ACQUIRE() FOLIOT_NO_ANALYSIS {
    while (word_.exchange(1, seam::acquire) != 0) seam::spin_pause();
  }
  void unlock() noexcept FOLIOT_RELEASE() FOLIOT_NO_ANALYSIS { word_.store(0, seam::release); }

 private:
  seam::atomic<std::uint32_t> word_{0};
};

/// The parts of the handshake. A test without one of them is a canary.
struct defences {
  bool makers_fence = true;
  bool sleepers_fence = true;
  bool looks_after_it_is_uncounted = true;
  bool looks_after_it_is_listed = true;
};

class handshake {
 public:
  explicit handshake(defences with) : with_(with) {
    name(work_, "work");
    name(worker_.park, "park");
  }

  /// As scheduler::make_ready_last() from a thread outside of the runtime.
  void make() {
    work_.fetch_add(1, seam::relaxed);
    if (with_.makers_fence) seam::full_fence();
    if (idle_worker* const woken = idle_.claim_one(lock_, [](idle_worker&) {})) {
      static_cast<void>(woken->park.notify());
    }
  }
  /// Runs until it has done so much work.
  void work(unsigned all, bool begins_spinning) {
    if (begins_spinning) require(idle_.begin_spinning(worker_, 1), "no other worker spins");
    for (unsigned done = 0; done < all;) {
      if (const unsigned found = work_.exchange(0, seam::relaxed); found != 0) {
        done += found;
        continue;
      }
      sleep();
    }
  }

 private:
  /// As scheduler::sleep().
  void sleep() {
    bool again = false;
    if (!with_.looks_after_it_is_listed) again = has_work();
    lock_.lock();
    const bool was_spinning = idle_.add(worker_, lock_);
    lock_.unlock();
    if (!with_.looks_after_it_is_uncounted) {
      seam::full_fence();
      again = has_work();
    }
    if (was_spinning) idle_.leave_spinning();
    if (with_.sleepers_fence) seam::full_fence();
    if (with_.looks_after_it_is_listed && with_.looks_after_it_is_uncounted) again = has_work();
    if (!again && worker_.park.begin(parker::way::on_the_word)) worker_.park.sleep_until(instant::never());
    static_cast<void>(worker_.park.end());
    lock_.lock();
    if (worker_.is_listed(lock_)) idle_.remove(worker_, lock_);
    lock_.unlock();
  }
  /// As scheduler::look_again().
  [[nodiscard]] bool has_work() const { return work_.load(seam::relaxed) != 0 && !idle_.has_spinning(); }

  const defences with_;
  simple_mutex lock_;
  idle_workers<idle_worker> idle_{1};
  idle_worker worker_;
  seam::atomic<unsigned> work_{0};
};

void meet(defences with, unsigned makers, bool begins_spinning) {
  handshake h(with);
  std::vector<seam::thread> others;
  for (unsigned i = 0; i < makers; ++i) others.emplace_back("maker", [&h] { h.make(); });
  h.work(makers, begins_spinning);
  for (seam::thread& each : others) each.join();
}

TEST(Idle, WorkIsNotSleptThrough) {
  holds({.name = "idle, a maker"}, [] { meet({}, 1, false); });
  holds({.name = "idle, a maker, and the worker was spinning"}, [] { meet({}, 1, true); });
  holds({.name = "idle, two makers", .preemptions = 1}, [] { meet({}, 2, false); });
}

TEST(Idle, WithoutADefenceItIs) {
  finds({.name = "idle, no fence behind the work"}, "deadlock", [] { meet({.makers_fence = false}, 1, false); });
  finds({.name = "idle, no fence before the look"}, "deadlock", [] { meet({.sleepers_fence = false}, 1, false); });
  finds({.name = "idle, looks while it is counted"}, "deadlock",
        [] { meet({.looks_after_it_is_uncounted = false}, 1, true); });
  finds({.name = "idle, looks before it is listed"}, "deadlock",
        [] { meet({.looks_after_it_is_listed = false}, 1, false); });
}

}  // namespace
}  // namespace foliot::model
