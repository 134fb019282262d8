// What all connections of the beanstalk protocol share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task_mutex.hpp>

#include "commands.hpp"
#include "server/core/brokers.hpp"
#include "server/core/held_memory.hpp"
#include "statistics.hpp"
#include "tube_records.hpp"

namespace foliot::program::beanstalk {

/// The list of the tubes of all nodes. One client's session at a time asks the store for it. Another one that has
/// waited takes the same list, if its command came before the store was asked.
struct stored_list {
  /// How many sessions have asked. Sequentially consistent: who gets a ticket before a list begins is in the list.
  seam::atomic<std::uint64_t> tickets{0};
  /// The bytes of the latest list: what the next one may need. It orders nothing.
  seam::atomic<std::size_t> bytes{0};
  // The next three are guarded by `turn`.
  runtime::task_mutex turn;
  std::uint64_t as_of = 0;  ///< the answer is for tickets up to this one
  std::weak_ptr<const shared_text> latest;
  std::exception_ptr failure;            ///< why there was no answer; null: there was one
  const jobs::broker* failed = nullptr;  ///< whose failure it is: another broker's store may answer
};

/// Any task may use it. The counters order nothing.
class server_state {
 public:
  /// `memory`: what bounds the bytes of all connections.
  server_state(program::brokers with, std::size_t max_job_size, std::size_t max_tubes, held_memory& memory);
  /// One without a bound.
  server_state(program::brokers with, std::size_t max_job_size, std::size_t max_tubes)
      : server_state(std::move(with), max_job_size, max_tubes, unbounded_) {}

  const program::brokers brokers;
  held_memory& memory;
  const std::size_t max_job_size;
  const std::size_t max_tubes;
  tube_records tubes;
  stored_list list_of_store;
  std::array<seam::atomic<std::uint64_t>, verbs> commands{};
  seam::atomic<std::uint64_t> total_jobs{0};
  seam::atomic<std::uint64_t> total_connections{0};
  seam::atomic<std::uint64_t> connections{0};
  seam::atomic<std::uint64_t> producers{0};
  seam::atomic<std::uint64_t> workers{0};
  /// Whether new jobs are refused, until the server is started again.
  seam::atomic<bool> draining{false};

  void count(verb which) noexcept { ++commands[static_cast<std::size_t>(which)]; }
  /// All that `stats` shows but the counts of the jobs.
  [[nodiscard]] server_statistics statistics() const;

 private:
  held_memory unbounded_{std::numeric_limits<std::size_t>::max()};
  instant began_;
  std::uint64_t instance_;
};

}  // namespace foliot::program::beanstalk
