// Plays a plan on a service of its own, and returns the history.
//
// It runs in any world: its threads are the seam's, and a `setting` has the other differences.
//
// Thread safety: one thread calls play, which makes the threads of the plan.
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
  /// Makes a service of this engine.
  service_options options;
  /// Lets this time pass. Any thread.
  std::function<void(duration)> linger;
  /// Called at points where another thread may run.
  std::function<void()> pause;
  /// Returns when all timers that are due soon have fired; null in a world where that cannot be known. There no timer
  /// is stopped before the end to check that it had fired.
  std::function<void()> settle;
  /// Whether the threads wait for each other at their beginning: threads of the system take longer to start than the
  /// race takes.
  bool together = false;
  /// For a canary: a stop_and_wait of the history is in fact a stop.
  bool only_stops = false;
};

class round {
 public:
  round(const plan& followed, const setting& in);

  /// The history. complaint() has the failures that the history does not show.
  history play();

  /// A failure that was found without the checker: a timer fired early or never, or the counters do not add up.
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

  using caller = std::optional<std::size_t>;  // the timer whose callback calls, if any

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
