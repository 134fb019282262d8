// Which tubes are searched next for ready jobs that have waited too long: a page of some tubes each second, in turn, so
// that a job that nobody claims ends, too. A page begins where the one before has ended.
//
// Thread safety: none. O(log tubes).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs::detail {

inline constexpr duration sweep_every{std::chrono::seconds(1)};
inline constexpr std::size_t most_tubes_swept = 8;

class expiry_sweep {
 public:
  /// The tubes with an expiry by these policies.
  void follow(const policy_table* policies, instant now);
  /// The pages to be read now; mostly none.
  [[nodiscard]] std::vector<list_jobs> take_pages(instant now);
  /// The next page of the tube begins here; none: at its first job.
  void note(const std::string& tube, const std::optional<job_place>& next);
  /// When there are pages; never(): there are none.
  [[nodiscard]] instant next() const noexcept { return tubes_.empty() ? instant::never() : next_; }

 private:
  std::map<std::string, job_place> tubes_;
  std::string after_;
  instant next_ = instant::earliest();
};

}  // namespace foliot::jobs::detail
