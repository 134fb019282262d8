// The stores of a server, one for each of its sessions: each as it was opened, the policies of tubes over it, and what
// watches both.
//
// Thread safety: one thread, but for busy_for() and policies(), which any thread may call; each store as job_store.
#pragma once

#include <memory>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/policy_store.hpp>

#include "serve_options.hpp"
#include "server_log.hpp"
#include "watched_store.hpp"

namespace foliot::program {

class opened_stores {
 public:
  /// Opens them, as open_stores().
  opened_stores(const serve_options& options, const server_log& log);
  ~opened_stores();
  opened_stores(const opened_stores&) = delete;
  opened_stores& operator=(const opened_stores&) = delete;

  /// All of them, watched.
  [[nodiscard]] std::vector<jobs::job_store*> all() const;
  /// What acts by the policies of tubes, in the same order. They count together, and have no policies yet.
  [[nodiscard]] std::vector<jobs::policy_store*> with_policies() const;
  /// What the policies of tubes have done to jobs.
  [[nodiscard]] jobs::policy_counters policies() const noexcept {
    jobs::policy_counters sum;
    for (const auto& each : with_policies_) {
      const jobs::policy_counters one = each->counters();
      sum.retried += one.retried;
      sum.buried += one.buried;
      sum.dead_letters += one.dead_letters;
      sum.expired += one.expired;
      sum.parked += one.parked;
    }
    return sum;
  }
  /// The first one, watched.
  [[nodiscard]] const watched_store& first_watched() const { return *watched_.front(); }
  /// The first one as it was opened.
  [[nodiscard]] jobs::job_store& first() const { return *opened_.front(); }
  /// How long the batches of all of them have taken.
  [[nodiscard]] jobs::time_histogram::counts batches() const noexcept {
    jobs::time_histogram::counts all;
    for (const auto& each : watched_) all += each->batches();
    return all;
  }
  /// How long the oldest batch under way has taken; zero: there is none.
  [[nodiscard]] duration busy_for() const noexcept;
  /// Closes all of them, at once. Throws the first failure.
  void close();

 private:
  std::vector<std::unique_ptr<jobs::job_store>> opened_;
  std::vector<std::unique_ptr<jobs::policy_store>> with_policies_;  // each over the one in the same place
  std::vector<std::unique_ptr<watched_store>> watched_;             // the same
};

}  // namespace foliot::program
