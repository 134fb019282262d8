// One batch of a policy_store: what it has asked of the store below, and where the answers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/tube_policy.hpp>

#include "held_by_policy.hpp"
#include "policy_rules.hpp"
#include "policy_steps.hpp"
#include "tube_limits.hpp"

namespace foliot::jobs::detail {

/// What was asked for by a claim of which some tube has limits.
struct limited_claim {
  std::vector<std::string> tubes;  ///< those that were not left out
  std::uint32_t wanted = 0;
  std::uint32_t allowed = 0;  ///< 0: it only looks
  planned_slots slots = {};   ///< of each tube with limits as many as allowed
};

struct policy_turn {
  /// Of an operation that was not executed.
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  std::span<operation> batch;  ///< the caller's
  instant now;
  utc_time utc;

  std::map<job_id, answer> seen = {};    ///< of jobs that the caller names, as they were before
  bool is_formed = false;                ///< else the store below gets the caller's batch as it is
  std::vector<operation> asks = {};      ///< of the store below: steps, counts, the caller's, pages
  std::vector<policy_step*> steps = {};  ///< the first ones of these
  std::vector<tube_count> counted = {};  ///< then counts of these tubes
  std::vector<std::size_t> places = {};  ///< where the caller's are
  std::vector<answer> refusals = {};     ///< by the caller's operation: the answers to those that are nowhere
  std::vector<fate> follows = {};        ///< by the caller's operation: what its end comes to
  std::map<std::size_t, limited_claim> limited = {};               ///< by the caller's operation
  std::map<std::string, std::uint64_t, std::less<>> planned = {};  ///< by tubes, the slots of all claims
  std::map<std::string, std::uint64_t, std::less<>> freed = {};    ///< by tubes, the slots of reservations that ended
  std::vector<std::string> pages = {};                             ///< at last pages of these tubes

  std::set<reservation> expired = {};             ///< those that have ended before this batch or in it
  std::map<job_id, held_job> ended = {};          ///< and were handed out here
  std::set<std::string, std::less<>> named = {};  ///< the tubes that the caller must claim from again
  policy_counters counted_now = {};
};

}  // namespace foliot::jobs::detail
