// Classic kernels of lock-free code. Each holds as it is written, and fails when a memory order that it needs is
// weakened: the checker finds the flaws that it is made for.
#include <array>
#include <memory>
#include <vector>

#include <foliot/core/sync/note.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using seam::acquire;
using seam::relaxed;
using seam::release;
using seam::seq_cst;
using flag = seam::atomic<std::uint32_t>;

// A spin lock.

class spin_lock {
 public:
  void lock() {
    while (locked_.exchange(1, acquire) == 1) {
      while (locked_.load(relaxed) == 1) seam::spin_pause();
    }
  }
  void unlock() { locked_.store(0, release); }

 private:
  flag locked_{0};
};

void count_under_a_spin_lock() {
  spin_lock guard;
  seam::plain<int> count{0};
  const auto visit = [&] {
    guard.lock();
    ++count;
    guard.unlock();
  };
  seam::thread one("one", visit);
  seam::thread two("two", visit);
  visit();
  one.join();
  two.join();
  require(count == 3, "every visit must be counted");
}

TEST(Kernels, SpinLock) { holds_and_needs_its_orders({.name = "spin lock"}, count_under_a_spin_lock); }

// Peterson's lock: nothing but loads and stores, all of them seq_cst or separated by fences.

void peterson(bool fenced) {
  std::array<flag, 2> wants{};
  flag turn{0};
  seam::plain<int> inside{0};
  const auto visit = [&](std::uint32_t own) {
    const std::uint32_t other = 1 - own;
    wants[own].store(1, relaxed);
    turn.store(other, release);
    if (fenced) seam::atomic_thread_fence(seq_cst);
    while (wants[other].load(acquire) == 1 && turn.load(relaxed) == other) seam::spin_pause();
    ++inside;
    wants[own].store(0, release);
  };
  seam::thread other("other", [&] { visit(1); });
  visit(0);
  other.join();
}

void peterson_in_order() {
  std::array<flag, 2> wants{};
  flag turn{0};
  seam::plain<int> inside{0};
  const auto visit = [&](std::uint32_t own) {
    const std::uint32_t other = 1 - own;
    wants[own].store(1, seq_cst);
    turn.store(other, seq_cst);
    while (wants[other].load(seq_cst) == 1 && turn.load(seq_cst) == other) seam::spin_pause();
    ++inside;
    wants[own].store(0, seq_cst);
  };
  seam::thread other("other", [&] { visit(1); });
  visit(0);
  other.join();
}

TEST(Kernels, PetersonsLock) {
  holds({.name = "Peterson's lock, seq_cst", .preemptions = unlimited}, peterson_in_order);
  finds({.name = "Peterson's lock without its fence"}, "race on", [] { peterson(false); });
}

// Parking: the sleeping thread announces its sleep and looks for work again; the giving thread adds work and looks for
// a sleeping thread. Without a fence on each side both may look too early, and the wake-up is lost.

void park(bool sleeper_fences, bool giver_fences) {
  flag work{0};
  flag sleeping{0};
  note bell;
  seam::thread giver("giver", [&] {
    work.store(1, relaxed);
    if (giver_fences) seam::atomic_thread_fence(seq_cst);
    if (sleeping.load(relaxed) == 1) bell.wake();
  });
  sleeping.store(1, relaxed);
  if (sleeper_fences) seam::atomic_thread_fence(seq_cst);
  if (work.load(relaxed) == 0) bell.sleep_until(instant::never());
  require(work.load(relaxed) == 1, "woken for work");
  giver.join();
}

TEST(Kernels, Parking) {
  holds_and_needs_its_orders({.name = "parking", .preemptions = unlimited}, [] { park(true, true); },
                             {"note.cpp release -> relaxed"});  // the giver's fence does that as well
  finds({.name = "parking without the sleeper's fence"}, "deadlock", [] { park(false, true); });
  finds({.name = "parking without the giver's fence"}, "deadlock", [] { park(true, false); });
}

// A Treiber stack that is pushed onto by many and taken as a whole by one: an inbox.

class inbox {
 public:
  struct node {
    seam::plain<node*> next{nullptr};
    seam::plain<int> value{0};
  };

  /// Whether it was empty.
  bool push(node& n) {
    node* first = head_.load(relaxed);
    do {
      n.next = first;
    } while (!head_.compare_exchange_weak(first, &n, release, relaxed));
    return first == nullptr;
  }
  node* take_all() { return head_.exchange(nullptr, acquire); }

 private:
  seam::atomic<node*> head_{nullptr};
};

void fill_an_inbox() {
  inbox box;
  name(box, "box");
  std::array<inbox::node, 3> nodes;
  int sum = 0;
  const auto take = [&] {
    for (inbox::node* n = box.take_all(); n != nullptr; n = n->next) sum += n->value;
  };
  const auto push = [&](std::size_t which) {
    nodes[which].value = 1 << which;
    box.push(nodes[which]);
  };
  seam::thread one("one", [&] {
    push(0);
    push(1);
  });
  seam::thread two("two", [&] { push(2); });
  take();
  take();
  one.join();
  two.join();
  take();
  require(sum == 7, "each item must be taken once");
}

TEST(Kernels, Inbox) { holds_and_needs_its_orders({.name = "inbox"}, fill_an_inbox); }

/// A thread that finds the inbox empty wakes the owner, which sleeps only when it finds no item. The note keeps a
/// wake-up, so neither thread needs a fence.
void wake_for_an_inbox() {
  inbox box;
  note bell;
  std::array<inbox::node, 2> nodes;
  const auto push = [&](std::size_t which) {
    nodes[which].value = 1;
    if (box.push(nodes[which])) bell.wake();
  };
  seam::thread one("one", [&] { push(0); });
  seam::thread two("two", [&] { push(1); });
  for (int taken = 0; taken < 2;) {
    bell.clear();
    inbox::node* n = box.take_all();
    if (n == nullptr) {
      bell.sleep_until(instant::never());
      continue;
    }
    for (; n != nullptr; n = n->next) taken += n->value;
  }
  one.join();
  two.join();
}

