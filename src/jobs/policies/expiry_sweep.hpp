// Which tube is searched next for ready jobs that have waited too long, so that a job that nobody claims ends, too: one
// small page at a time, of the tubes in turn. A page of a tube begins where the one before has ended. A tube whose jobs
// are all on one page is searched once a second at the most.
//
// Thread safety: none. O(log tubes).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs::detail {

/// The time between two turns of all tubes, if none has more pages; and between two pages.
inline constexpr duration sweep_every{std::chrono::seconds(1)};
inline constexpr duration sweep_pause{std::chrono::milliseconds(125)};
/// A page that is due does not wait longer for a moment with little to do.
inline constexpr duration sweep_waits{std::chrono::milliseconds(500)};
inline constexpr std::uint32_t most_swept = 100;

class expiry_sweep {
 public:
  /// The tubes with an expiry by these policies.
  void follow(const policy_table* policies, instant now);
  /// Whether this one searches at all.
  void begin(bool searches) noexcept { searches_ = searches; }
  /// The page to be read now; mostly none. With `is_busy` only one that has waited for long.
  [[nodiscard]] std::optional<list_jobs> take_page(instant now, bool is_busy);
  /// The next page of the tube begins here; none: at its first job.
  void note(const std::string& tube, const std::optional<job_place>& next);
  /// When there is a page; never(): there is none.
  [[nodiscard]] instant next() const noexcept { return tubes_.empty() || !searches_ ? instant::never() : next_; }

 private:
  std::map<std::string, job_place> tubes_;
  std::string after_;
  instant next_ = instant::earliest();
  instant taken_ = instant::earliest();  ///< when the latest page was taken
  instant turn_ = instant::earliest();   ///< when the turn of all tubes has begun
  bool searches_ = true;
};

}  // namespace foliot::jobs::detail
