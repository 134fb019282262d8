// Which tubes get series of their own in the metrics, and what they have: those with the most jobs, of all tubes or of
// those that match a pattern. All others are one series together.
//
//   tube_survey survey;                                   // of the server
//   auto looking = survey.look(client);                   // by the rights of a request
//   const surveyed seen = co_await looking;
//
// No look costs in proportion to what is stored. It reads some thousand tubes, from where the look before has ended,
// and counts again those that earlier looks have found to have most. So the choice is exact where there are no more
// tubes than one look reads, and else it is as old as a round of looks; the counts are those of this moment in any
// case, and of one batch, so that they add up to the jobs that there are. The same holds for the job that has waited
// longest: each look reads the first ready job of some of the tubes, and of those where earlier looks have found the
// oldest ones. A first ready job may have to be searched on a disk, so a look reads fewer of them where they take long.
//
// A tube without jobs has no series, so those of a tube that is deleted end.
//
// A client whose rights are limited to some tubes sees those alone. Its look begins at the first of its tubes each
// time.
//
// Thread safety: any task; the looks of several tasks may read the same tubes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/authorized_client.hpp"
#include "tube_choice.hpp"

namespace foliot::program {

/// A tube with series of its own.
struct surveyed_tube {
  std::string name;
  jobs::count_answer counted;
  std::optional<duration> ready_overdue;  ///< how long ago the first ready job was due
};

/// What a look has seen.
struct surveyed {
  std::vector<surveyed_tube> shown;      ///< by name
  std::optional<jobs::job_counts> rest;  ///< of all other tubes; none: it is not known
  std::optional<duration> rest_overdue;  ///< how long ago the oldest first ready job was due that was seen there
  std::optional<duration> next_due;      ///< until a job is due; zero: it is due already
  std::optional<duration> overdue;       ///< for how long a due job has not been made ready
  bool is_cut_short = false;             ///< whether a count would have taken long
};

class tube_survey {
 public:
  /// What a look reads at the most. Over a store that several nodes share each tube is a search in the database.
  struct effort {
    std::uint32_t page;  ///< tubes
    std::size_t pages;
    std::size_t heads;  ///< first ready jobs, but for those of the tubes that are shown or known to have old ones
    std::size_t heads_at_once;
    duration time_for_heads;  ///< after so long no more of them are read than heads_at_once
  };
  static constexpr effort alone{1000, 5, 500, 25, duration::nanoseconds(10'000'000)};
  static constexpr effort with_nodes{200, 1, 50, 50, duration::nanoseconds(100'000'000)};

  tube_survey() = default;
  tube_survey(const tube_survey&) = delete;
  tube_survey& operator=(const tube_survey&) = delete;

  /// Before the first look.
  void choose(tube_choice which) { which_ = std::move(which); }
  [[nodiscard]] const tube_choice& choice() const noexcept { return which_; }

  /// Looks at the tubes that the client may see. Throws access_refused where its rights lack the scope of a look, and
  /// what an operation throws.
  [[nodiscard]] task<surveyed> look(authorized_client& by, bool has_other_nodes);

 private:
  /// When the first ready jobs of tubes were due.
  using due_times = std::vector<std::pair<jobs::utc_time, std::string>>;
  using weights = std::map<std::string, jobs::job_counts, std::less<>>;
  struct found;
  /// What a look tells of.
  struct plan {
    bool sees_all = false;                   // whether the rights have all tubes
    std::vector<std::string> largest = {};   // as largest_
    std::vector<std::string> shown = {};     // by name
    std::set<std::string> heads = {};        // the tubes whose first ready jobs are read in any case
    std::vector<std::string> others = {};    // and those of which some are read, and more while there is time
    std::optional<jobs::job_counts> of_all;  // of all tubes of limited rights, if they were read
  };

  /// Reads the pages of this look. Returns whether these were all tubes.
  task<bool> read_pages(authorized_client& by, effort most, weights& into);
  task<> read_prefix(authorized_client& by, effort most, std::string prefix, std::string after, found& into);
  /// Counts those that earlier looks have found to be large, and this one has not read.
  task<> recount(authorized_client& by, weights& into);
  [[nodiscard]] plan choose_from(const weights& among, std::size_t most_heads, bool sees_all);
  task<surveyed> read(authorized_client& by, plan& made, effort most);
  /// Reads the first ready jobs of these tubes.
  static task<> read_heads(jobs::client& to_store, std::span<const std::string> tubes, surveyed& into,
                           due_times& found);
  void remember(plan& made, due_times found);
  [[nodiscard]] bool is_chosen(std::string_view tube) const noexcept;
  /// The tubes whose first ready jobs this look reads while there is time; each time others are the first ones.
  [[nodiscard]] std::vector<std::string> choose_heads(const weights& among, std::size_t most) FOLIOT_EXCLUDES(lock_);

  tube_choice which_;
  mutex lock_{lock_rank::object};
  // What looks with the rights to all tubes remember for the next ones.
  std::string next_ FOLIOT_GUARDED_BY(lock_);                  // the next page begins behind this name
  std::vector<std::string> largest_ FOLIOT_GUARDED_BY(lock_);  // twice as many as are shown
  std::vector<std::string> oldest_ FOLIOT_GUARDED_BY(lock_);   // those with the oldest first ready jobs
  std::uint64_t heads_chosen_ FOLIOT_GUARDED_BY(lock_) = 0;    // how often they were chosen
};

}  // namespace foliot::program
