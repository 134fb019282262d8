// What all connections of the beanstalk protocol share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

#include "serve/beanstalk/commands.hpp"
#include "serve/beanstalk/statistics.hpp"
#include "serve/beanstalk/tube_records.hpp"
#include "serve/brokers.hpp"

namespace foliot::program::beanstalk {

/// Any task may use it. The counters order nothing.
class server_state {
 public:
  server_state(program::brokers with, std::size_t max_job_size, std::size_t max_tubes);

  const program::brokers brokers;
  const std::size_t max_job_size;
  const std::size_t max_tubes;
  tube_records tubes;
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
  instant began_;
  std::uint64_t instance_;
};

}  // namespace foliot::program::beanstalk
