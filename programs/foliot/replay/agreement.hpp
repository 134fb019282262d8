// Checks that an engine finds the same sessions as the reference, which is an exact engine.
//
// Late firings are the only difference that is allowed. A session expires at the reference's instant or later, by at
// most the lateness of the engine. A client that comes back in the meantime continues its session where the reference
// has begun another one. So a session of the engine is a run of the reference's sessions of that client, each of which
// began before the previous one had to be over: its start is that of the first, its last request and its expiry belong
// to the last, and it has the requests of all. With a lateness of zero such a run is a single session.
//
//   agreement check(timer_service::lateness("linux-wheel", 30min));
//   for each stretch of the log:
//     for each session that the reference has ended: check.expect(session);
//     for each session that the engine has ended: check.add(session);
//     check.end_stretch();
//   check.finish();
//   if (check.broken()) …                       // check.difference() has the client and the difference
//
// The first difference is kept, and nothing is compared after it.
//
// Thread safety: none, one thread. O(1) a session, amortised. Memory: O(clients that are alive or late at once). It
// holds the reference's sessions that the engine has not ended yet; those of one client and earlier stretches are
// joined to one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "session_tracker.hpp"
#include "text_hash.hpp"

namespace foliot::program {

class agreement {
 public:
  struct finding {
    std::string client;
    std::string what;  ///< a clause with the engine as its subject: "has ended …"
  };

  /// For an engine that may be late by `lateness`. Precondition: that is not negative.
  explicit agreement(duration lateness) : lateness_(lateness), waiting_(0, keyed_hash::with_random_key()) {}

  /// The reference has ended a session. Precondition: the sessions of a client come in order.
  void expect(const ended_session& session);
  /// The engine has ended a session. Precondition: expect() has been called for all sessions that the reference ended
  /// while it handled the same requests.
  void add(const ended_session& session);
  /// Both have handled the same requests, and expect() and add() have been called for all sessions that they ended.
  void end_stretch() noexcept { ++stretch_; }
  /// Neither will end another session.
  void finish();

  [[nodiscard]] bool broken() const noexcept { return difference_.has_value(); }
  [[nodiscard]] const std::optional<finding>& difference() const noexcept { return difference_; }

 private:
  /// A session of the reference, or several that must be one of the engine's.
  struct part {
    instant start;
    instant last_request;
    std::uint64_t requests = 0;
    instant expired;
  };
  struct client_parts {
    std::vector<part> parts;
    std::uint64_t stretch = 0;  // of the latest call of expect()
  };

  /// Whether the engine may have continued `before` with `next`.
  [[nodiscard]] bool may_join(const part& before, const part& next) const noexcept {
    return next.start < before.expired + lateness_;
  }
  /// The engine has ended none of these in their stretches, so they must be one session of it.
  void join(std::string_view client, std::vector<part>& parts);
  void compare(const ended_session& session, const part& whole);
  void breaks(std::string_view client, std::string what);
  void not_ended(std::string_view client, const part& missing);

  const duration lateness_;
  std::unordered_map<std::string, client_parts, keyed_hash>
      waiting_;  // sessions that the engine has not ended; no list is empty
  std::uint64_t stretch_ = 0;
  std::optional<finding> difference_;
};

}  // namespace foliot::program
