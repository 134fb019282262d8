// std::priority_queue with lazy deletion: a stop only marks the timer. Its stale entry is dropped when it comes to the
// top, or with all stale entries when these outnumber the pending timers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "bench/roster.hpp"
#include "bench/workloads/one_thread.hpp"

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

void add_priority_queue(roster& to) {
  add_timers<priority_queue_timers>(
      to.add("priority-queue"),
      "std::priority_queue with lazy deletion; up to half of its entries are of stopped timers");
}

}  // namespace foliot::program::bench
