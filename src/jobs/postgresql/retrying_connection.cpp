#include "retrying_connection.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/job_store.hpp>

#include "primary.hpp"
#include "schema.hpp"
#include "schema_history.hpp"
#include "sleep_for.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

namespace {

constexpr duration begin_patience = std::chrono::seconds(2);  // for the first statements of a connection
constexpr duration pause_between_attempts = std::chrono::milliseconds(50);

/// The connection has failed, or another transaction was in the way.
bool may_succeed_later(const database_failure& error) {
  return error.state().empty() || error.state().starts_with("08") || error.state().starts_with("57") ||
         error.is_conflict() || error.is_state(read_only_transaction);
}

/// A call waits for locks, and must then see what the transactions that had them have committed: so each statement
/// needs a snapshot of its own (READ COMMITTED). If the program is killed while a call waits, the last setting ends the
/// call, which would else be executed later.
constexpr const char* settings =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; "
    "SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'; SET "
    "client_connection_check_interval = '1s'";

std::string reason_of(const database_failure& error) {
  if (!error.is_state(lock_not_available)) return error.what();
  return "a transaction is open there that this step waits for, such as one of an application that has put jobs: the "
         "step has changed nothing. End the transactions that have been open for long (pg_stat_activity), and try "
         "again";
}

}  // namespace

reply retrying_connection::run(call what) {
  const clock& time = monotonic_clock::instance();
  const instant begin = time.now();
  // A migration may have ended since the last call.
  std::vector<call> calls;  // not from a list, which would copy the arguments
  calls.reserve(2);
  calls.emplace_back(statements::admit).add(history_of_schema().version);
  calls.push_back(std::move(what));
  for (;;) {
    try {
      if (connection_ == nullptr) {
        auto made = connect_to_primary(target_, no_step_).over;
        has_connected_ = true;
        made->execute_text(std::string(durable_commits) + settings, time.now() + begin_patience);
        if (made->execute_text("SELECT to_regclass('foliot.map') IS NOT NULL", time.now() + begin_patience)
                .bytes(0, 0) != "t") {
          throw store_failure("the database " + target_.to_string() +
                              " has no schema of foliot: make it with `foliot serve --migrate`");
        }
        expect_admitted(*made, time.now() + begin_patience);
        connection_ = std::move(made);
      }
      auto replies = connection_->run(calls, time.now() + patience_);
      connection_->commit(time.now() + patience_);
      return std::move(replies.back());
    } catch (const database_failure& error) {
      const bool is_refused = error.is_state(not_admitted);  // the next connection says why
      if (is_refused || (connection_ != nullptr && !connection_->goes_on_after(error, time.now() + patience_))) {
        connection_.reset();
      }
      const duration patience = has_connected_ ? patience_ : std::min(patience_, first_patience_);
      if ((!may_succeed_later(error) && !is_refused) || time.now() >= begin + patience) {
        throw store_failure("the database " + target_.to_string() + ": " + reason_of(error));
      }
      sleep_for(pause_between_attempts);
    }
  }
}

}  // namespace foliot::jobs::detail
