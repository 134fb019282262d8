// The commits of a postgresql_node, and what becomes of those that are in doubt: see postgresql_node.hpp.
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>

#include "jobs/operation_parts.hpp"
#include "postgresql_node.hpp"
#include "statements.hpp"

namespace foliot::jobs::detail {

postgresql_node::commit_state postgresql_node::commit(const batch_frame& frame, const batch_plan::outcome& got) {
  if (!got.partition) {  // if it fails, the batch can be executed again
    commit_at_primary();
    return commit_state::committed;
  }
  const instant until = monotonic_clock::instance().now() + duration(options_.give_up_after);
  bool is_sent = false;
  std::optional<database_failure> refusal;  // the server's answer to the commit, as by a deferred trigger
  for (bool has_failed = false;;) {
    try {
      if (!std::exchange(is_sent, true)) {
        committing_ = std::exchange(backend_, "");  // its end could make the commit less durable
        commit_at_primary();
        backend_ = std::exchange(committing_, "");
        return commit_state::committed;
      }
      if (got.partition == batch_plan::outcome::no_partition) {
        leave_in_doubt(frame, got);
        throw store_unavailable(store_unavailable::kind::in_doubt,
                                "foliot: the answer to a commit is lost, and the database " + place_ +
                                    " had no room for what it could be looked up by");
      }
      if (!is_connected()) connect();
      const bool is_committed = has_happened(frame.number, *got.partition);
      committing_.clear();
      if (is_committed) return commit_state::committed;
      if (!refusal) return commit_state::not_committed;
      break;
    } catch (const database_failure& error) {
      if (!std::exchange(has_failed, true) && error.is_refusal()) refusal = error;
      try {
        recover(error, until, store_unavailable::kind::in_doubt);
      } catch (const store_unavailable&) {
        leave_in_doubt(frame, got);
        throw;
      }
    } catch (const store_failure& error) {  // connect() has found another schema, or none
      leave_in_doubt(frame, got);
      throw store_unavailable(store_unavailable::kind::in_doubt, error.what());
    }
  }
  throw database_failure(*refusal);
}

void postgresql_node::commit_at_primary() {
  connection_->commit(patience());
  if (timelines::of_process().is_replaced(server_)) {
    throw database_failure("", server_.place + " has committed, but another server has replaced it");
  }
}

void postgresql_node::expect_commits() {
  if (committing_.empty()) return;
  const std::string waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND " + committing_;
  if (connection_->execute_text(waits, patience()).bytes(0, 0) != "0") {
    throw database_failure("", "it waits for a standby, without which it commits nothing");
  }
  committing_.clear();
}

bool postgresql_node::has_happened(std::int64_t number, std::int64_t partition) {
  call ask(statements::has_happened);
  ask.add(registration_.number()).add(number).add(partition);
  const auto replies = connection_->run(std::span(&ask, 1), patience());
  const bool answer = replies.front().integer(0, 0) != 0;
  commit_at_primary();
  return answer;
}

void postgresql_node::leave_in_doubt(const batch_frame& frame, const batch_plan::outcome& got) {
  commits_in_doubt::doubt made{frame.number, *got.partition, {}, frame.unwanted};
  for (const answer& each : got.done.answers) {
    for (const claimed_job& job : jobs_claimed_by(each)) {
      own_.set_in_doubt(job.token, job.job.expires);  // it ends then, if nothing was found out before
      made.claimed.push_back(job.token);
    }
  }
  if (got.partition != batch_plan::outcome::no_partition) in_doubt_.add(std::move(made), steady().now());
}

void postgresql_node::settle_doubts() {
  while (const commits_in_doubt::doubt* const oldest = in_doubt_.oldest()) {
    try {
      const bool was_committed = has_happened(oldest->number, oldest->partition);
      for (const reservation& each : in_doubt_.settle_oldest(was_committed)) own_.end(each);
    } catch (const database_failure& error) {
      if (!connection_->goes_on_after(error, patience())) throw;
      return in_doubt_.postpone(steady().now());
    }
  }
}

}  // namespace foliot::jobs::detail
