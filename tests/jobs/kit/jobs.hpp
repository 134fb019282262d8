// How tests put jobs into a store and take them out again, where nothing but the job's presence matters.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_store.hpp>

namespace foliot_test {

/// Returns the id.
inline foliot::jobs::job_id put_one(foliot::jobs::job_store& into, const std::string& tube = "a",
                                    const std::string& body = "x",
                                    foliot::jobs::milliseconds ttr = std::chrono::hours(1)) {
  return foliot::jobs::execute_one(into, foliot::jobs::put{.tube = tube, .body = body, .ttr = ttr}).id;
}

/// There must be one.
inline foliot::jobs::claimed_job claim_one(foliot::jobs::job_store& from, const std::string& tube = "a") {
  return foliot::jobs::execute_one(from, foliot::jobs::claim{.tubes = {tube}}).jobs.at(0);
}

/// Tries until the store has reached its database again.
inline void until_available(const std::function<void()>& what) {
  for (;;) {
    try {
      return what();
    } catch (const foliot::jobs::store_unavailable&) {
    }
  }
}

}  // namespace foliot_test
