// The tubes in which the server keeps jobs of its own: the records of actions, of schedules, of policies and of
// targets. No client can name one, see it, or reach a job in it, whatever rights it has (authorized_client.hpp).
//
// Their names begin with a hyphen, as no name does that a client can put a job into, over any protocol: so no tube of
// anybody becomes one of these.
//
// Thread safety: any thread. O(1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/job.hpp>

#include "delivered_tubes.hpp"

namespace foliot::program {

/// Each action is a job here: server/actions/action.hpp.
inline constexpr std::string_view tube_of_actions = "-foliot.actions";
/// A job with the id of an action as its key asks that action to stop.
inline constexpr std::string_view tube_of_stops = "-foliot.stops";

/// Each schedule is a job here: server/schedules/schedule_records.hpp.
inline constexpr std::string_view tube_of_schedules = "-foliot.schedules";
/// One job, which names the zone data by which all schedules have been planned: server/schedules/zone_review.hpp.
inline constexpr std::string_view tube_of_zone_data = "-foliot.zones";
/// Each policy of a tube is a job here: server/policies/policy_record.hpp.
inline constexpr std::string_view tube_of_policies = "-foliot.policies";
/// The target of each tube whose jobs are delivered is a job here: server/targets/target_record.hpp.
inline constexpr std::string_view tube_of_targets = "-foliot.targets";
/// All of them.
inline constexpr std::array tubes_of_server{tube_of_actions,   tube_of_stops,    tube_of_schedules,
                                            tube_of_zone_data, tube_of_policies, tube_of_targets};

/// The largest body of a job of these tubes, and of those that are put together with one: the occurrences of a
/// schedule. It does not depend on --max-job-size, which is for clients: a server that is started with a smaller one
/// follows the schedules that there are.
inline constexpr std::size_t largest_body_of_server = std::size_t{1} << 20;

/// With which their names begin, and no others.
inline constexpr std::string_view prefix_of_server = "-foliot.";

/// Whether a tube is one of the server's own.
[[nodiscard]] constexpr bool is_of_server(std::string_view tube) noexcept { return tube.starts_with(prefix_of_server); }

/// What is known of the jobs of the server: whether the store may have any (until somebody has looked, it may), and
/// which tubes have a target by them.
class server_jobs {
 public:
  server_jobs() noexcept = default;
  server_jobs(const server_jobs&) = delete;
  server_jobs& operator=(const server_jobs&) = delete;

  [[nodiscard]] bool may_exist() const noexcept { return (state_.load(seam::relaxed) & 1U) != 0; }
  /// One is about to be put.
  void expect() noexcept {
    std::uint64_t before = state_.load(seam::relaxed);
    while (!state_.compare_exchange_weak(before, (before + 2) | 1U, seam::relaxed)) {
    }
  }
  /// To be called before a look for such jobs: its result is for note().
  [[nodiscard]] std::uint64_t begin_look() const noexcept { return state_.load(seam::relaxed); }
  /// The look has found some or none. None does not count if one was expected since.
  void note(std::uint64_t begun, bool found) noexcept {
    if (found) return expect();
    static_cast<void>(state_.compare_exchange_strong(begun, begun & ~std::uint64_t{1}, seam::relaxed));
  }
  [[nodiscard]] delivered_tubes& delivered() noexcept { return delivered_; }
  [[nodiscard]] const delivered_tubes& delivered() const noexcept { return delivered_; }

 private:
  /// The lowest bit: they may exist; the others count expect(). Orders nothing: the store has the order.
  seam::atomic<std::uint64_t> state_{1};
  delivered_tubes delivered_;
};

/// Takes the jobs of such a tube out of the counts of a whole store, which may have been cut short.
constexpr void leave_out(jobs::job_counts& of_all, const jobs::job_counts& of_tube) noexcept {
  of_all.urgent -= std::min(of_all.urgent, of_tube.urgent);
  of_all.ready -= std::min(of_all.ready, of_tube.ready);
  of_all.reserved -= std::min(of_all.reserved, of_tube.reserved);
  of_all.delayed -= std::min(of_all.delayed, of_tube.delayed);
  of_all.buried -= std::min(of_all.buried, of_tube.buried);
}

}  // namespace foliot::program
