// Idle-session detection, the work that timers do in every connection server.
//
// Each client has an idle timer. Its first request starts a session and the timer, every further one resets the timer
// to now + idle, and when the timer fires the session ends. Time is virtual: the clock shows the time of the log.
//
//   const auto tracker = make_session_tracker("foliot", 30min, [](ended_session&& session) { … });
//   tracker->request("192.0.2.7", t);
//   tracker->finish();
//
// The engine's name decides whose timers these are: a service's or a runtime's.
//
// Invariants:
//   1. Before a request at t is handled, every session that is due at or before t has ended, in order.
//   2. The clock never goes back: a request earlier than it counts as now.
//   3. A client has at most one session at a time, and it has a session exactly while its timer is pending.
//
// Thread safety: none, one thread. Memory: the live sessions, and with a runtime's timers some requests that have yet
// to be handled. O(log n) a request, in the sessions alive; no allocation for a client that has a session.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/queue/wheel_shape.hpp>
#include <foliot/service/statistics.hpp>

#include "distinct_counter.hpp"
#include "session_table.hpp"
#include "text_hash.hpp"

namespace foliot::program {

/// A session that is over.
struct ended_session {
  std::string client;
  instant start;
  instant last_request;
  std::uint64_t requests = 0;
  instant expired;
};

/// Receives every session when it ends, in the order of `expired`. Its exceptions leave the call of request(),
/// settle() or finish() during which the session ended.
using session_sink = callable<void(ended_session&&)>;

/// Does all but the timers, which derived classes keep.
class session_tracker {
 public:
  virtual ~session_tracker() = default;
  session_tracker(const session_tracker&) = delete;
  session_tracker& operator=(const session_tracker&) = delete;

  /// Handles one request, now or by the next settle(). Precondition: `time + idle` is not never.
  virtual void request(std::string_view client, instant time) = 0;
  /// Returns when all requests so far have been handled.
  virtual void settle() {}
  /// No request follows: time runs on until the last session has ended.
  virtual void finish() = 0;

  // The following are complete when all requests have been handled.

  [[nodiscard]] virtual service_counters timers() const = 0;
  /// The processor time that the tracker has taken on threads of its own.
  [[nodiscard]] virtual duration spent_elsewhere() const noexcept { return duration::zero(); }
  [[nodiscard]] std::uint64_t sessions() const noexcept { return sessions_; }
  [[nodiscard]] std::uint64_t out_of_order() const noexcept { return out_of_order_; }
  [[nodiscard]] const distinct_counter& clients() const noexcept { return clients_; }

 protected:
  session_tracker(duration idle, session_sink sink) : idle_(idle), sink_(std::move(sink)) {}

  /// Whether time has to move on before a request of that time is handled; the caller must then move clock_, and set
  /// now_. While time stands still nothing becomes due, as idle_ is positive.
  [[nodiscard]] bool comes_later(instant time) noexcept {
    if (time < now_) ++out_of_order_;
    return time > now_;
  }
  /// The hash that the next two functions take.
  [[nodiscard]] std::uint64_t hash_of(std::string_view client) const noexcept { return hash_(client); }
  /// A request at now_: returns the session that it belongs to, whose timer the caller must reset; null if the client
  /// has none.
  [[nodiscard]] live_session* go_on(std::string_view client, std::uint64_t hash) noexcept;
  /// Begins a session, whose timer the caller must make and start.
  [[nodiscard]] live_session& begin(std::string_view client, std::uint64_t hash);
  /// Ends a session; its timer must call this when it fires. An exception of the sink is kept for rethrow_failure().
  void end(const live_session& session) noexcept;
  void rethrow_failure();

  [[nodiscard]] instant deadline() const noexcept { return now_ + idle_; }

  const duration idle_;
  virtual_clock clock_{instant::earliest()};  // the first request moves it to its time
  instant now_ = clock_.now();                // the instant that the clock shows

 private:
  const keyed_hash hash_ = keyed_hash::with_random_key();  // for the writer of a log chooses the names of clients
  session_sink sink_;
  std::exception_ptr failure_;  // the first that the sink threw
  session_table live_;
  distinct_counter clients_;
  std::uint64_t sessions_ = 0;
  std::uint64_t out_of_order_ = 0;
};

/// Throws std::invalid_argument for an engine that does not exist, or that cannot have this wheel. Precondition: idle
/// is positive.
[[nodiscard]] std::unique_ptr<session_tracker> make_session_tracker(
    std::string_view engine, duration idle, session_sink sink, const std::optional<wheel_shape>& wheel = std::nullopt);

/// The names of the engines: those of the services, and then those of runtimes.
[[nodiscard]] std::vector<std::string_view> session_engines();

/// How late such an engine may end a session. Throws as make_session_tracker().
[[nodiscard]] duration session_lateness(std::string_view engine, duration idle,
                                        const std::optional<wheel_shape>& wheel = std::nullopt);

}  // namespace foliot::program
