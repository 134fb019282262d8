// A script: a sequence of a user's operations on a queue, as data, so that scripts can be made at random, shrunk,
// enumerated and printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::conformance {

/// One thing done to the queue.
struct step {
  enum class kind : std::uint8_t {
    reset,    ///< arm `timer` for now + `offset` (start, where it is not pending)
    stop,     ///< stop `timer`
    expire,   ///< move the clock on by `offset`, not back, and fire at most `limit`
    pop_any,  ///< take any timer out of the queue
  };
  kind what = kind::reset;
  std::size_t timer = 0;
  duration offset{};
  budget limit = unlimited;
};

/// An operation in a timer's callback: the k-th firing of the timer does its k-th reaction.
struct reaction {
  std::size_t timer = 0;  ///< whose firing it is
  step does;
};

struct script {
  instant origin{};
  std::vector<step> steps;
  std::vector<reaction> reactions;
};

inline std::ostream& operator<<(std::ostream& out, const step& s) {
  const auto offset = [&]() -> std::ostream& {
    return s.offset.is_forever() ? out << "for ever" : out << "by " << s.offset.count() << " ns";
  };
  switch (s.what) {
    case step::kind::reset: out << "reset timer " << s.timer << ", deadline ahead "; return offset();
    case step::kind::stop: return out << "stop timer " << s.timer;
    case step::kind::expire:
      out << "advance ";
      offset() << " and expire";
      if (s.limit != unlimited) out << " at most " << s.limit;
      return out;
    case step::kind::pop_any: return out << "pop any";
  }
  return out;
}

inline std::ostream& operator<<(std::ostream& out, const script& s) {
  out << "clock starts at " << s.origin.nanoseconds() << " ns\n";
  for (const step& each : s.steps) out << "  " << each << '\n';
  for (const reaction& each : s.reactions) {
    out << "  when timer " << each.timer << " fires: " << each.does << '\n';
  }
  return out;
}

}  // namespace foliot::conformance
