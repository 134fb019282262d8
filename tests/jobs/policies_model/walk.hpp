// A random walk of clients over a policy_store, on virtual clocks, held against the judge after each batch, and with
// all jobs whenever nothing is left to be done. The seed decides everything, and is all that a failure needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "jobs/conformance/conformance.hpp"
#include "judge.hpp"
#include "troubled_store.hpp"

namespace foliot::jobs::policies_model {

/// What a walk goes over.
struct course {
  std::function<std::unique_ptr<conformance::store_under_test>()> store;
  judge::rigour rigour = judge::rigour::strict;
  unsigned refuses_one_of = 0;  ///< only where the judge is loose
  std::size_t steps = 120;
  unsigned reopens_one_of = 0;  ///< steps; 0: never
  bool claims_by_id = true;     ///< with claim_job, which hands out what has no try left
  // For canaries.
  std::function<void(policy_table&)> distort = {};                         ///< what the store gets of the policies
  std::function<void(std::span<operation>)> below = {};                    ///< what reaches the store below
  std::function<void(std::span<const operation>, execution&)> above = {};  ///< what reaches the clients
  bool forgets_next = false;
  /// For a look at one walk: called before each batch.
  std::function<void(const store_clocks&)> watch = {};
};

/// What a walk has come to.
struct outcome {
  std::optional<std::string> failure;
  judge::figures seen;
  std::uint64_t refused = 0;
  std::uint64_t replays = 0;
  std::uint64_t reopened = 0;
};

/// O(steps).
[[nodiscard]] outcome walk(const course& over, std::uint64_t seed);

}  // namespace foliot::jobs::policies_model
