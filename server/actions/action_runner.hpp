// The task of a server that does the pieces of actions, one after the other: it claims the record of an action, takes a
// turn, and gives it back. So of several actions each gets its turns, and each node that has nothing to do takes the
// next one.
//
//   action_runner runner(broker, authority, largest_job);
//   auto running = runtime::spawn(runner.keep_on(), "actions");
//   … runner.wake();                       // an action was made, or started
//   runner.end();
//   co_await running.join();
//
// It looks for records when it is woken, and every ten seconds; where other nodes use the store every second. Between
// two turns it pauses for as long as the last one took, so that it never takes more than half of what the store can do;
// and for longer while many operations wait for the store.
//
// A node that dies in a turn has the record until the reservation ends: in the embedded store with the process, in
// PostgreSQL when the other nodes take the node for dead, or after `longest_turn`.
//
// Thread safety: keep_on() is one task; the others, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/task.hpp>

#include "action_turn.hpp"
#include "server/access/authority.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {

class action_runner {
 public:
  static constexpr duration longest_pause = duration::nanoseconds(1'000'000'000);
  /// So many operations that wait for the store are many.
  static constexpr std::size_t many_queued = 500;

  /// `who`: null if there are no access tokens. Both must outlive it. `largest_job`: the most bytes of a body.
  action_runner(jobs::broker& by, authority* who, std::size_t largest_job);
  action_runner(const action_runner&) = delete;
  action_runner& operator=(const action_runner&) = delete;

  /// Takes turns until end() is called, the broker is closed, or the store fails. Goes on where memory is missing.
  [[nodiscard]] task<> keep_on();
  /// A record may be there.
  void wake() noexcept;
  /// Whether there may be records: for clients that change jobs by their ids. Always where other nodes use the store.
  [[nodiscard]] server_jobs& records() noexcept { return records_; }
  /// No further turn begins.
  void end() noexcept;

 private:
  struct woken {};

  /// Claims a record and takes a turn. False: there is none.
  task<bool> take_one();
  /// Waits for a reason to look for records.
  task<> wait_for_work();
  task<> pause_after(duration turn);

  jobs::broker& by_;
  const action_turn::surroundings on_;
  runtime::channel<woken> wakes_{1};
  server_jobs records_;
  jobs::priority latest_ = 0;       // the greatest one of the records that were taken
  seam::atomic<bool> ends_{false};  // orders nothing
};

}  // namespace foliot::program
