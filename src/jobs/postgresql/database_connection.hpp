// One connection to a PostgreSQL server, for one thread. An exchange ends at its deadline, or up to a minute later
// while bytes still come or go.
//
// Many statements go out at once, and their replies come back together (libpq's pipeline mode): a transaction costs two
// round trips, one for its statements and one for its commit. They are two because the replies must have arrived before
// the commit begins: if the answer to the commit is lost, the store can still find out whether the
// transaction was committed, and then it knows the replies.
//
// After a database_failure only goes_on_after() may be called, and the destructor.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>

#include "call.hpp"

namespace foliot::jobs::detail {

// The SQLSTATEs by which nodes decide, in the words of PostgreSQL's appendix of error codes where it has one.
inline constexpr std::string_view read_only_transaction = "25006";
inline constexpr std::string_view serialization_failure = "40001";
inline constexpr std::string_view deadlock_detected = "40P01";
inline constexpr std::string_view lacks_rights = "42501";
inline constexpr std::string_view undefined_function = "42883";
inline constexpr std::string_view lock_not_available = "55P03";
inline constexpr std::string_view damaged_data = "XX001";
// Those that the schema's functions raise (sql/constants.sql).
inline constexpr std::string_view registration_ended = "FL001";
inline constexpr std::string_view not_admitted = "FL003";
inline constexpr std::string_view turn_did_not_come = "FL005";

/// A statement has failed, or the connection.
class database_failure : public std::runtime_error {
 public:
  /// `state` is the SQLSTATE of an error that the server has reported; empty: the connection has failed.
  database_failure(std::string state, const std::string& text) : std::runtime_error(text), state_(std::move(state)) {}
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  [[nodiscard]] bool is_state(std::string_view state) const noexcept { return state_ == state; }
  /// Another transaction was in conflict with this one, so this one may succeed at once.
  [[nodiscard]] bool is_conflict() const noexcept {
    return is_state(serialization_failure) || is_state(deadlock_detected) || is_state(lock_not_available) ||
           is_state(turn_did_not_come);
  }
  /// The role has no right to do it.
  [[nodiscard]] bool is_lack_of_rights() const noexcept { return is_state(lacks_rights); }
  /// The schema lacks a function: an earlier program has made it, or an earlier build of the same version.
  [[nodiscard]] bool is_lack_of_a_function() const noexcept { return is_state(undefined_function); }
  /// The server has no room for what the statement needs, as on a full disk. Statements that need no space may
  /// still succeed.
  [[nodiscard]] bool is_lack_of_room() const noexcept { return state_.starts_with("53"); }
  /// One statement has failed, because a row is damaged, an added trigger raises an error, the schema lacks its
  /// function, or for a similar reason. Other statements may succeed.
  [[nodiscard]] bool is_refusal() const noexcept;

 private:
  std::string state_;
};

/// No connection was made: none of the hosts that libpq asked has accepted the program.
class connect_failure : public database_failure {
 public:
  /// `reasons` are libpq's: one for each host, with its name.
  explicit connect_failure(std::vector<std::string> reasons);
  [[nodiscard]] const std::vector<std::string>& reasons() const noexcept { return reasons_; }

 private:
  std::vector<std::string> reasons_;
};

/// The state of an exchange: the server has received the statements and may be executing them, or has answered them.
enum class exchange_point : std::uint8_t { sent, answered };
/// A function that is called with the socket, and may shut it down.
using exchange_step = std::function<void(int socket, exchange_point at)>;

class database_connection {
 public:
  /// Connects with the arguments of PQconnectStartParams(). Resolving a host's name blocks; everything else ends at
  /// `deadline` of the monotonic clock. Throws connect_failure.
  /// `at_step` is for tests: it is called in each exchange, and when the connection is made.
  database_connection(const char* const* keywords, const char* const* values, instant deadline,
                      const exchange_step& at_step);
  ~database_connection();
  database_connection(const database_connection&) = delete;
  database_connection& operator=(const database_connection&) = delete;

  /// Executes statements that are separated by semicolons, as one transaction; returns the rows of the last one, as
  /// text. Only before the first run().
  reply execute_text(const std::string& statements, instant deadline);
  /// Executes these calls in the open transaction, or in one that begins with them. The replies come in their order.
  std::vector<reply> run(std::span<const call> calls, instant deadline);
  /// Precondition: `failure` is the last one. If it came from a conflict, from a lack of room or of rights, or from one
  /// statement, then nothing has changed and the connection works: ends the transaction, so that the next one may
  /// begin, and returns true. Otherwise returns false.
  [[nodiscard]] bool goes_on_after(const database_failure& failure, instant deadline) noexcept;
  /// Commits. A warning of the server counts as a failure: the server may have stopped waiting for its standby.
  void commit(instant deadline);
  /// Ends the transaction without its effect.
  void roll_back(instant deadline);

  /// The notifications that other connections have sent and that have arrived. Does not wait.
  [[nodiscard]] std::vector<std::string> take_notifications();
  /// The descriptor that is readable when notifications have arrived.
  [[nodiscard]] int socket() const noexcept { return PQsocket(connection_.get()); }

  /// "db1:5432/jobs"
  [[nodiscard]] std::string place() const;

 private:
  struct closed {
    void operator()(PGconn* each) const noexcept { PQfinish(each); }
  };

  /// A result that the server is going to send.
  struct expected_result {
    bool is_wanted;
    const char* prepares;  // the name of the statement that is then prepared, or null
  };

  /// Ends a transaction that has failed.
  void roll_back_failed(instant deadline);
  static void take_notice(void* self, const PGresult* notice);
  void send(const sql_statement& what);
  void send(const call& what);
  void flush(instant deadline);
  /// The deadline, or a later one if the server is still there.
  [[nodiscard]] instant with_progress(instant deadline) const;
  /// Waits until the connection can be read, and reads.
  void receive(instant deadline);
  /// The next result; null after the last result of a statement.
  [[nodiscard]] PGresult* next_result(instant deadline);
  /// The reply to one statement of a pipeline.
  [[nodiscard]] reply read_reply(instant deadline);
  /// The replies that are wanted.
  [[nodiscard]] std::vector<reply> read_replies(std::span<const expected_result> expected, instant deadline);
  /// Waits until the server has read everything that was sent before.
  void read_synchronization(instant deadline);
  [[noreturn]] void fail_connection(std::string_view doing) const;

  void step(exchange_point at) const {
    if (at_step_) at_step_(PQsocket(connection_.get()), at);
  }

  std::unique_ptr<PGconn, closed> connection_;
  const exchange_step& at_step_;
  std::set<const char*> prepared_;  // names of statements
  bool has_begun_ = false;
  bool has_refused_ = false;
  instant progress_ = instant::earliest();  // when bytes came or went last
  std::string warning_;                     // the first one since the last commit began
};

}  // namespace foliot::jobs::detail
