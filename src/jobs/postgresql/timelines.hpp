// The timelines of the databases that this process uses.
//
// Each promotion of a standby begins a timeline with a higher number. A primary that another server has replaced may
// come back, and accept writes that the other one never gets: its timeline is lower. So the process keeps the highest
// timeline of each database that one of its connections has reached, and all its connections refuse lower ones.
//
// A database is known by its connection string and the identifier of its cluster. The identifier alone is not
// sufficient: two copies of one cluster that are used as two databases have separate timelines.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::jobs::detail {

/// The server that a connection has reached.
struct reached_server {
  std::string database;  // as target::to_string() says
  std::string cluster;   // its identifier
  std::string place;     // as database_connection::place() says
  std::int64_t timeline = 0;
};

class timelines {
 public:
  /// Those that the connections of this process have reached.
  [[nodiscard]] static timelines& of_process();

  void add(const reached_server& server) FOLIOT_EXCLUDES(lock_);
  /// Whether a server of this database was added.
  [[nodiscard]] bool has(const std::string& database) const FOLIOT_EXCLUDES(lock_);
  /// The highest timeline of the database and the cluster of this server. At least its own.
  [[nodiscard]] std::int64_t highest(const reached_server& server) const FOLIOT_EXCLUDES(lock_);
  /// Whether another server has replaced this one.
  [[nodiscard]] bool is_replaced(const reached_server& server) const { return server.timeline < highest(server); }
  /// Whether people are to be told now that this server is refused: they are told once.
  [[nodiscard]] bool begins_refusal(const reached_server& server) FOLIOT_EXCLUDES(lock_);

 private:
  mutable mutex lock_{lock_rank::object};
  std::map<std::pair<std::string, std::string>, std::int64_t> highest_ FOLIOT_GUARDED_BY(lock_);
  std::set<std::tuple<std::string, std::string, std::int64_t>> refused_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::jobs::detail
