// Idle-session detection, the work that timers do in every connection server.
//
// Each client has an idle timer. Its first request starts a session and the timer, every further one
// resets the timer to now + idle, and when the timer fires the session ends. Time is virtual: the
// clock shows what the log says.
//
//   session_tracker tracker("foliot", 30min, [](ended_session&& session) { … });
//   tracker.request("192.0.2.7", t);
//   tracker.finish();
//
// Invariants:
//   1. Before a request at t is handled, every session that is due at or before t has ended, in order.
//   2. The clock never goes back: a request earlier than it counts as now.
//   3. A client has at most one session at a time, and it has a session exactly while its timer is
//      pending.
//
// Thread safety: none, one thread. Memory: the live sessions. O(log n) a request, in the sessions
// alive; no allocation for a client that has a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/timer_service.hpp>

#include "distinct_counter.hpp"
#include "session_table.hpp"

namespace foliot::program {

/// A session that is over.
struct ended_session {
  std::string client;
  instant start;
  instant last_request;
  std::uint64_t requests = 0;
  instant expired;
};

class session_tracker {
 public:
  /// Gets every session when it ends, in the order of `expired`. What it throws comes out of the call
  /// of request() or finish() during which the session ended.
  using session_sink = callable<void(ended_session&&)>;

  /// Throws std::invalid_argument for an engine that does not exist. Precondition: idle is positive.
  session_tracker(std::string engine, duration idle, session_sink sink);
  session_tracker(const session_tracker&) = delete;
  session_tracker& operator=(const session_tracker&) = delete;

  /// Handles one request. Precondition: `time + idle` can be counted (is not never).
  void request(std::string_view client, instant time);
  /// No request follows: time runs on until the last session has ended.
  void finish();

  [[nodiscard]] std::uint64_t sessions() const noexcept { return sessions_; }
  [[nodiscard]] std::uint64_t out_of_order() const noexcept { return out_of_order_; }
  [[nodiscard]] const distinct_counter& clients() const noexcept { return clients_; }
  [[nodiscard]] service_counters timers() const noexcept { return service_.counters(); }

 private:
  void begin(std::string_view client, std::uint64_t hash);
  void end(const live_session& session);
  void advance_to(instant time);

  const duration idle_;
  session_sink sink_;
  std::exception_ptr failure_;                // what the sink threw
  virtual_clock clock_{instant::earliest()};  // the first request moves it to its time
  instant now_ = clock_.now();                // what it shows
  timer_service service_;
  session_table live_;
  distinct_counter clients_;
  std::uint64_t sessions_ = 0;
  std::uint64_t out_of_order_ = 0;
};

}  // namespace foliot::program
