// Moves jobs in groups: finds them at the source, places them at the target, deletes them at the source.
//
// Thread safety: none, one task. Throws failure; what was counted until then has been moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "copy/source.hpp"
#include "copy/target.hpp"

namespace foliot::program::copying {

/// What has happened so far. Jobs are counted in the state that they had.
struct copy_counts {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t taken_back = 0;  ///< their workers at the source had them meanwhile
  std::uint64_t twice = 0;       ///< workers of both servers had them

  [[nodiscard]] std::uint64_t moved() const noexcept { return ready + delayed + buried; }
};

/// Connections to the source: several, because foliot syncs each deletion of a connection before it takes the next,
/// and those of several connections together.
using source_links = std::vector<std::unique_ptr<source>>;

/// The most jobs that are moved together.
inline constexpr std::size_t largest_group = 256;

class copier {
 public:
  /// `moved` is called after each group, and now and then while jobs are looked for; `refused` with a sentence for each
  /// job that stays at the source.
  copier(client::endpoint from, client::endpoint to, std::function<void()> moved,
         std::function<void(const std::string&)> refused)
      : from_place_(from),
        from_(std::move(from)),
        to_(std::move(to)),
        on_moved_(std::move(moved)),
        on_refused_(std::move(refused)) {}

  /// Connects to both servers, and refuses if they are one.
  task<> connect();
  /// Goes through all tubes until there is nothing more that can be moved.
  task<> move_all();
  /// The jobs at the source.
  task<jobs::job_counts> left() { return from_.counts(); }

  [[nodiscard]] const copy_counts& counts() const noexcept { return counts_; }
  /// How many jobs the target cannot take.
  [[nodiscard]] std::size_t refused() const noexcept { return refused_.size(); }

 private:
  task<> move_tube(std::string tube);
  task<> move_ready(std::string tube, std::uint64_t count);
  task<> move_ready_of_paused(std::string tube);
  task<> move_hidden(std::string tube, jobs::job_state state);
  task<> search_beyond(std::string tube, jobs::job_state state, jobs::job_id known);
  task<std::size_t> move_near(jobs::job_id begin, jobs::job_id end);
  task<std::size_t> move_group(const source_links& links, std::vector<full_job> group);
  /// Moves jobs with different keys.
  task<std::size_t> move_at_once(const source_links& links, std::vector<full_job> group);
  task<std::vector<removal>> remove(const source_links& links, const std::vector<full_job>& moved);
  task<source_links> open_links(std::size_t count);
  task<> settle(const std::vector<full_job>& group, const std::vector<placement>& copies,
                const std::vector<removal>& ends);
  void refuse(const job_record& job, const std::string& reason);
  void count(jobs::job_state state);
  [[nodiscard]] std::size_t most_jobs() const noexcept;
  /// Later groups have fewer jobs if this one had no room for all of its.
  void learn_size(bool lacked_room) noexcept;
  void expect_progress(const std::string& tube, jobs::job_state state, jobs::job_id first);

  client::endpoint from_place_;
  source from_;
  source_links deleting_;  // for jobs that no connection holds
  target to_;
  std::function<void()> on_moved_;
  std::function<void(const std::string&)> on_refused_;
  copy_counts counts_;
  std::set<jobs::job_id> refused_;
  /// The jobs that were deleted last.
  std::set<jobs::job_id> deleted_;
  /// The job that the source has named last as the first of its tube, and how often in a row it has done so again.
  jobs::job_id named_ = 0;
  std::size_t futile_ = 0;
  /// Of the jobs of a group: fewer than largest_group where those of the source are larger than it says.
  std::size_t group_limit_ = largest_group;
  /// How many ids are looked at together: more where most of them are jobs.
  std::size_t window_ = 64;
  /// Of the jobs that were seen.
  jobs::job_id highest_ = 0;
};

}  // namespace foliot::program::copying
