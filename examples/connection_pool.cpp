// A pool of connections, which closes those that nobody has used for a minute.
//
// Three traps:
// - take() races with the timeout, and a request gets a connection that is just being closed. Here the list under the
//   lock decides: a connection that was taken is not in the list, and the callback closes only what it finds there.
// - A pool that gives out its oldest connection uses all of them in turn, so none is ever idle. This one gives out the
//   youngest, and the rest of a peak is closed a minute later.
// - A timer in each connection is not needed. All of them wait equally long, so the list is in the order of their
//   deadlines, and one timer waits for the first of them.
#include <foliot/service.hpp>

#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

/// Stands for a socket. The number is its name.
class connection {
 public:
  explicit connection(int number) : number_(number) { std::printf("connection %d is opened\n", number_); }
  ~connection() { std::printf("connection %d is closed\n", number_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

 private:
  int number_;
};
using pooled = std::unique_ptr<connection>;

class connection_pool {
 public:
  connection_pool(foliot::timer_service& timers, foliot::duration most_idle)
      : timers_(timers), most_idle_(most_idle), first_due_(timers, [this] { close_idle(); }) {}

  pooled take() {
    std::unique_lock held(mutex_);
    if (idle_.empty()) {
      const int number = ++opened_;
      held.unlock();  // to connect takes time
      return std::make_unique<connection>(number);
    }
    pooled youngest = std::move(idle_.back().what);
    idle_.pop_back();
    return youngest;
  }

  void give_back(pooled used) {
    const std::lock_guard held(mutex_);
    idle_.emplace_back(std::move(used), timers_.now() + most_idle_);
    if (idle_.size() == 1) first_due_.reset_at(idle_.front().closes_at);
  }

 private:
  struct idle_connection {
    idle_connection(pooled idle, foliot::instant until) : what(std::move(idle)), closes_at(until) {}
    pooled what;
    foliot::instant closes_at;
  };

  void close_idle() {
    std::vector<pooled> closed;  // before the lock: they are closed after it is released
    const std::lock_guard held(mutex_);
    for (; !idle_.empty() && idle_.front().closes_at <= timers_.now(); idle_.pop_front()) {
      closed.push_back(std::move(idle_.front().what));
    }
    if (!idle_.empty()) first_due_.reset_at(idle_.front().closes_at);
  }

  foliot::timer_service& timers_;
  const foliot::duration most_idle_;
  std::mutex mutex_;
  int opened_ = 0;                    // guarded by mutex_
  std::deque<idle_connection> idle_;  // the one that was used last is at the end; guarded by mutex_
  foliot::timer first_due_;           // last, so that it goes first
};

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  connection_pool pool(timers, 1min);
  {
    std::vector<pooled> peak;
    for (int i = 0; i < 3; ++i) peak.push_back(pool.take());
    for (pooled& each : peak) pool.give_back(std::move(each));
  }
  for (int i = 0; i < 5; ++i) {  // afterwards one request at a time, every 20 s
    clock.advance(20s);
    pool.give_back(pool.take());
  }
  std::puts("no request any more");
  clock.advance(2min);
  std::puts("the end");
}
