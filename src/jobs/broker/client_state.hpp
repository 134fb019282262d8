// The broker's record of one client: its tubes, its wait for a job, and the deadlines of its reservations.
// Thread safety: the lock of the broker guards everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/detail/broker_event.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "tube_registry.hpp"

namespace foliot::jobs::detail {

struct client_state {
  /// idle ──reserve──► waiting ──a claim brings a job──► served ──the task takes it──► idle
  enum class phase : std::uint8_t { idle, waiting, served };
  static constexpr std::size_t no_claim = std::numeric_limits<std::size_t>::max();

  std::string name;                  // client::set_name()
  instant asked = instant::never();  // when it has made its latest request, or has waited for a job: for commit_delay
  tube_record* used = nullptr;
  std::vector<std::unique_ptr<watching>> watched;  // in the order of the calls
  std::vector<tube_record*> tubes;                 // the same tubes, sorted by address: to compare two clients

  phase now = phase::idle;
  /// Whether no claim has shown yet that the client has to wait.
  bool untried = false;
  /// Whether its latest claim was refused alone: the databases of its tubes do not answer.
  bool is_refused = false;
  /// The number of its wait: clients are served in this order.
  std::uint64_t arrival = 0;
  /// Its place among the clients for which the present batch claims.
  std::size_t recipient = no_claim;
  /// Set when the client is served, when it turns out that it has to wait, and when the broker ends.
  broker_event event;
  std::optional<claimed_job> job;
  /// The claim for which it waits, of the task that does; null: for one job, which it may claim with others.
  const claim* own = nullptr;
  /// Whether the reservations for which it waits last: see claim::lasting.
  bool lasting = false;
  /// What that claim has brought, once the client is served.
  claim_answer claimed;
  list_links<client_state> waiting_links;
  list_links<client_state> untried_links;

  /// Whether the client has gone, and the broker owns this until all its reservations are given back.
  bool gone = false;
  list_links<client_state> gone_links;
  /// When its reservations end.
  std::set<std::pair<instant, job_id>> deadlines;
};

}  // namespace foliot::jobs::detail
