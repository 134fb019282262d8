// Joins the results of several executions that are one execution for their caller.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/job_store.hpp>

namespace foliot::jobs::detail {

/// Adds to `all` what `more` has brought besides its answers: ready and emptied tubes, and ended reservations.
inline void add_news(execution& all, execution& more) {
  const auto add_names = [](std::vector<std::string>& names, std::vector<std::string>& others) {
    for (std::string& each : others) {
      if (std::ranges::find(names, each) == names.end()) names.push_back(std::move(each));
    }
  };
  add_names(all.ready_tubes, more.ready_tubes);
  add_names(all.emptied_tubes, more.emptied_tubes);
  all.expired.insert(all.expired.end(), more.expired.begin(), more.expired.end());
}

}  // namespace foliot::jobs::detail
