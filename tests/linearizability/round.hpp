// Plays a plan on a service of its own, and returns the history that was seen.
//
// In any world: threads are the seam's, and a `setting` says what else differs.
//
// Thread safety: play is for one thread, and makes those of the plan.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <foliot/core/seam/sync.hpp>
#include <foliot/service.hpp>

#include "history.hpp"
#include "plan.hpp"
#include "specification.hpp"

namespace foliot::linearizability {

struct setting {
  /// A service of this engine.
  service_options options;
  /// Passes this time, on any thread.
  std::function<void(duration)> linger;
  /// Another thread may go on here.
  std::function<void()> pause;
  /// Returns when all timers that are due soon have fired; null in a world where that cannot be known: there no timer
  /// is stopped before the end in order to see that it had fired.
  std::function<void()> settle;
  /// The threads begin together: for those of the system, which take longer to begin than to race.
  bool together = false;
  /// A canary's: what is said to be a stop_and_wait is a stop.
  bool only_stops = false;
};

class round {
 public:
  round(const plan& followed, const setting& in);

  /// What was seen. What is wrong beyond that: `complaint`.
  history play();

  /// What can be said without the checker: a timer was early, or never fired, or the counters do not add up.
  [[nodiscard]] const std::optional<std::string>& complaint() const { return complaint_; }

  round(const round&) = delete;
  round& operator=(const round&) = delete;

 private:
  /// Captured by closures: records when it is destroyed.
  class mourner {
   public:
    mourner(round& told, std::size_t timer) noexcept : told_(&told), timer_(timer) {}
    mourner(mourner&& other) noexcept : told_(std::exchange(other.told_, nullptr)), timer_(other.timer_) {}
    ~mourner();
    round& told() const noexcept { return *told_; }
    std::size_t timer() const noexcept { return timer_; }

   private:
    round* told_;
    std::size_t timer_;
  };

  struct watched : timer {
    using timer::timer;
    [[nodiscard]] const detail::engine* shard() const { return &record().owner(); }
  };

  using caller = std::optional<std::size_t>;  // the timer inside whose callback, if any

  void make_timer(std::size_t index);
  void race(std::size_t thread);
  void do_one(const deed& one, caller inside);
  void reset(const deed& one, caller inside);
  void fired(std::size_t timer, const firing& now);
  void end();
  void check_counters(const history& seen);

  template <class Call>
  void record(verb what, std::size_t timer, caller inside, Call call);
  void put(const operation& seen);
  moment now() { return clock_.fetch_add(1); }
  void complain(const char* what);

  const plan& plan_;
  const setting& setting_;
  std::optional<timer_service> service_;
  std::array<std::optional<watched>, most_timers> handles_;
  std::array<std::atomic<bool>, most_timers> has_fired_{};
  std::array<std::atomic<bool>, most_timers> may_stay_pending_{};
  std::array<const detail::engine*, most_timers> shards_{};

  std::atomic<std::size_t> ready_{0};
  std::atomic<moment> clock_{1};
  std::atomic<std::size_t> recorded_{0};
  std::array<operation, most_operations> operations_;
  std::atomic<const char*> first_complaint_{nullptr};
  std::optional<std::string> complaint_;
};

}  // namespace foliot::linearizability
