// std::priority_queue with lazy deletion: a stop only marks. The entry that stays behind is dropped when it comes to
// the top, or with all of its kind when these outnumber the pending timers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "../workloads/one_thread.hpp"
#include "all.hpp"

namespace foliot::program::bench {

namespace {

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

class priority_queue_timers {
 public:
  struct timer {
    std::uint64_t payload = 0;
    std::uint32_t generation = 0;
    bool pending = false;
  };
  static constexpr time_kind time = time_kind::virtual_time;

  explicit priority_queue_timers(std::size_t count) : timers_(std::make_unique<timer[]>(count)) {
    queue_.reserve(count);
  }

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, instant now, duration delay) {
    each.pending = true;
    ++pending_;
    queue_.push({plain_sum(now, delay), static_cast<std::uint32_t>(&each - timers_.get()), ++each.generation});
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

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
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
      timer& due = timers_[top.index];
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
    const timer& owner = timers_[each.index];
    return !owner.pending || owner.generation != each.generation;
  }

  [[gnu::noinline]] void drop_stale() {
    queue_.drop([this](const entry& each) { return stale(each); });
  }

  std::unique_ptr<timer[]> timers_;
  lazy_queue queue_;
  std::size_t pending_ = 0;
};

}  // namespace

void add_priority_queue(roster& to) {
  add_timers<priority_queue_timers>(
      to.add("priority-queue"),
      "std::priority_queue with lazy deletion; up to half of its entries are of stopped timers");
}

}  // namespace foliot::program::bench
