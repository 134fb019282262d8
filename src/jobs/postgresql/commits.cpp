// The commits of a postgresql_node, and what becomes of those that are in doubt: see postgresql_node.hpp.
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>

#include "jobs/operation_parts.hpp"
#include "postgresql_node.hpp"

namespace foliot::jobs::detail {

namespace {

/// How long after a doubt the server is asked, and how long after a question that it did not answer.
constexpr duration settles_after = std::chrono::milliseconds(250);
/// How long after a question if the server still commits the batch, as while it waits for its standby.
constexpr duration settles_again_after = std::chrono::seconds(1);

}  // namespace

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
                                "the answer to a commit is lost, and the database " + place_ +
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
  if (connection_->is_replaced()) {
    throw database_failure("", connection_->place() + " has committed, but another server has replaced it");
  }
}

void postgresql_node::expect_commits() {
  if (committing_.empty()) return;
  if (connection_->waits_for_standby(committing_, patience())) {
    throw database_failure("", "it waits for a standby, without which it commits nothing");
  }
  committing_.clear();
}

bool postgresql_node::has_happened(std::int64_t number, std::int64_t partition) {
  const bool answer = connection_->has_happened(registration_, number, partition, patience());
  commit_at_primary();
  return answer;
}

void postgresql_node::leave_in_doubt(const batch_frame& frame, const batch_plan::outcome& got) {
  doubt made{frame.number, *got.partition, {}, frame.unwanted};
  for (const answer& each : got.done.answers) {
    for (const claimed_job& job : jobs_claimed_by(each)) {
      own_.set_in_doubt(job.token, job.job.expires);  // it ends then, if nothing was found out before
      made.claimed.push_back(job.token);
    }
  }
  if (made.claimed.empty() && made.given_back.empty()) return;
  if (got.partition == batch_plan::outcome::no_partition) return;
  doubts_.push_back(std::move(made));
  settles_at_ = steady().now() + settles_after;
}

bool postgresql_node::begins_to_settle() {
  const instant now = steady().now();
  if ((doubts_.empty() && unwanted_.empty()) || now < settles_at_) return false;
  settles_at_ = now + settles_after;
  return true;
}

void postgresql_node::settle_doubts() {
  while (!doubts_.empty()) {
    const doubt& oldest = doubts_.front();
    try {
      if (has_happened(oldest.number, oldest.partition)) {
        for (const reservation& each : oldest.given_back) {
          std::erase(unwanted_, each);
          own_.end(each);
        }
        unwanted_.insert(unwanted_.end(), oldest.claimed.begin(), oldest.claimed.end());
      } else {
        for (const reservation& each : oldest.claimed) own_.end(each);
      }
      doubts_.pop_front();
    } catch (const database_failure& error) {
      if (!connection_->goes_on_after(error, patience())) throw;
      settles_at_ = steady().now() + settles_again_after;
      return;
    }
  }
}

}  // namespace foliot::jobs::detail
