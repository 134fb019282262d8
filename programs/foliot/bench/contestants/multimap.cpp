// std::multimap, deadline to timer, with the iterator kept in the timer: what a C++ programmer writes
// first. A reset moves the node within the tree (extract and insert), so that it allocates nothing.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "../bout_of.hpp"
#include "contestants.hpp"

namespace foliot::program::bench {

namespace {

class multimap_timers {
 public:
  struct timer;
  using tree = std::multimap<std::int64_t, timer*>;
  struct timer {
    tree::iterator place{};
    std::uint64_t payload = 0;
    bool pending = false;
  };
  static constexpr time_kind time = time_kind::virtual_time;

  explicit multimap_timers(std::size_t count) : timers_(std::make_unique<timer[]>(count)) {}

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, std::int64_t now, std::int64_t delay) {
    each.place = tree_.emplace(now + delay, &each);
    each.pending = true;
  }
  bool stop(timer& each) {
    if (!each.pending) return false;
    tree_.erase(each.place);
    each.pending = false;
    return true;
  }
  void reset(timer& each, std::int64_t now, std::int64_t delay) {
    if (!each.pending) return start(each, now, delay);
    auto node = tree_.extract(each.place);
    node.key() = now + delay;
    each.place = tree_.insert(std::move(node));
  }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(std::int64_t now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(std::int64_t now, budget limit, Sink&& sink) {
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
  std::unique_ptr<timer[]> timers_;
  tree tree_;
};

}  // namespace

void add_multimap(std::vector<contestant>& to) {
  to.push_back(make_contestant<multimap_timers>("multimap", {}, "std::multimap; a reset allocates nothing"));
}

}  // namespace foliot::program::bench