TEST(Kernels, InboxThatWakesItsOwner) { holds({.name = "inbox with a note"}, wake_for_an_inbox); }

// A sequence lock: readers read the count twice, and the data between by relaxed loads.

void sequence_lock(order before_the_data, order after_the_data) {
  flag count{0};
  flag first{0};
  flag second{0};
  seam::thread writer("writer", [&] {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      count.store(2 * i - 1, relaxed);
      seam::atomic_thread_fence(before_the_data);
      first.store(i, relaxed);
      second.store(i, relaxed);
      count.store(2 * i, release);
    }
  });
  const std::uint32_t before = count.load(acquire);
  const std::uint32_t a = first.load(relaxed);
  const std::uint32_t b = second.load(relaxed);
  seam::atomic_thread_fence(after_the_data);
  if (before % 2 == 0 && count.load(relaxed) == before) require(a == b && a == before / 2, "one version");
  writer.join();
}

TEST(Kernels, SequenceLock) {
  holds_and_needs_its_orders({.name = "sequence lock"}, [] { sequence_lock(release, acquire); });
  finds({.name = "sequence lock, the writer's fence is of the wrong kind"}, "one version",
        [] { sequence_lock(acquire, acquire); });
}

// The deque of Chase and Lev, with the orders of Le, Pop, Cohen and Zappa Nardelli (PPoPP 2013). Of fixed
// size; the owner pushes and takes at the bottom, thieves steal at the top. Their push has a release fence
// before a relaxed store, and not a release store: since C++20 the relaxed stores of take() would not carry
// on what that released, and a thief that reads one of them might not see the item. Their exchanges are
// seq_cst and a thief's first load is an acquire; the fences make up for both, as the checker has it.

class deque {
 public:
  static constexpr int empty = -1;

  /// Which of its fences are there: canaries omit one.
  struct fences {
    bool push = true;
    bool take = true;
    bool steal = true;
  };

  explicit deque(fences with) : with_(with) {}

  void push(int item) {
    const int b = bottom_.load(relaxed);
    // No acquire of top is needed for space: the array never fills here.
    items_[static_cast<std::size_t>(b)].store(item, relaxed);
    if (with_.push) seam::atomic_thread_fence(release);
    bottom_.store(b + 1, with_.push ? relaxed : release);
  }

  int take() {
    const int b = bottom_.load(relaxed) - 1;
    bottom_.store(b, relaxed);
    if (with_.take) seam::atomic_thread_fence(seq_cst);
    int t = top_.load(relaxed);
    if (t > b) {
      bottom_.store(b + 1, relaxed);
      return empty;
    }
    int item = items_[static_cast<std::size_t>(b)].load(relaxed);
    if (t == b) {  // the last item: thieves may take it, too
      if (!top_.compare_exchange_strong(t, t + 1, relaxed)) item = empty;
      bottom_.store(b + 1, relaxed);
    }
    return item;
  }

  int steal() {
    int t = top_.load(relaxed);
    if (with_.steal) seam::atomic_thread_fence(seq_cst);
    if (t >= bottom_.load(acquire)) return empty;
    const int item = items_[static_cast<std::size_t>(t)].load(relaxed);
    return top_.compare_exchange_strong(t, t + 1, relaxed) ? item : empty;
  }

 private:
  seam::atomic<int> top_{0};
  seam::atomic<int> bottom_{0};
  std::array<seam::atomic<int>, 4> items_{};
  const fences with_;
};

void steal_and_take(deque::fences with, std::size_t thieves, std::size_t steals, std::size_t items) {
  deque jobs(with);
  std::array<seam::plain<int>, 3> data{};
  std::array<seam::plain<int>, 3> runs{};
  name(jobs, "jobs");
  const auto run = [&](int job) {
    if (job == deque::empty) return;
    require(data[static_cast<std::size_t>(job)] == job + 1, "the thread that takes an item must see it");
    ++runs[static_cast<std::size_t>(job)];
  };
  std::vector<seam::thread> others;
  for (std::size_t i = 0; i < thieves; ++i) {
    others.emplace_back("thief", [&] {
      for (std::size_t s = 0; s < steals; ++s) run(jobs.steal());
    });
  }
  for (std::size_t i = 0; i < items; ++i) {
    data[i] = static_cast<int>(i) + 1;
    jobs.push(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < items; ++i) run(jobs.take());
  for (seam::thread& each : others) each.join();
  for (int job = jobs.take(); job != deque::empty; job = jobs.take()) run(job);
  for (std::size_t i = 0; i < items; ++i) require(runs[i] == 1, "each job must run once");
}

TEST(Kernels, ChaseLevDeque) {
  holds({.name = "deque, a thief", .preemptions = unlimited}, [] { steal_and_take({}, 1, 2, 3); });
  holds_and_needs_its_orders({.name = "deque, two thieves"}, [] { steal_and_take({}, 2, 1, 3); });
}

TEST(Kernels, ChaseLevDequeWithoutItsFences) {
  finds({.name = "deque, no fence in take"}, "", [] { steal_and_take({.take = false}, 1, 2, 2); });
  finds({.name = "deque, no fence in steal"}, "", [] { steal_and_take({.steal = false}, 1, 2, 2); });
  finds({.name = "deque, a release store in push"}, "race on", [] { steal_and_take({.push = false}, 2, 1, 3); });
}

}  // namespace
}  // namespace foliot::model
