// Work comes as the only other worker goes to sleep: the handshake of src/runtime/sleep.cpp, with the shipped parker
// and the orders as they are there, around a queue of one word. Somebody has to run the work, and who made it computes
// for ever. The lock is a simple one: what foliot's own does after an unlock is a full barrier in the model, and must
// not stand in for those of the handshake.
#include <array>
#include <vector>

#include "audited.hpp"
#include "runtime/parker.hpp"

namespace foliot::model {
namespace {

using runtime::detail::parker;

class simple_lock {
 public:
  explicit simple_lock(seam::atomic<std::uint32_t>& word) : word_(word) {
    while (word_.exchange(1, seam::acquire) != 0) seam::spin_pause();
  }
  ~simple_lock() { word_.store(0, seam::release); }
  simple_lock(const simple_lock&) = delete;
  simple_lock& operator=(const simple_lock&) = delete;

 private:
  seam::atomic<std::uint32_t>& word_;
};

/// What there is; without one of them it is a canary.
struct defences {
  bool makers_fence = true;
  bool sleepers_fence = true;
  bool looks_after_it_is_uncounted = true;
  bool looks_after_it_is_listed = true;
  bool tries_again = true;
};

class handshake {
 public:
  explicit handshake(defences with) : with_(with) {
    name(work_, "work");
    name(idle_count_, "idle count");
    name(spinning_, "spinning");
    name(park_, "park");
  }

  /// As make_ready_last() from elsewhere: the work, the barrier, wake_one().
  void make() {
    work_.fetch_add(1, seam::relaxed);
    if (with_.makers_fence) seam::full_fence();
    wake_one();
  }
  /// Until it has run so much.
  void work(unsigned all, bool begins_spinning) {
    if (begins_spinning) {
      spins_ = true;
      spinning_.fetch_add(1, seam::seq_cst);
    }
    for (unsigned done = 0; done < all;) {
      if (const unsigned found = work_.exchange(0, seam::relaxed); found != 0) {
        done += found;
        continue;
      }
      sleep();
    }
  }

 private:
  void wake_one() {
    while (idle_count_.load(seam::relaxed) != 0) {
      std::uint32_t none = 0;
      if (!spinning_.compare_exchange_strong(none, 1, seam::seq_cst, seam::relaxed)) return;
      bool woken = false;
      {
        const simple_lock held(lock_);
        if (idle_) {
          idle_ = false;
          idle_count_.store(0, seam::relaxed);
          spins_ = true;
          woken = true;
        }
      }
      if (woken) return static_cast<void>(park_.notify());
      spinning_.fetch_sub(1, seam::seq_cst);
      if (!with_.tries_again) return;
      seam::full_fence();
    }
  }
  void sleep() {
    bool again = false;
    if (!with_.looks_after_it_is_listed) again = work_.load(seam::relaxed) != 0;
    bool was_spinning = false;
    {
      const simple_lock held(lock_);
      was_spinning = spins_;
      spins_ = false;
      idle_ = true;
      idle_count_.store(1, seam::relaxed);
    }
    if (!with_.looks_after_it_is_uncounted) {
      seam::full_fence();
      again = work_.load(seam::relaxed) != 0;
    }
    if (was_spinning) spinning_.fetch_sub(1, seam::seq_cst);
    if (with_.sleepers_fence) seam::full_fence();
    if (with_.looks_after_it_is_listed && with_.looks_after_it_is_uncounted) again = work_.load(seam::relaxed) != 0;
    if (!again && park_.begin(parker::way::on_the_word)) park_.sleep_until(instant::never());
    static_cast<void>(park_.end());
    const simple_lock held(lock_);
    if (!idle_) return;
    idle_ = false;
    idle_count_.store(0, seam::relaxed);
  }

  const defences with_;
  seam::atomic<std::uint32_t> lock_{0};
  seam::plain<bool> idle_{false};
  seam::plain<bool> spins_{false};
  seam::atomic<std::size_t> idle_count_{0};
  seam::atomic<std::uint32_t> spinning_{0};
  seam::atomic<unsigned> work_{0};
  parker park_;
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
