// The brokers of a server, with the tasks that run them, from the start of the server to its end.
//
// The server ends when a store fails. The run() of that store's broker ends then, so the server waits for the first end
// of a run.
//
// It must outlive the runtime: the end of a run may destroy tasks that use the brokers.
//
// Thread safety: one task; others may use all() and all_work().
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/event_buffer.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

#include "brokers.hpp"

namespace foliot::program {

class running_brokers {
 public:
  /// A broker for each of these stores, which must outlive this object.
  running_brokers(const std::vector<jobs::job_store*>& stores, const jobs::broker_limits& limits);
  running_brokers(const running_brokers&) = delete;
  running_brokers& operator=(const running_brokers&) = delete;

  /// Spawns their tasks. Call it once, and end() then, also if this throws.
  void start();

  [[nodiscard]] brokers all() const;
  [[nodiscard]] jobs::broker& first() const noexcept { return *all_.front(); }
  /// Has each broker that has clients execute an operation, side by side, because in an outage each may take seconds.
  /// Returns true when all have executed or refused it, and false if a broker cannot be asked. Throws std::bad_alloc,
  /// and what a broker throws that is closed or has failed.
  [[nodiscard]] task<bool> all_work() const;
  /// A case of a select: a broker's run has ended.
  [[nodiscard]] auto one_ended() const noexcept { return ended_.receive(); }
  /// Closes them, and waits until all that were started have ended. All clients must be gone. Returns what ended the
  /// first of them that has failed: store_failure if a store has. Throws std::bad_alloc, before it has begun.
  [[nodiscard]] task<std::exception_ptr> end();

 private:
  /// A value for each broker that has ended.
  struct ended_run {};

  static task<> run(jobs::broker& one, runtime::channel<ended_run> ended);
  /// all_work() of one.
  static task<bool> works(jobs::broker& one);

  jobs::event_buffer events_;  // of all of them
  std::vector<std::unique_ptr<jobs::broker>> all_;
  runtime::channel<ended_run> ended_;
  std::vector<runtime::join_handle<>> runs_;
};

}  // namespace foliot::program
