// Queues that are broken on purpose, for the fuzzer and its corpus to find. Both fire a nanosecond early at
// the edges of a wheel's level: the one always, so that the seeds find it; the other only what a
// callback has moved there, so that it takes a script that is not among them.
#pragma once

#include <cstdint>
#include <string_view>

#include "queue/conformance/all_queues.hpp"

namespace foliot::conformance {

/// Whether slots of 4 µs begin at `t`, and with them some of every level below.
constexpr bool at_an_edge(instant t) noexcept { return t.nanoseconds() % 4096 == 0; }

class early_at_edges : public small_foliot_queue {
 public:
  static constexpr std::string_view name = "early-at-edges";

  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    constexpr duration instant_long = duration::nanoseconds(1);
    return small_foliot_queue::expire(at_an_edge(now + instant_long) ? now + instant_long : now, limit, sink);
  }
};

class early_after_a_move : public small_foliot_queue {
 public:
  static constexpr std::string_view name = "early-after-a-move";

  bool reset(node_type& node, instant deadline) {
    if (expiring_ && node.pending()) {
      if (at_an_edge(deadline)) moved_to_ = deadline;
    }
    return small_foliot_queue::reset(node, deadline);
  }
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    if (!moved_to_.is_never() && now + duration::nanoseconds(1) == moved_to_) now = moved_to_;
    expiring_ = true;
    const expiry turn = small_foliot_queue::expire(now, limit, sink);
    expiring_ = false;
    return turn;
  }

 private:
  bool expiring_ = false;
  instant moved_to_ = instant::never();
};

}  // namespace foliot::conformance
