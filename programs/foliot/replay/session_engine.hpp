// What finds the sessions, whatever its timers are: those of a service, or of a runtime.
//
// Thread safety: none, one thread at a time. Invariants: as session_tracker's, which is who uses this.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <foliot/core/callable.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/engine.hpp>

#include "../keyed_hash.hpp"
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

/// Gets every session when it ends, in the order of `expired`.
using session_sink = callable<void(ended_session&&)>;

class session_engine {
 public:
  virtual ~session_engine() = default;
  session_engine(const session_engine&) = delete;
  session_engine& operator=(const session_engine&) = delete;

  /// Handles a request, now or by settle().
  virtual void request(std::string_view client, instant time) = 0;
  /// All requests that came so far have been handled.
  virtual void settle() {}
  /// No request follows: time runs on until the last session has ended.
  virtual void finish() = 0;

  // What follows is complete when all is settled.

  [[nodiscard]] virtual service_counters timers() const = 0;
  /// The processor time that it has taken on threads of its own.
  [[nodiscard]] virtual duration spent_elsewhere() const noexcept { return duration::zero(); }
  [[nodiscard]] std::uint64_t sessions() const noexcept { return sessions_; }
  [[nodiscard]] std::uint64_t out_of_order() const noexcept { return out_of_order_; }
  [[nodiscard]] const distinct_counter& clients() const noexcept { return clients_; }

 protected:
  session_engine(duration idle, session_sink sink) : idle_(idle), sink_(std::move(sink)) {}

  /// Whether time has to move on before a request of that time: by advance, and then now_ is set. While time stands
  /// still there is nothing to fire, as idle_ is positive.
  [[nodiscard]] bool comes_later(instant time) noexcept {
    if (time < now_) ++out_of_order_;
    return time > now_;
  }
  /// What the next two take as the client's hash.
  [[nodiscard]] std::uint64_t hash_of(std::string_view client) const noexcept { return hash_(client); }
  /// A request at now_: of the session that it belongs to, whose timer is to be reset; null, when it begins one.
  [[nodiscard]] live_session* go_on(std::string_view client, std::uint64_t hash) noexcept;
  /// Its session, whose timer is to be made and started.
  [[nodiscard]] live_session& begin(std::string_view client, std::uint64_t hash);
  /// Its timer has fired. What the sink throws is kept for rethrow_failure.
  void end(const live_session& session) noexcept;
  void rethrow_failure();

  [[nodiscard]] instant deadline() const noexcept { return now_ + idle_; }

  const duration idle_;
  virtual_clock clock_{instant::earliest()};  // the first request moves it to its time
  instant now_ = clock_.now();                // what it shows

 private:
  const keyed_hash hash_ = keyed_hash::with_random_key();  // whoever writes the log chooses the clients
  session_sink sink_;
  std::exception_ptr failure_;  // what the sink threw first
  session_table live_;
  distinct_counter clients_;
  std::uint64_t sessions_ = 0;
  std::uint64_t out_of_order_ = 0;
};

}  // namespace foliot::program
