// The replies to the three `stats` commands of the beanstalk protocol, as plain values that a session fills in.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <foliot/jobs/job.hpp>

#include "commands.hpp"

namespace foliot::program::beanstalk {

/// The part of `stats` about TLS.
struct tls_statistics {
  std::uint64_t ends = 0;       ///< when the certificate does, in seconds since 1970
  std::chrono::seconds left{};  ///< until then; zero afterwards
  std::uint64_t taken = 0;      ///< certificates, from the files, since the start
  bool is_refused = false;      ///< whether the files have something that cannot be used
  std::uint64_t failed = 0;     ///< handshakes, since the start
};

/// `stats`. The members are in the order in which the reply has them; what is not known is left out.
struct server_statistics {
  /// Whether the reply has what all clients together have done and what they cost. Without it there are only lines
  /// about the server itself, such as its version: for clients that may not see all tubes.
  bool tells_of_all_clients = true;
  std::optional<jobs::job_counts> counts;
  /// How often each command came, by its place in the table of commands.
  std::array<std::uint64_t, verbs> commands{};
  std::uint64_t job_timeouts = 0;
  std::uint64_t total_jobs = 0;  ///< put since the start
  std::uint64_t max_job_size = 0;
  std::optional<std::uint64_t> current_tubes;
  std::uint64_t current_connections = 0;
  std::uint64_t current_producers = 0;  ///< connections that have put
  std::uint64_t current_workers = 0;    ///< connections that have reserved
  std::uint64_t current_waiting = 0;    ///< connections that wait in a reserve
  std::uint64_t total_connections = 0;
  std::int64_t pid = 0;
  std::string version;
  std::chrono::microseconds user_time{};  ///< of the processor, as getrusage has it
  std::chrono::microseconds system_time{};
  std::chrono::seconds uptime{};
  std::uint64_t oldest_log = 0;  ///< the five numbers of beanstalkd's log; 0 where there is none like it
  std::uint64_t current_log = 0;
  std::uint64_t records_migrated = 0;
  std::uint64_t records_written = 0;
  std::uint64_t max_log_size = 0;
  bool draining = false;
  std::uint64_t instance = 0;  ///< a random number of this process
  std::string hostname;
  std::string os;
  std::string platform;
  std::uint64_t store_batches = 0;  ///< that the store was asked to execute, since the start
  std::uint64_t store_operations = 0;
  std::uint64_t store_refused_batches = 0;
  std::uint64_t store_refused_operations = 0;  ///< of batches that it has executed
  bool store_unavailable = false;              ///< whether it has refused the latest batch of a session
  std::uint64_t buffered_bytes = 0;            ///< that wait to be sent or executed
  std::uint64_t buffered_waiting = 0;          ///< connections that wait for room for more of them
  std::uint64_t buffered_closed = 0;           ///< connections that were closed because they held most
  std::uint64_t refused_connections = 0;       ///< because there were as many as there may be
  std::uint64_t refused_of_address = 0;        ///< because there were as many from their address
  std::uint64_t refused_of_token = 0;          ///< because there were as many by their access token
  std::uint64_t slow_clients = 0;              ///< connections that were closed because their clients did not go on
  std::optional<tls_statistics> tls;           ///< without TLS there is nothing to tell
};

/// `stats-tube`. Without counts their lines are left out.
struct tube_statistics {
  std::string name;
  std::optional<jobs::job_counts> counts;
  std::uint64_t total_jobs = 0;
  std::uint64_t using_it = 0;     ///< connections that use the tube
  std::uint64_t watching_it = 0;  ///< connections that watch it
  std::uint64_t waiting = 0;      ///< connections that wait in a reserve and watch it
  std::uint64_t deletes = 0;      ///< of jobs that were there
  std::uint64_t pauses = 0;
  std::chrono::seconds pause{};       ///< the length of the pause that lasts; zero without one
  std::chrono::seconds pause_left{};  ///< rounded down
};

/// `stats-job`.
struct job_statistics {
  jobs::job_id id = 0;
  std::string tube;
  jobs::job_state state = jobs::job_state::ready;
  jobs::priority priority = 0;
  std::chrono::seconds age{};  ///< all times are rounded down
  std::chrono::seconds delay{};
  std::chrono::seconds ttr{};
  std::chrono::seconds time_left{};  ///< until a delayed job is due, or a reservation ends; else zero
  std::uint64_t file = 0;            ///< of beanstalkd's log
  jobs::job_counters counters;
};

/// `x-stats-job`: the same, and what the beanstalk protocol has no words for.
struct extended_job_statistics {
  job_statistics job;
  std::string key;  ///< empty: the job has none
  jobs::utc_time due{};
  jobs::milliseconds ttr{};
  jobs::job_fields fields{};
  jobs::job_fields history{};
};

}  // namespace foliot::program::beanstalk
