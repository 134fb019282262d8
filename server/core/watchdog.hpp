// The watchdog of the service manager (WatchdogSec= of the unit): it hears twice in its time that the server works, as
// long as that is so. If a task of the server stops, or a batch of the store takes longer than this time, it hears
// nothing, and the manager starts the server again.
//
// A server works if each task that is expected to go on has begun a round since the last time, and each broker with
// clients has executed an operation.
//
//   watchdog dog(manager, brokers, stores);
//   dog.expect([&] { return clients.rounds(); });         // a task that begins a round at least each dog.round()
//   if (dog.exists()) spawn(dog.feed(), "feeds the watchdog");
//
// Thread safety: one task; the functions that count are called by the task of feed().
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/task.hpp>

#include "opened_stores.hpp"
#include "running_brokers.hpp"
#include "service_manager.hpp"

namespace foliot::program {

class watchdog {
 public:
  /// All three must outlive it. Reads the environment.
  watchdog(const service_manager& manager, const running_brokers& brokers, const opened_stores& stores) noexcept
      : manager_(manager), brokers_(brokers), stores_(stores) {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// Whether the service manager wants to hear anything.
  [[nodiscard]] bool exists() const noexcept { return patience_ > duration::zero(); }
  /// At least so often a task that is expected to go on must begin a round; forever: there is no watchdog.
  [[nodiscard]] duration round() const noexcept;
  /// From now on the server works only if this number, of the rounds that a task has begun, grows.
  void expect(std::function<std::uint64_t()> rounds);
  /// Feeds the watchdog until a broker is closed or has failed. Goes on where memory is missing, or ends the process.
  [[nodiscard]] task<> feed();

 private:
  struct expected_task {
    std::function<std::uint64_t()> rounds;
    std::uint64_t seen = 0;
  };

  /// Whether all of them have gone on since the last call.
  [[nodiscard]] bool all_go_on();

  const service_manager& manager_;
  const running_brokers& brokers_;
  const opened_stores& stores_;
  const duration patience_ = watchdog_time();
  std::vector<expected_task> expected_;
};

}  // namespace foliot::program
