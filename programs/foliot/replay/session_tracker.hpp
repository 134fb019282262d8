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
// The timers are those of a service, or of a runtime: by the engine's name.
//
// Invariants:
//   1. Before a request at t is handled, every session that is due at or before t has ended, in order.
//   2. The clock never goes back: a request earlier than it counts as now.
//   3. A client has at most one session at a time, and it has a session exactly while its timer is
//      pending.
//
// Thread safety: none, one thread. Memory: the live sessions, and with a runtime's timers some requests that have yet
// to be handled. O(log n) a request, in the sessions alive; no allocation for a client that has a session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/queue/wheel_shape.hpp>

#include "session_engine.hpp"

namespace foliot::program {

class session_tracker {
 public:
  /// What it throws comes out of the call of request(), settle() or finish() during which the session ended.
  using session_sink = program::session_sink;

  /// Throws std::invalid_argument for an engine that does not exist, and for a wheel that it cannot have. Precondition:
  /// idle is positive.
  session_tracker(std::string_view engine, duration idle, session_sink sink,
                  const std::optional<wheel_shape>& wheel = std::nullopt);

  /// The names of the engines there are: those of the services, and then those of runtimes.
  [[nodiscard]] static std::vector<std::string_view> engines();
  /// How late one of them may end a session. Throws as the constructor.
  [[nodiscard]] static duration lateness(std::string_view engine, duration idle,
                                         const std::optional<wheel_shape>& wheel = std::nullopt);

  /// Handles one request, now or by settle(). Precondition: `time + idle` can be counted (is not never).
  void request(std::string_view client, instant time) { engine_->request(client, time); }
  /// All requests that came so far have been handled.
  void settle() { engine_->settle(); }
  /// No request follows: time runs on until the last session has ended.
  void finish() { engine_->finish(); }

  // What follows is complete when all is settled.

  [[nodiscard]] std::uint64_t sessions() const noexcept { return engine_->sessions(); }
  [[nodiscard]] std::uint64_t out_of_order() const noexcept { return engine_->out_of_order(); }
  [[nodiscard]] const distinct_counter& clients() const noexcept { return engine_->clients(); }
  [[nodiscard]] service_counters timers() const { return engine_->timers(); }
  /// The processor time that it has taken on threads of its own.
  [[nodiscard]] duration spent_elsewhere() const noexcept { return engine_->spent_elsewhere(); }

 private:
  std::unique_ptr<session_engine> engine_;
};

}  // namespace foliot::program
