// Whether an engine finds the sessions that another one, which is exact, has found: the reference.
//
// Late firings are the only difference there may be. A session expires at the reference's instant or
// later, by less than the lateness that the engine is allowed or by just that. A client that comes back
// in the meantime goes on with its session where the reference has begun another; so what the engine
// has found is a run of the reference's sessions of that client, each of them begun before the one in
// front of it had to be over. Its start is that of the first, its last request and its expiry go by the
// last, and it has the requests of all. With a lateness of zero such a run is a single session.
//
//   agreement check(timer_service::lateness("linux-wheel", 30min));
//   for each stretch of the log:
//     for each session that the reference has ended: check.expect(session);
//     for each session that the engine has ended: check.add(session);
//     check.end_stretch();
//   check.finish();
//   if (check.broken()) …                       // check.difference() says where and how
//
// The first difference is kept; nothing is looked at after it.
//
// Thread safety: none, one thread. O(1) a session, amortised. Memory: the reference's sessions that the
// engine has not ended yet, those of one client and earlier stretches joined to one: as many as there
// are clients alive or late at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "../keyed_hash.hpp"
#include "session_tracker.hpp"

namespace foliot::program {

class agreement {
 public:
  struct finding {
    std::string client;
    std::string what;  ///< a clause with the engine as its subject: "has ended …"
  };

  /// For an engine that may be late by `lateness`, which is not negative.
  explicit agreement(duration lateness) : lateness_(lateness), waiting_(0, keyed_hash::with_random_key()) {}

  /// The reference has ended a session. Precondition: those of a client come in order.
  void expect(const ended_session& session);
  /// The engine has. Precondition: what the reference had ended when it had handled the same requests
  /// has been expected.
  void add(const ended_session& session);
  /// Both have handled the same requests, and all that they ended meanwhile has been told.
  void end_stretch() noexcept { ++stretch_; }
  /// Neither will end another session.
  void finish();

  [[nodiscard]] bool broken() const noexcept { return difference_.has_value(); }
  [[nodiscard]] const std::optional<finding>& difference() const noexcept { return difference_; }

 private:
  /// A session of the reference, or several that the engine must have taken for one.
  struct part {
    instant start;
    instant last_request;
    std::uint64_t requests = 0;
    instant expired;
  };
  struct client_parts {
    std::vector<part> parts;
    std::uint64_t stretch = 0;  // in which the last of them was expected
  };

  /// Whether the engine may take `next` for more of `before`.
  [[nodiscard]] bool may_join(const part& before, const part& next) const noexcept {
    return next.start < before.expired + lateness_;
  }
  /// The engine has ended none of these in the stretches that they ended in: it has joined them.
  void join(std::string_view client, std::vector<part>& parts);
  void compare(const ended_session& session, const part& whole);
  void breaks(std::string_view client, std::string what);
  void not_ended(std::string_view client, const part& missing);

  const duration lateness_;
  std::unordered_map<std::string, client_parts, keyed_hash> waiting_;  // for the engine; no list is empty
  std::uint64_t stretch_ = 0;
  std::optional<finding> difference_;
};

}  // namespace foliot::program
