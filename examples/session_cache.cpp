// A cache of sessions, used by several threads. A session expires when it has not been used for a while.
//
// Each entry has a timer, which each get() resets. Two traps:
// - The expiry races with a get(): the callback may have begun, and wait for the lock that get() holds. Then reset()
//   returns `running`, and the callback runs again later. So the callback checks under the lock whether the entry has
//   really expired, and keeps an entry that was just used.
// - The destructor of a timer waits for its callback, and the callback takes the cache's lock: a thread that destroys
//   an entry under that lock waits for ever. So an entry leaves the map under the lock, and its timer ends afterwards.
#include <foliot/service.hpp>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

class session_cache {
 public:
  session_cache(foliot::timer_service& timers, foliot::duration time_to_live)
      : timers_(timers), time_to_live_(time_to_live) {}
  /// No other thread may use the cache any more. The entries are destroyed first, and with them their callbacks.
  ~session_cache() { clear(); }
  session_cache(const session_cache&) = delete;
  session_cache& operator=(const session_cache&) = delete;

  void put(const std::string& key, std::string value) {
    entry made;  // later the entry that was there before; destroyed last, without the lock
    made.value = std::move(value);
    made.end = foliot::timer(timers_, [this, key] { expire(key); });  // not started yet
    const std::lock_guard held(mutex_);
    made.expires_at = foliot::deadline_after(timers_.now(), time_to_live_);
    made.end.reset_at(made.expires_at);  // its callback waits for the lock
    std::swap(entries_[key], made);
  }

  std::optional<std::string> get(const std::string& key) {
    const std::lock_guard held(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    entry& used = found->second;
    used.expires_at = foliot::deadline_after(timers_.now(), time_to_live_);
    used.end.reset_at(used.expires_at);
    return used.value;
  }

  [[nodiscard]] std::size_t size() {
    const std::lock_guard held(mutex_);
    return entries_.size();
  }
  void clear() {
    entries all;
    const std::lock_guard held(mutex_);
    all.swap(entries_);
  }

 private:
  struct entry {
    std::string value;
    foliot::instant expires_at;
    foliot::timer end;
  };
  using entries = std::unordered_map<std::string, entry>;

  // By value: the callback's own key ends with its timer.
  void expire(std::string key) {
    // Its timer ends with this function, inside of its own callback: that is allowed.
    std::optional<entries::node_type> gone;
    const std::lock_guard held(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    if (timers_.now() < found->second.expires_at) return;  // just used
    gone = entries_.extract(found);
  }

  foliot::timer_service& timers_;
  const foliot::duration time_to_live_;
  std::mutex mutex_;
  entries entries_;
};

void a_quarter_of_an_hour() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  session_cache sessions(timers, 15min);
  sessions.put("alice", "basket: 2 books");
  sessions.put("bob", "basket: a lamp");
  clock.advance(10min);
  std::printf("after 10 minutes alice has %s\n", sessions.get("alice").value_or("nothing").c_str());
  clock.advance(5min);
  std::printf("after 15 minutes bob has %s\n", sessions.get("bob").value_or("nothing").c_str());
  clock.advance(10min);
  std::printf("after 25 minutes %zu sessions are left\n", sessions.size());
}

/// Real time: four threads use the sessions just as these expire.
void by_four_threads() {
  foliot::timer_service timers;
  session_cache sessions(timers, 100us);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&sessions, &wrong, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string key = std::to_string((i * 7 + t) % 20);
        if (const auto value = sessions.get(key); !value) {
          sessions.put(key, "of " + key);
        } else if (*value != "of " + key) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  while (sessions.size() > 0) foliot::sleep_for(timers, 1ms);
  std::printf("%d wrong answers, and all sessions have expired\n", wrong.load());
}

int main() {
  a_quarter_of_an_hour();
  by_four_threads();
}
