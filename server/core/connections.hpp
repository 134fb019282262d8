// The connections of a listener: they are accepted, counted and limited here, and ended together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "server_log.hpp"

namespace foliot::program {

class connections {
 public:
  /// Serves one connection until it has ended. The stream lives as long as the task.
  using protocol = std::function<task<>(const runtime::stream&)>;

  /// `refusal` is what a client gets that comes when there are `most` connections.
  connections(protocol with, std::size_t most, std::string refusal, const server_log& log)
      : serve_(std::move(with)), most_(most), refusal_(std::move(refusal)), log_(log) {}

  /// Accepts connections until the listener is closed. Goes on where memory is missing, or ends the process
  /// (process_end.hpp). Counts each round, and begins one at least so often, also if no connection comes; never: it
  /// need not.
  [[nodiscard]] task<> accept_all(const runtime::listener& gate, duration round = duration::forever());
  /// How many rounds accept_all() has begun. Any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(seam::relaxed); }

  /// Lets each session end with the commands that it has read; closes what is left after `patience`. Returns when all
  /// sessions have ended. The listener must be closed.
  [[nodiscard]] task<> end(duration patience);

 private:
  using shared_stream = std::shared_ptr<runtime::stream>;
  class listed;

  task<> serve_one(shared_stream peer, runtime::wait_group::member ends);
  task<> refuse(runtime::stream peer, runtime::wait_group::member ends);
  void begin(runtime::stream peer);
  /// Takes the next connection. Returns false if the listener is closed.
  task<bool> accept_one(const runtime::listener& gate, duration round);
  void say_closed(const char* why) const noexcept;
  [[nodiscard]] std::vector<shared_stream> all();

  const protocol serve_;
  const std::size_t most_;
  const std::string refusal_;
  const server_log& log_;
  runtime::wait_group sessions_;
  runtime::wait_group refusals_;
  seam::atomic<std::uint64_t> rounds_{0};  // written by the accepting task; publishes nothing
  mutex lock_{lock_rank::object};
  std::map<std::uint64_t, shared_stream> all_ FOLIOT_GUARDED_BY(lock_);  // in the order in which they came
  std::uint64_t last_ FOLIOT_GUARDED_BY(lock_) = 0;                      // of the keys of all_
  bool ending_ FOLIOT_GUARDED_BY(lock_) = false;
};

}  // namespace foliot::program
