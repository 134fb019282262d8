// std::multimap and a mutex around each call, the deadline from a time that each thread looks up every 64
// operations. Nobody takes out what is due: it is what the calls cost that is asked.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "../trials/trial_contestants.hpp"
#include "crew.hpp"

namespace foliot::program::bench {

namespace {

class locked_multimap {
 public:
  struct hand {
    std::int64_t now = 0;
  };

  explicit locked_multimap(std::size_t count) : timers_(count) {}

  void make(std::size_t /*index*/) {}
  void start(const hand& mine, std::size_t index, std::int64_t delay) {
    const lock held(mutex_);
    start_locked(timers_[index], mine.now + delay);
  }
  bool stop(const hand& /*mine*/, std::size_t index) {
    const lock held(mutex_);
    timer& each = timers_[index];
    if (!each.pending) return false;
    tree_.erase(each.place);
    each.pending = false;
    return true;
  }
  void reset(const hand& mine, std::size_t index, std::int64_t delay) {
    const lock held(mutex_);
    timer& each = timers_[index];
    if (!each.pending) return start_locked(each, mine.now + delay);
    auto node = tree_.extract(each.place);
    node.key() = mine.now + delay;
    each.place = tree_.insert(std::move(node));
  }
  void refresh(hand& mine) { mine.now = monotonic_clock::instance().now().nanoseconds(); }

 private:
  struct timer;
  using tree = std::multimap<std::int64_t, timer*>;
  struct timer {
    tree::iterator place{};
    bool pending = false;
  };

  void start_locked(timer& each, std::int64_t deadline) {
    each.place = tree_.emplace(deadline, &each);
    each.pending = true;
  }

  mutex mutex_{lock_rank::engine};  // around everything below
  std::vector<timer> timers_;
  tree tree_;
};

}  // namespace

void add_shared_multimap(std::vector<trial_contestant>& to) {
  to.push_back(shared_contestant(
      "multimap", [](const trial& asked) { return std::make_unique<locked_multimap>(timers_of_all(asked)); }));
}

}  // namespace foliot::program::bench
