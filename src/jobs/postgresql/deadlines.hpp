// The reservations that this node has made, with their ends by its own clock. The database ends no reservation by
// itself: each node ends its own reservations, and those of dead nodes. So those that last (lasting.hpp) stay here when
// the registration ends that has made them.
//
// O(log n) for n reservations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

#include "lasting.hpp"

namespace foliot::jobs::detail {

class deadlines {
 public:
  /// A reservation was made, so an older one of its job has ended; or its end has changed.
  void set(const reservation& token, instant expires) {
    const auto [first, last] = by_job_.equal_range(token.id);
    for (auto each = first; each != last; ++each) by_end_.erase(key_of(each->second));
    by_job_.erase(token.id);
    add(token, expires);
  }
  /// A reservation may have been made: an older one of its job may still exist.
  void set_in_doubt(const reservation& token, instant expires) {
    end(token);
    add(token, expires);
  }
  /// The end of this reservation has changed. Does nothing if it is not known.
  void extend(const reservation& token, instant expires) {
    const auto found = find(token);
    if (found == by_job_.end()) return;
    by_end_.erase(key_of(found->second));
    found->second.expires = expires;
    by_end_.insert(key_of(found->second));
  }
  /// The reservation has ended. Does nothing if it is not known.
  void end(const reservation& token) {
    const auto found = find(token);
    if (found == by_job_.end()) return;
    by_end_.erase(key_of(found->second));
    by_job_.erase(found);
  }
  /// Appends to `over` those reservations of this job that have ended by `now`.
  void find_over(job_id id, instant now, std::vector<reservation>& over) const {
    const auto [first, last] = by_job_.equal_range(id);
    for (auto each = first; each != last; ++each) {
      if (each->second.expires < now) over.push_back(each->second.token);
    }
  }
  /// The first `most` reservations whose time is over at `now`. At its last instant a reservation is still alive.
  [[nodiscard]] std::vector<reservation> over(instant now, std::size_t most) const {
    std::vector<reservation> all;
    for (auto each = by_end_.begin(); each != by_end_.end() && std::get<instant>(*each) < now && all.size() < most;
         ++each) {
      all.push_back({std::get<1>(*each), std::get<2>(*each), std::get<3>(*each)});
    }
    return all;
  }
  /// When a batch should end the next one; never(): there is none.
  [[nodiscard]] instant next() const noexcept {
    return by_end_.empty() ? instant::never() : std::get<instant>(*by_end_.begin()) + duration::nanoseconds(1);
  }
  /// Forgets those that have ended with their registration, which are all but those that last; returns them. O(n).
  [[nodiscard]] std::vector<reservation> take_those_of_registration() {
    std::vector<reservation> all;
    for (auto each = by_job_.begin(); each != by_job_.end();) {
      if (is_lasting(each->second.token)) {
        ++each;
        continue;
      }
      all.push_back(each->second.token);
      by_end_.erase(key_of(each->second));
      each = by_job_.erase(each);
    }
    return all;
  }

 private:
  struct entry {
    reservation token;
    instant expires;
  };
  using entries = std::unordered_multimap<job_id, entry>;
  using end_key = std::tuple<instant, job_id, std::uint64_t, std::uint64_t>;

  static end_key key_of(const entry& of) { return {of.expires, of.token.id, of.token.opening, of.token.attempt}; }
  void add(const reservation& token, instant expires) {
    by_end_.insert(key_of(by_job_.emplace(token.id, entry{token, expires})->second));
  }
  [[nodiscard]] entries::iterator find(const reservation& token) {
    const auto [first, last] = by_job_.equal_range(token.id);
    const auto found = std::find_if(first, last, [&](const auto& each) { return each.second.token == token; });
    return found == last ? by_job_.end() : found;
  }

  entries by_job_;  // one for each job, or more after a batch in doubt
  std::set<end_key> by_end_;
};

}  // namespace foliot::jobs::detail
