// What `foliot serve` is asked to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>

#include "named_proxies.hpp"
#include "server/metrics/tube_choice.hpp"
#include "tls_files.hpp"

namespace foliot::program {

struct serve_options {
  /// The folder of the embedded store; empty: jobs are kept in memory, or in a database.
  std::string folder = "foliot-data";
  /// The PostgreSQL database of the jobs, as a connection string of libpq; empty: they are not in one. It may hold a
  /// password: it must not be shown.
  std::string database;
  /// The name of this node among those of the database.
  std::string node;
  /// How many sessions the node has with the database: so many batches are executed at once.
  std::size_t sessions = 2;
  /// When the other nodes take this one for dead, if they hear nothing of it.
  duration node_timeout = std::chrono::seconds(10);
  /// Whether a store whose log is damaged is opened without what lies behind the damage.
  bool salvage = false;
  /// How long an acknowledged change may stay unsynced; none: it is synced before it is acknowledged.
  std::optional<duration> sync_every;
  /// Where clients of the beanstalk protocol connect; none: nowhere.
  std::optional<runtime::address> beanstalk;
  /// The file of access tokens, which clients must have; empty: they need none.
  std::string tokens;
  /// The files of TLS, which all listeners then speak; none: connections are in plain.
  tls_files tls;
  /// Where clients of HTTP connect; none: nowhere.
  std::vector<runtime::address> http;
  /// Where /health, /ready and /metrics are asked for, and nothing else is; none: nowhere.
  std::vector<runtime::address> metrics;
  /// The tubes that have metrics of their own.
  tube_choice metrics_tubes;
  /// Whether nobody has asked for that address: where it is in use, the server does without it.
  bool http_is_default = false;
  /// The names by which clients of HTTP reach the server, besides those of loopback.
  std::vector<std::string> hosts;
  /// The proxies between clients of HTTP and the server that are believed where a request comes from.
  std::vector<network> proxies;
  /// Which targets tubes may have, as rules of server/webhooks/address_rules.hpp; none: no target.
  std::vector<std::string> webhook_allow;
  /// Prefixes of NAT64, behind which the IPv4 address of a target is vetted.
  std::vector<std::string> webhook_nat64;
  bool webhook_allows_http = false;
  /// The file of the secrets by which deliveries are signed; empty: there are none.
  std::string webhook_secrets;
  /// Certificates of the authorities that targets are verified by; empty: the system's.
  std::string webhook_authorities;
  std::size_t max_job_size = 65'535;
  std::size_t max_connections = 10'000;
  /// From one address, and by one access token, for which a request over HTTP counts while it runs; 0: as many as there
  /// may be at all.
  std::size_t max_connections_per_address = 0;
  std::size_t max_connections_per_token = 0;
  /// Requests over HTTP and commands of beanstalk, see rate_limits; 0: any number.
  std::uint64_t requests_per_second_per_address = 0;
  std::uint64_t requests_per_second_per_token = 0;
  /// So many of them may come at once after a silence; 0: as many as in a second.
  std::uint64_t request_burst = 0;
  /// For so long a client of beanstalk may send nothing more of a command that it has begun, and take nothing of its
  /// answers.
  duration client_timeout = std::chrono::minutes(10);
  std::size_t max_tubes = 100'000;
  /// Bytes that wait to be sent to clients or to be executed, of all connections; 0: default_max_buffered().
  std::uint64_t max_buffered = 0;
  /// 0: as many as the disk or the memory holds.
  std::uint64_t max_jobs = 0;
  /// Bytes of the jobs in memory; 0: no limit. Not for a store on disk.
  std::uint64_t max_memory = 0;
  /// Where the server shows its runtime to `foliot top`: the path of a local socket; empty: nowhere.
  std::string statistics;
  /// Whether only warnings and failures are logged.
  bool quiet = false;
};

/// The largest --max-job-size, as beanstalkd's.
inline constexpr std::size_t most_job_size = std::size_t{1} << 30;
/// The same with --store.
inline constexpr std::size_t most_job_size_in_database = std::size_t{16} << 20;

/// The longest name of a node in bytes: with the number of a session it is not too long for the database.
inline constexpr std::size_t longest_node = 180;
/// The most --sessions.
inline constexpr std::size_t most_sessions = 32;
/// The shortest and the longest --node-timeout.
inline constexpr duration least_node_timeout = std::chrono::seconds(1);
inline constexpr duration longest_node_timeout = std::chrono::hours(24);

/// The shortest --client-timeout.
inline constexpr duration least_client_timeout = std::chrono::seconds(1);

/// Serves until a signal ends it. Throws failure.
void serve(const serve_options& options);

/// Walks all of the store in `folder` and prints what it found. Throws failure, with exit_code::bad_input where the
/// store is damaged.
void check_store(const std::string& folder);
/// The same for the store in a database, which nodes may use meanwhile.
void check_database(const std::string& database);

/// Makes the schema of the store in the database, or brings it up to date, and prints what it did. Throws failure.
void migrate_database(const std::string& database);

/// What keeps strangers from a listener.
struct locks {
  bool tls = false;       ///< its connections are encrypted, and clients can know who the server is
  bool tokens = false;    ///< it demands access tokens of its clients
  bool insecure = false;  ///< the user permits that one of these is missing; switches off neither
};

/// The address of a listener: what find_address_to_listen_at() takes; nothing for `off`. A text that is no address is a
/// failure, and so is any other address than loopback or a path where a lock is missing; both name `option`.
[[nodiscard]] std::optional<runtime::address> listen_address(const std::string& option, const std::string& text,
                                                             const locks& has);

/// Where clients of HTTP connect unless the user says so: at a port of loopback, if clients of beanstalk connect to a
/// port of loopback. Elsewhere nowhere, so that a new version opens no door to those who have had none.
[[nodiscard]] std::optional<runtime::address> default_http_address(const std::optional<runtime::address>& beanstalk);

/// The addresses of --http: one listen_address() for each text; none if the only one is `off`. Throws failure.
[[nodiscard]] std::vector<runtime::address> http_addresses(const std::vector<std::string>& texts, const locks& has);

/// The same of --metrics.
[[nodiscard]] std::vector<runtime::address> metrics_addresses(const std::vector<std::string>& texts, const locks& has);

/// The patterns of --metrics-tubes. Throws failure.
[[nodiscard]] std::vector<std::string> tube_patterns(const std::vector<std::string>& texts);

/// A value of --proxy. Throws failure.
[[nodiscard]] network proxy_network(const std::string& text);

/// A value of --host: the name of a machine, without a scheme and a port. Throws failure.
[[nodiscard]] std::string host_name(const std::string& text);

/// The name of a node: `asked`, or else that of this machine and the address of the listener, which differs from those
/// of all other nodes as long as the names of the machines do. Throws failure if `asked` is no name, or if it is empty
/// and there is no such address.
[[nodiscard]] std::string node_name(const std::string& asked, const std::optional<runtime::address>& listener);

/// The value of --node-timeout. Throws failure.
[[nodiscard]] duration node_timeout(const std::string& text);

/// The value of --client-timeout: a duration, or `off`, for which it is forever(). Throws failure.
[[nodiscard]] duration client_timeout(const std::string& text);

/// The value of --sync: `always`, or a duration, alone or after `every`. Throws failure.
[[nodiscard]] std::optional<duration> sync_period(const std::vector<std::string>& words);

}  // namespace foliot::program
