// A job on its way from one server to the other.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <foliot/client/job_record.hpp>

namespace foliot::program::copying {

using client::job_record;

/// A job with its body.
struct full_job {
  job_record record;
  std::string body;
  /// Of the body in bytes. A body is empty where it is larger than the target may take.
  std::uint64_t body_size = 0;
  /// Which of the connections to its server may delete it.
  std::size_t link = 0;
};

/// Whether a client has changed the job between the two looks: a release, a bury, a kick, another due time. A job that
/// was reserved, or that became ready because its due time came, is not changed.
[[nodiscard]] inline bool is_changed(const job_record& before, const job_record& after) noexcept {
  return before.priority != after.priority || before.due != after.due || before.counters != after.counters ||
         before.history != after.history;
}

}  // namespace foliot::program::copying
