// The folder of an embedded store that no process has open, to be looked at and not changed.
//
//   foliot::jobs::stopped_folder folder("jobs");
//   const std::optional<foliot::jobs::job> found = folder.find(17, now);
//
// What an opening would replay of the log is replayed in memory alone: no file is made, written or removed. As after an
// opening, jobs that were reserved are ready, and pauses are over. While this lives, no store can be opened on the
// folder.
//
// Thread safety: one thread at a time.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// A folder that is looked at. Its lock is held as long as this lives.
class FOLIOT_EXPORT stopped_folder {
 public:
  /// A job that is due, by what lists of due jobs tell.
  struct due_job {
    job_id id = 0;
    std::string tube;
    utc_time due{};
  };

  /// Throws store_failure, which says what is wrong and what to do: the folder is in use, or on a file system that
  /// cannot lock it, is no store, is of another version, or is damaged.
  explicit stopped_folder(const std::string& folder);
  ~stopped_folder();
  stopped_folder(const stopped_folder&) = delete;
  stopped_folder& operator=(const stopped_folder&) = delete;

  // Each of these throws store_failure if the folder cannot be read. `now`: jobs that are due by then are ready.

  /// The job, with its body; nothing if there is none. O(log n).
  [[nodiscard]] std::optional<job> find(job_id id, utc_time now) const;
  /// The job with this key. O(tubes + log n).
  [[nodiscard]] std::optional<job> find(std::string_view tube, std::string_view key, utc_time now) const;
  /// Calls `take` with all jobs, by their ids, without their bodies, until it returns false. O(n).
  void walk(utc_time now, const std::function<bool(const job&)>& take) const;
  /// At most `count` jobs that were delayed when the folder was left, the soonest first, of the tubes that `wants`
  /// names. O(tubes * count).
  [[nodiscard]] std::vector<due_job> due_next(const std::function<bool(std::string_view tube)>& wants,
                                              std::size_t count) const;
  /// The tubes that have jobs, by name, with their counts as the folder was left. O(tubes).
  [[nodiscard]] std::vector<std::pair<std::string, job_counts>> tubes() const;

 private:
  class database;

  const std::unique_ptr<database> database_;
};

}  // namespace foliot::jobs
