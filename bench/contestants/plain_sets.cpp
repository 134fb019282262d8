// Sets of timers without a library of timers.
//
// Floors, which no queue can undercut: the cost of the harness, and of the timer object itself.
//   floor-store  one store into the timer, for each start, stop and reset.
//   floor-load   reads the timer first and branches on its state: the least that a stop which returns whether the timer
//                was pending can do.
//
// std::multimap, deadline to timer, with the iterator kept in the timer: what a C++ programmer writes first. A reset
// moves the node within the tree (extract and insert), so that it allocates nothing. For threads there is a mutex
// around each call, and the deadline counts from a time that each thread reads every 64 operations. No thread takes out
// the due timers: only the calls are measured.
//
// std::priority_queue with lazy deletion: a stop only marks the timer. Its stale entry is dropped when it comes to the
// top, or with all stale entries when these outnumber the pending timers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "bench/roster.hpp"
#include "bench/workloads/crew.hpp"
#include "bench/workloads/one_thread.hpp"

namespace foliot::program::bench {

namespace {

// ---------------------------------------------------------------- floors

struct alignas(64) floor_timer {
  instant deadline{};
  std::uint64_t payload = 0;
  std::uint64_t pending = 0;
};

struct floor_timers : timer_array<floor_timer> {
  static constexpr time_kind time = time_kind::no_time;
  using timer_array::timer_array;

  template <class Sink>
  void refresh(instant /*now*/, Sink&& /*sink*/) {}
  template <class Sink>
  expiry expire(instant /*now*/, budget /*limit*/, Sink&& /*sink*/) {
    return {};
  }
};

struct store_timers : floor_timers {
  using floor_timers::floor_timers;
  void start(timer& each, instant now, duration delay) { each.deadline = plain_sum(now, delay); }
  bool stop(timer& each) {
    each.deadline = instant();
    return true;
  }
  void reset(timer& each, instant now, duration delay) { each.deadline = plain_sum(now, delay); }
};

struct load_timers : floor_timers {
  using floor_timers::floor_timers;
  void start(timer& each, instant now, duration delay) {
    if (each.pending != 0) return;
    each.pending = 1;
    each.deadline = plain_sum(now, delay);
  }
  bool stop(timer& each) {
    if (each.pending == 0) return false;
    each.pending = 0;
    return true;
  }
  void reset(timer& each, instant now, duration delay) {
    if (each.pending == 0) each.pending = 1;
    each.deadline = plain_sum(now, delay);
  }
};

// ---------------------------------------------------------------- multimap

struct multimap_timer;
using tree = std::multimap<instant, multimap_timer*>;
struct multimap_timer {
  tree::iterator node{};
  std::uint64_t payload = 0;
  bool pending = false;
};

class multimap_timers : public timer_array<multimap_timer> {
 public:
  static constexpr time_kind time = time_kind::virtual_time;
  using timer_array::timer_array;

  void start(timer& each, instant now, duration delay) {
    each.node = tree_.emplace(plain_sum(now, delay), &each);
    each.pending = true;
  }
  bool stop(timer& each) {
    if (!each.pending) return false;
    tree_.erase(each.node);
    each.pending = false;
    return true;
  }
  void reset(timer& each, instant now, duration delay) {
    if (!each.pending) return start(each, now, delay);
    auto node = tree_.extract(each.node);
    node.key() = plain_sum(now, delay);
    each.node = tree_.insert(std::move(node));
  }

  template <class Sink>
  void refresh(instant now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!tree_.empty() && tree_.begin()->first <= now) {
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      timer& due = *tree_.begin()->second;
      tree_.erase(tree_.begin());
      due.pending = false;
      ++turn.fired;
      sink(due);
    }
    return turn;
  }

 private:
  tree tree_;
};

class locked_multimap {
 public:
  struct hand {
    instant now{};
  };

  explicit locked_multimap(std::size_t count) : timers_(count) {}

  void make(std::size_t /*index*/) {}
  void start(const hand& mine, std::size_t index, duration delay) {
    const lock held(mutex_);
    timers_.start(timers_[index], mine.now, delay);
  }
  bool stop(const hand& /*mine*/, std::size_t index) {
    const lock held(mutex_);
    return timers_.stop(timers_[index]);
  }
  void reset(const hand& mine, std::size_t index, duration delay) {
    const lock held(mutex_);
    timers_.reset(timers_[index], mine.now, delay);
  }
  void refresh(hand& mine) { mine.now = monotonic_clock::instance().now(); }

 private:
  mutex mutex_{lock_rank::engine};  // around each call on timers_
  multimap_timers timers_;
};

// ---------------------------------------------------------------- priority queue

struct entry {
  instant deadline;
  std::uint32_t index;
  std::uint32_t generation;

  friend bool operator>(const entry& a, const entry& b) noexcept { return a.deadline > b.deadline; }
};

class lazy_queue : public std::priority_queue<entry, std::vector<entry>, std::greater<>> {
 public:
  void reserve(std::size_t count) { c.reserve(count); }
  template <class Stale>
  void drop(Stale&& stale) {
    std::erase_if(c, stale);
    std::ranges::make_heap(c, comp);
  }
};

struct lazy_timer {
  std::uint64_t payload = 0;
  std::uint32_t generation = 0;
  bool pending = false;
};

class priority_queue_timers : public timer_array<lazy_timer> {
 public:
  static constexpr time_kind time = time_kind::virtual_time;

  explicit priority_queue_timers(std::size_t count) : timer_array(count) { queue_.reserve(count); }

  void start(timer& each, instant now, duration delay) {
    each.pending = true;
    ++pending_;
    queue_.push({plain_sum(now, delay), static_cast<std::uint32_t>(&each - begin()), ++each.generation});
  }
  bool stop(timer& each) {
    if (!each.pending) return false;
    each.pending = false;
    --pending_;
    if (queue_.size() > 2 * pending_ + smallest_drop) drop_stale();
    return true;
  }
  void reset(timer& each, instant now, duration delay) {
    stop(each);
    start(each, now, delay);
  }

  template <class Sink>
  void refresh(instant now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    expiry turn;
    while (!queue_.empty() && queue_.top().deadline <= now) {
      const entry top = queue_.top();
      if (stale(top)) {
        queue_.pop();
        continue;
      }
      if (turn.fired == limit) {
        turn.more = true;
        break;
      }
      queue_.pop();
      timer& due = begin()[top.index];
      due.pending = false;
      --pending_;
      ++turn.fired;
      sink(due);
    }
    return turn;
  }

 private:
  static constexpr std::size_t smallest_drop = 64;

  bool stale(const entry& each) const noexcept {
    const timer& owner = begin()[each.index];
    return !owner.pending || owner.generation != each.generation;
  }

  [[gnu::noinline]] void drop_stale() {
    queue_.drop([this](const entry& each) { return stale(each); });
  }

  lazy_queue queue_;
  std::size_t pending_ = 0;
};

}  // namespace

void add_plain_sets(roster& to) {
  add_timers<store_timers>(to.add("floor-store"), "one store a call; nothing fires");
  add_timers<load_timers>(to.add("floor-load"), "reads the timer, then stores; nothing fires");
  add_timers<multimap_timers>(to.add("multimap"), "std::multimap; a reset allocates nothing");
  to.add("multimap", shared_by_threads(
                         [](const request& asked) { return std::make_unique<locked_multimap>(timers_of_all(asked)); }));
  add_timers<priority_queue_timers>(
      to.add("priority-queue"),
      "std::priority_queue with lazy deletion; up to half of its entries are of stopped timers");
}

}  // namespace foliot::program::bench
