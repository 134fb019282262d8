// The page that a list_due asks for, gathered from ordered lists of delayed jobs, such as one for each tube.
//
//   due_page page(what);
//   for (const auto& [due, id] : from(what.from, what.after)) {
//     if (!page.add(due, id, tube)) break;
//   }
//   return std::move(page).take();
//
// Holds the soonest jobs that were added, at most as many as the page has. Lifetime: the names of the tubes must stay
// where they are until take(). O(log count) for each job that is added.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

class due_page {
 public:
  explicit due_page(const list_due& what) : begin_(what.from, what.after), count_(what.count) {}

  /// Whether a job of this time and id belongs to the page, as far as is known. If not, neither does any job behind it.
  [[nodiscard]] bool has_room_for(utc_time due, job_id id) const {
    return jobs_.size() < count_ || std::pair(due, id) < jobs_.front().at;
  }
  /// Adds a delayed job of this tube, unless the page begins behind it. False: it does not belong to the page, and
  /// neither does any job behind it.
  bool add(utc_time due, job_id id, const std::string& tube) {
    const std::pair at(due, id);
    if (at <= begin_) return true;
    if (!has_room_for(due, id)) return false;
    if (jobs_.size() == count_) {
      std::ranges::pop_heap(jobs_, {}, &entry::at);
      jobs_.pop_back();
    }
    jobs_.push_back({at, &tube});
    std::ranges::push_heap(jobs_, {}, &entry::at);
    return true;
  }

  /// The jobs of the page, in order.
  [[nodiscard]] due_answer take() && {
    std::ranges::sort_heap(jobs_, {}, &entry::at);
    due_answer result;
    result.jobs.reserve(jobs_.size());
    for (const entry& each : jobs_)
      result.jobs.push_back({each.at.second, *each.tube, job_state::delayed, each.at.first});
    return result;
  }

 private:
  struct entry {
    std::pair<utc_time, job_id> at;
    const std::string* tube;
  };

  const std::pair<utc_time, job_id> begin_;  // the page has what comes behind this
  const std::size_t count_;
  std::vector<entry> jobs_;  // a heap: the last one in order is in front
};

}  // namespace foliot::jobs::detail
