// The page of a list_jobs, gathered from the jobs of a store in the order of the list.
//
//   listed_page page(what);
//   for (const auto& [place, it] : behind(page.after())) {
//     if (!page.come_to(place)) break;
//     if (page.wants(it.tube)) page.add(it.job, version_of(it));
//   }
//   return std::move(page).take(now);
//
// Invariant: the page has at most as many jobs as were asked for, of at most most_searched that were read; and if it
// has that many, or reading has ended at the bound, the next page begins behind the last job that was read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

/// A copy of a job without its body, fields and history.
[[nodiscard]] inline job without_content(const job& it) {
  return {.id = it.id,
          .tube = it.tube,
          .key = it.key,
          .body = {},
          .priority = it.priority,
          .state = it.state,
          .made = it.made,
          .due = it.due,
          .delay = it.delay,
          .ttr = it.ttr,
          .expires = it.expires,
          .counters = it.counters,
          .fields = {},
          .history = {}};
}

class listed_page {
 public:
  /// `what` must outlive it.
  explicit listed_page(const list_jobs& what)
      : what_(what), after_(is_by_id() ? job_place{0, what.after.id} : what.after) {}

  /// Whether the order is that of the ids. Then the ranks of all places are 0.
  [[nodiscard]] bool is_by_id() const noexcept { return !what_.which || *what_.which == job_state::reserved; }
  /// The page begins behind this place.
  [[nodiscard]] const job_place& after() const noexcept { return after_; }
  /// The next job in order has this place. False: it is on a later page.
  [[nodiscard]] bool come_to(job_place place) {
    if (what_.tube.empty() && what_.prefixes.empty()) return false;  // no job is wanted, on no page
    if (is_full() || searched_ == most_searched) {
      is_cut_ = true;
      return false;
    }
    ++searched_;
    last_ = place;
    return true;
  }
  [[nodiscard]] bool is_full() const noexcept { return answer_.jobs.size() == what_.count; }
  /// Whether jobs of this tube are on the page.
  [[nodiscard]] bool wants(const std::string& tube) const {
    if (!what_.tube.empty()) return tube == what_.tube;
    for (const std::string& each : what_.prefixes) {
      if (tube.starts_with(each)) return true;
    }
    return false;
  }
  /// Adds the job at the place that was come to last.
  void add(job&& it, job_version version) { answer_.jobs.push_back({last_, std::move(it), version}); }

  [[nodiscard]] jobs_answer take(utc_time now) && {
    if (is_full() || is_cut_) answer_.next = last_;
    answer_.now = now;
    return std::move(answer_);
  }

 private:
  const list_jobs& what_;
  const job_place after_;
  jobs_answer answer_;
  job_place last_;
  std::uint32_t searched_ = 0;
  bool is_cut_ = false;
};

}  // namespace foliot::jobs::detail
