// The connections of one protocol, from the listener through access to the end: each has a task of its own, and all are
// ended together.
//
//   connections clients(beanstalk, door, log);            // a protocol, and who may come in
//   auto accepting = runtime::spawn(clients.accept_all(gate));
//   …
//   gate.close();
//   co_await accepting.join();
//   co_await clients.end(5s);
//
// Thread safety: one task, except for rounds().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "access.hpp"
#include "byte_stream.hpp"
#include "listener.hpp"
#include "protocol.hpp"
#include "server_log.hpp"

namespace foliot::program {

class connections {
 public:
  /// All three must outlive it. Throws std::bad_alloc.
  connections(protocol& with, access& who, const server_log& log) : protocol_(with), access_(who), log_(log) {}

  /// Accepts connections until the listener is closed, and ends the handshakes that last then: nobody waits for a
  /// client that is silent in one. Goes on where memory is missing, or ends the process (process_end.hpp). Counts each
  /// round, and begins one at least so often, also if no connection comes; never: it need not.
  [[nodiscard]] task<> accept_all(const listener& gate, duration round = duration::forever());
  /// How many rounds accept_all() has begun. Any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(seam::relaxed); }

  /// Lets each session end with the commands that it has read; closes what is left after `patience`. Returns when all
  /// sessions have ended. The listener must be closed.
  [[nodiscard]] task<> end(duration patience);

 private:
  /// So many clients are told at once that they may not come in, which takes a handshake; the others are closed.
  static constexpr std::size_t most_refusals = 256;

  using shared_stream = std::shared_ptr<byte_stream>;
  class listed;

  /// Null if the client has failed in its handshake, or has not ended it in time: then the connection is closed.
  task<std::unique_ptr<byte_stream>> open(const listener& gate, runtime::stream accepted);
  task<> serve_one(const listener& gate, runtime::stream accepted, access::place place,
                   runtime::wait_group::member ends);
  task<> refuse(const listener& gate, runtime::stream accepted, access_limit by, access::place place,
                runtime::wait_group::member ends);
  /// Takes the next connection. Returns false if the listener is closed.
  task<bool> accept_one(const listener& gate, duration round);
  void say_refused(access_limit by, const runtime::address& from) const;
  void say_closed(const char* why) const noexcept;
  [[nodiscard]] std::vector<shared_stream> all();

  protocol& protocol_;
  access& access_;
  const server_log& log_;
  runtime::cancel_context handshakes_ = runtime::with_cancel(runtime::background());  // done when accept_all() ends
  runtime::wait_group sessions_;
  runtime::wait_group refusals_;
  access refused_{most_refusals};          // the places of those that are told so
  seam::atomic<std::uint64_t> rounds_{0};  // written by the accepting task; publishes nothing
  mutex lock_{lock_rank::object};
  std::map<std::uint64_t, shared_stream> all_ FOLIOT_GUARDED_BY(lock_);  // in the order in which they came
  std::uint64_t last_ FOLIOT_GUARDED_BY(lock_) = 0;                      // of the keys of all_
  bool ending_ FOLIOT_GUARDED_BY(lock_) = false;
};

}  // namespace foliot::program
