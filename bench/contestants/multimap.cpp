// std::multimap, deadline to timer, with the iterator kept in the timer: what a C++ programmer writes first. A reset
// moves the node within the tree (extract and insert), so that it allocates nothing.
//
// For threads there is a mutex around each call, and the deadline counts from a time that each thread reads every 64
// operations. No thread takes out the due timers: only the calls are measured.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "bench/roster.hpp"
#include "bench/workloads/crew.hpp"
#include "bench/workloads/one_thread.hpp"

namespace foliot::program::bench {

namespace {

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

}  // namespace

void add_multimap(roster& to) {
  add_timers<multimap_timers>(to.add("multimap"), "std::multimap; a reset allocates nothing");
  to.add("multimap", shared_by_threads(
                         [](const request& asked) { return std::make_unique<locked_multimap>(timers_of_all(asked)); }));
}

}  // namespace foliot::program::bench
