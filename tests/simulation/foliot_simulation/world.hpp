// A simulated machine: threads are fibers on one thread of the test, time is virtual, and a seed decides
// every schedule, so that a run repeats exactly.
//
// foliot's shipped sources are compiled with this side of the seams and so meet this world there: each
// operation on a seam::atomic, each futex call and each look at the clock is a point at which another
// thread may go on. Memory is sequentially consistent here; weak orders are not explored.
//
// Time moves on by a nanosecond or so with every look at the clock, jumps to the next deadline when all
// threads are blocked, and may drift at any point if `drift` says so. When all are blocked and none
// has a deadline, that is a deadlock, and the run's failure; so is a world that does not end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <foliot/core/instant.hpp>
#include <foliot/core/readiness.hpp>
#include <foliot/core/seam/alarm.hpp>

namespace foliot::simulation {

/// What may go wrong in a world. Everything is off by default.
struct faults {
  bool interrupts = false;          ///< waits end with EINTR, and for no reason at all
  bool early_timeouts = false;      ///< waits say that their deadline has come when it has not
  duration drift{};                 ///< how far time may jump at any point
  std::uint64_t drop_wake = 0;      ///< the n-th futex_wake with a sleeper is lost (0: none); a canary's
  std::uint64_t refuse_thread = 0;  ///< the n-th thread cannot be created (0: none)
};

/// Runs `main` as the first thread of a world until all of its threads have ended. Returns what went
/// wrong first: a deadlock, or the message of fail(). Objects of a world that failed are never destroyed.
std::optional<std::string> run(std::uint64_t seed, const faults& with, const std::function<void()>& main);

/// Runs a world for each of `count` seeds, and reports the first failure to GoogleTest with the seed
/// and how to repeat it: FOLIOT_SIMULATION_SEED=N in the environment runs that one alone, and
/// FOLIOT_SIMULATION_WORLDS=N runs another number of them, and FOLIOT_SIMULATION_FIRST=N those from that seed on.
void explore(std::uint64_t count, const faults& with, const std::function<void()>& main);

/// For canaries: the seeds until a world fails, or nothing if all of `count` succeed.
std::optional<std::uint64_t> first_failure(std::uint64_t count, const faults& with, const std::function<void()>& main);

// Inside a world:

/// If the condition is false, ends this world with the failure `message`, and does not return.
void require(bool condition, const std::string& what);
/// A random number below `bound`, decided by the seed.
std::uint64_t choose(std::uint64_t bound);
/// Another thread may go on here.
void point();
/// Runs the other threads until all of them are blocked, without letting time jump.
void settle();
/// The machine was suspended for this long, which the monotonic clock does not show.
void suspend(duration length);
/// A user sets the wall clock, forward or back.
void step_wall_clock(duration by);
/// Blocks the calling thread for this long.
void pass_time(duration length);
/// A futex wait; if there is a bell, its ring ends the wait too.
seam::wait_status sleep_on(const seam::atomic<std::uint32_t>& word, std::uint32_t expected, instant deadline,
                           const seam::alarm* bell);
/// Whether the bell has rung and no poller has reported it yet: at most once for each time that it is set.
bool tell_of_ring(const seam::alarm& bell);

/// How often a thread has come back from the wait for an alarm in this world.
std::uint64_t rings();

/// A file descriptor that is ready when the test says so.
class descriptor {
 public:
  descriptor() noexcept;
  ~descriptor();
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int number() const noexcept { return number_; }
  /// Sets the readiness that the descriptor has from now on.
  void become(readiness ready);
  [[nodiscard]] readiness ready() const noexcept { return ready_; }

 private:
  int number_;
  readiness ready_ = readiness::none;
};

}  // namespace foliot::simulation
