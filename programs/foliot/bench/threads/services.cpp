// The project's services, shared by threads. `foliot` resets by a duration, with its own look at the clock,
// as Go's Reset has; `foliot-now` passes a deadline, from a time that the thread looks up every 64
// operations, as the event loops do.
//
// `goim` and `erlang-wheel` have as many heaps or wheels as there are threads, as their originals had several: goim one
// for each group of connections, Erlang one for each scheduler.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/service.hpp>

#include "../trials/trial_contestants.hpp"
#include "crew.hpp"

namespace foliot::program::bench {

namespace {

enum class deadlines { by_service, by_caller };

template <deadlines From>
class service_timers {
 public:
  struct hand {
    instant now{};
  };

  service_timers(std::size_t count, service_options options) : service_(std::move(options)), timers_(count) {
    service_.reserve(count);
  }

  void make(std::size_t index) {
    timers_[index] = timer(service_, [] {});
  }
  void start(const hand& mine, std::size_t index, std::int64_t delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) { return timers_[index].stop() == stop_result::stopped; }
  void reset(const hand& mine, std::size_t index, std::int64_t delay) {
    if constexpr (From == deadlines::by_caller) {
      timers_[index].reset_at(mine.now + duration::nanoseconds(delay));
    } else {
      timers_[index].reset(duration::nanoseconds(delay));
    }
  }
  void refresh(hand& mine) {
    if constexpr (From == deadlines::by_caller) mine.now = service_.now();
  }

 private:
  timer_service service_;
  std::vector<timer> timers_;
};

template <deadlines From>
trial_contestant shared_service(std::string name, std::string engine, std::string remark = {}) {
  trial_contestant made = shared_contestant(std::move(name), [engine](const trial& asked) {
    return std::make_unique<service_timers<From>>(timers_of_all(asked), service_options{.engine = engine});
  });
  made.remark = std::move(remark);
  return made;
}

/// So many shards where the engine can have them, else what it has by itself: 0.
std::size_t shards_of(const std::string& engine, std::size_t wanted) {
  try {
    return timer_service(service_options{.engine = engine, .shards = wanted}).shards();
  } catch (const std::invalid_argument&) {
    return 0;
  }
}

/// With a shard for each thread. `shards` is what one of them is called, for the remark.
trial_contestant shared_in_shards(const std::string& engine, std::string_view shards) {
  trial_contestant made = shared_contestant(engine, [engine](const trial& asked) {
    const std::size_t wanted = shards_of(engine, static_cast<std::size_t>(asked.threads));
    return std::make_unique<service_timers<deadlines::by_service>>(timers_of_all(asked),
                                                                   service_options{.engine = engine, .shards = wanted});
  });
  made.remark = fmt::format("in W5 with one {} for {}", shards,
                            shards_of(engine, 2) == 2 ? "each thread" : "all threads: the engine has no more");
  return made;
}

}  // namespace

void add_shared_services(std::vector<trial_contestant>& to) {
  to.push_back(shared_service<deadlines::by_service>("foliot", "foliot"));
  to.push_back(shared_service<deadlines::by_caller>("foliot-now", "foliot",
                                                    "foliot, told the time by its caller, each 64 operations"));
  to.push_back(shared_service<deadlines::by_service>("global-heap", "global-heap"));
  to.push_back(shared_service<deadlines::by_service>("bucket-heaps", "bucket-heaps"));
  to.push_back(shared_in_shards("goim", "heap"));
  to.push_back(shared_in_shards("erlang-wheel", "wheel"));
  to.push_back(shared_service<deadlines::by_service>("epoll-heap", "epoll-heap"));
}

}  // namespace foliot::program::bench
