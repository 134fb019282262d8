// The reservations that this node has made, with their ends by its own clock. The database ends none by itself: each
// node ends its own ones, and those of nodes that have died.
//
// O(log n) for n reservations.
#pragma once

#include <cstddef>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs::detail {

class deadlines {
 public:
  /// A reservation was made, or its end has changed.
  void set(const reservation& token, instant expires) {
    end(token.id);
    by_job_.emplace(token.id, entry{token, expires});
    by_end_.emplace(expires, token.id);
  }
  /// The end of this job's reservation has changed. Does nothing if it has none.
  void extend(job_id id, instant expires) {
    const auto found = by_job_.find(id);
    if (found == by_job_.end()) return;
    by_end_.erase({found->second.expires, id});
    found->second.expires = expires;
    by_end_.emplace(expires, id);
  }
  void end(job_id id) {
    const auto found = by_job_.find(id);
    if (found == by_job_.end()) return;
    by_end_.erase({found->second.expires, id});
    by_job_.erase(found);
  }
  /// Does nothing if the job has another reservation, or none.
  void end(const reservation& token) {
    const auto found = by_job_.find(token.id);
    if (found != by_job_.end() && found->second.token == token) end(token.id);
  }
  /// Appends the reservation of this job to `over` if its time is over at `now`.
  void find_over(job_id id, instant now, std::vector<reservation>& over) const {
    const auto found = by_job_.find(id);
    if (found != by_job_.end() && found->second.expires < now) over.push_back(found->second.token);
  }
  /// The first `most` reservations whose time is over at `now`. At its last instant a reservation is still alive.
  [[nodiscard]] std::vector<reservation> over(instant now, std::size_t most) const {
    std::vector<reservation> all;
    for (auto each = by_end_.begin(); each != by_end_.end() && each->first < now && all.size() < most; ++each) {
      all.push_back(by_job_.at(each->second).token);
    }
    return all;
  }
  /// When a batch should end the next one; never(): there is none.
  [[nodiscard]] instant next() const noexcept {
    return by_end_.empty() ? instant::never() : by_end_.begin()->first + duration::nanoseconds(1);
  }
  /// Forgets all; returns them.
  [[nodiscard]] std::vector<reservation> take_all() {
    std::vector<reservation> all;
    for (const auto& [id, it] : by_job_) all.push_back(it.token);
    by_job_.clear();
    by_end_.clear();
    return all;
  }

 private:
  struct entry {
    reservation token;
    instant expires;
  };
  std::unordered_map<job_id, entry> by_job_;
  std::set<std::pair<instant, job_id>> by_end_;
};

}  // namespace foliot::jobs::detail
