// The claims of a batch: for which waiting clients, and from which tubes.
//
// Each batch claims for the clients of the tubes that may have a ready job, in the order of their arrival. Consecutive
// clients with the same tubes share a claim, except a client with a claim of its own. Clients whose reservations last
// (claim::lasting) share none with the others. A claim that brings fewer jobs than asked, and that is not cut short
// because of their bodies, shows that none of its tubes has a job left; their clients then wait for news of the store.
// A client that begins to wait counts as news of its tubes, because a job may have become due since the latest batch.
//
// Invariant: the tubes named here are pinned, so that they outlive the batch.
// Thread safety: the lock of the broker guards everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

#include "client_state.hpp"
#include "tube_registry.hpp"

namespace foliot::jobs::detail {

/// Of the jobs that the claims of a batch bring; the last one may exceed it.
inline constexpr std::uint64_t most_claimed_bytes = 16U << 20;

/// The most bytes of a job in an answer.
[[nodiscard]] inline std::uint64_t most_bytes_of_job(const job_limits& limits) noexcept {
  return limits.max_body + 2 * most_field_bytes;
}
/// The same of all jobs of a claim that happens once, if it has happened before: no bound of the batch holds them back,
/// as its answer is the same each time.
[[nodiscard]] inline std::uint64_t most_replayed_bytes(const claim& what, const job_limits& limits) noexcept {
  const std::uint64_t of_job = most_bytes_of_job(limits);
  const std::uint64_t of_all = what.count * of_job;
  return is_bounded(what) ? std::min(of_all, std::min(what.bytes, of_all) + of_job) : of_all;
}

class claims {
 public:
  /// A claim, for consecutive recipients with the same tubes.
  struct grant {
    std::size_t first_recipient = 0;
    std::size_t recipients = 0;
    std::size_t jobs = 0;  ///< how many it asks for
    bool is_own = false;   ///< its only recipient's: see client_state::own
    std::size_t first_tube = 0;
    std::size_t tubes = 0;
  };

  /// Adds claims for clients that wait to the batch. Those that happen once may bring most_claimed_bytes together, if
  /// they have happened before; the last one may exceed it. O(n log n) for n clients and the tubes that they watch.
  void gather(tube_registry& tubes, const job_limits& limits, std::vector<operation>& batch);
  /// In the order of their operations in the batch.
  [[nodiscard]] std::span<const grant> grants() const noexcept { return grants_; }
  /// The clients for which the batch claims.
  [[nodiscard]] std::size_t recipients() const noexcept { return recipients_.size(); }
  /// Those of a claim; null: it does not wait any more.
  [[nodiscard]] std::span<client_state* const> recipients(const grant& of) const noexcept {
    return std::span(recipients_).subspan(of.first_recipient, of.recipients);
  }
  [[nodiscard]] std::span<tube_record* const> tubes(const grant& of) const noexcept {
    return std::span(named_tubes_).subspan(of.first_tube, of.tubes);
  }
  /// The client does not wait any more.
  void drop(client_state& client) noexcept {
    if (client.recipient != client_state::no_claim) recipients_[client.recipient] = nullptr;
    client.recipient = client_state::no_claim;
  }
  /// The claims are over.
  void drop_all() noexcept {
    for (client_state* const each : recipients_) {
      if (each != nullptr) each->recipient = client_state::no_claim;
    }
    recipients_.clear();
    grants_.clear();
  }
  /// Unpins the tubes, and calls `release(tube)` for each.
  template <class Release>
  void unpin(const Release& release) noexcept {
    for (auto* const tubes : {&served_tubes_, &named_tubes_}) {
      for (tube_record* const tube : *tubes) {
        --tube->pins;
        release(*tube);
      }
      tubes->clear();
    }
  }

 private:
  void add_grant(std::size_t first, std::size_t count, std::vector<operation>& batch);

  // Kept, so that a batch allocates little.
  std::vector<client_state*> recipients_;
  std::vector<grant> grants_;
  std::vector<tube_record*> named_tubes_;
  std::vector<tube_record*> served_tubes_;
};

}  // namespace foliot::jobs::detail
