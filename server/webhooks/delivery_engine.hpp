// Delivers messages to targets over HTTP: libcurl's multi-socket interface, driven by foliot's runtime.
//
//   delivery_engine engine({}, rules);
//   auto serving = spawn(engine.run(), "webhooks");
//   …
//   auto turns = std::make_shared<target_turns>(limits, engine.room());
//   auto turn = co_await target_turns::enter(turns);            // before a job is taken
//   const delivery_answer answer = co_await engine.deliver(std::move(request), *std::move(turn));
//
// A delivery signs the request (webhook-id, webhook-timestamp, webhook-signature), POSTs it, and answers with what came
// of it; it settles its turn, so a target that is down opens its circuit, Retry-After holds it, and a 410 disables it.
// The engine tries once: whether and when to try again is the caller's policy.
//
// What a receiver can do to it is bounded: its headers, also of all 1xx answers together, the number of those, and
// what is read of its body. Nothing is unpacked. Success is a final answer of 2xx whose headers are in: what its body
// does then does not matter. Redirects are not followed. There are no cookies, no user's files (netrc), no proxies,
// also not those of the environment, and no protocol but https, or http if the operator's rules allow it.
//
// Addresses: libcurl asks for each socket before it connects, with the address that it will connect to, so a name
// cannot lead elsewhere between a look-up and the connect. Connections are kept alive and reused for the same origin.
// set_rules() drops all of them: deliveries under way go to their end on the old ones, and no new one uses them.
//
// How it is driven: libcurl's sockets are in a poller of the engine, which the runtime watches as one descriptor, and
// one timer of the runtime is set for the earliest thing that libcurl, or the engine, waits for. run() is the one task
// that serves both. deliver() hands the request to libcurl itself, under the engine's lock.
//
// What needs descriptors is made by run(), or by the first delivery: an engine that neither has happened to has none.
//
// Cancellation is certain: when the wait of deliver() throws `cancelled`, or its task is destroyed, the request is
// taken from libcurl before the stack unwinds: nothing more is sent, and the connection is closed unless it was idle.
//
// Lifetime: the engine must outlive run(), the tasks in deliver(), and all turns.
//
// Thread safety: any task. One lock, which is held while libcurl works: up to a TLS handshake's computation (a
// millisecond). O(log n) in the deliveries under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/task.hpp>

#include "address_rules.hpp"
#include "delivery.hpp"
#include "target_turns.hpp"

namespace foliot::program::webhooks {

struct engine_options {
  std::size_t most_at_once = 1024;  ///< deliveries of all targets, but for the first one of each
  std::size_t most_idle = 1024;     ///< connections that are kept for later
  duration connect_time = duration::nanoseconds(10'000'000'000);  ///< the part of a delivery's time-out for the connect
  /// How long the body of a 2xx may take, in which the connection may become free for the next delivery.
  duration body_time = duration::nanoseconds(1'000'000'000);
  std::size_t most_header_bytes = 16 * 1024;  ///< of an answer, with all 1xx before it
  std::size_t most_informational = 8;         ///< answers of 1xx
  std::size_t most_body_bytes = 64 * 1024;    ///< that are read of an answer; then the connection is closed
  std::size_t kept_body_bytes = 1024;         ///< of them, for the operator
  std::chrono::seconds longest_retry_after{3600};
  std::string authorities{};  ///< a file with certificates of authorities, in PEM; empty: the system's
  std::string user_agent = "foliot";
};

/// Since the engine was made, but where a comment says otherwise.
struct engine_metrics {
  std::uint64_t started = 0;
  std::uint64_t delivered = 0;
  std::uint64_t rejected = 0;
  std::uint64_t gone = 0;
  std::uint64_t not_sent = 0;
  std::uint64_t unknown = 0;
  std::uint64_t forbidden = 0;
  std::uint64_t cancelled = 0;   ///< given up by the caller
  std::uint64_t connects = 0;    ///< sockets that were opened
  std::uint64_t denied = 0;      ///< sockets that were not, by the rules
  std::uint64_t reused = 0;      ///< deliveries over a connection that was there
  std::uint64_t turns = 0;       ///< of the serving task
  std::size_t under_way = 0;     ///< now
  std::size_t open_sockets = 0;  ///< now
};

class delivery_engine {
 public:
  /// Throws std::runtime_error if libcurl cannot be used, std::bad_alloc.
  delivery_engine(engine_options options, address_rules rules);
  ~delivery_engine();
  delivery_engine(const delivery_engine&) = delete;
  delivery_engine& operator=(const delivery_engine&) = delete;

  /// Serves until the task is asked to stop, and then throws `cancelled`. Spawn it once at a time; deliveries wait
  /// while it does not run. Throws std::system_error if there are no descriptors for it, std::bad_alloc.
  [[nodiscard]] runtime::task<> run();

  /// Delivers. Throws std::invalid_argument for a request with a fault (fault_of()), `cancelled`, std::system_error if
  /// it is the first one and there are no descriptors, std::bad_alloc.
  [[nodiscard]] runtime::task<delivery_answer> deliver(delivery_request request, delivery_turn turn);

  /// The rules for all deliveries that begin from now on. Throws std::bad_alloc; the rules are then as before.
  void set_rules(address_rules rules);
  [[nodiscard]] address_rules rules() const;

  /// For the turns of targets.
  [[nodiscard]] shared_room& room() noexcept;
  [[nodiscard]] engine_metrics metrics() const;

 private:
  class core;
  class running_delivery;
  std::unique_ptr<core> core_;
};

}  // namespace foliot::program::webhooks
