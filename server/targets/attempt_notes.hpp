// What a job's history tells of its deliveries: how many have failed, and the latest of them. It is written with the
// release or the burial that follows a failure, so it is there whatever becomes of the node.
//
// The field is JSON: {"failed": 3, "last": [{"at": …, "outcome": "rejected", "status": 503, "took": 12, "why": "…"},
// …]}, the latest first, times in milliseconds. It is bounded: `most_kept` attempts, `longest_reason` bytes each.
//
// Thread safety: values. O(bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>

#include "server/http/json.hpp"

namespace foliot::program {

/// Of the field in a history: see the table in fields.hpp.
inline constexpr jobs::field_tag tag_of_attempts = 0x01e0;

/// A delivery that has failed.
struct failed_attempt {
  jobs::utc_time at{};
  std::string outcome;  ///< the word, as in metrics
  int status = 0;       ///< of the answer; 0: none
  jobs::milliseconds took{};
  std::string why;  ///< a sentence for the operator

  friend bool operator==(const failed_attempt&, const failed_attempt&) = default;
};

struct attempt_notes {
  static constexpr std::size_t most_kept = 8;
  static constexpr std::size_t longest_reason = 160;

  std::uint32_t failed = 0;
  std::vector<failed_attempt> last{};  ///< the latest first

  /// None if there are none, or if they cannot be read.
  [[nodiscard]] static attempt_notes in(const jobs::job_fields& history);
  void note(failed_attempt one);
  /// The history with these notes. Without room for all that others have noted, and these, it has fewer attempts.
  [[nodiscard]] jobs::job_fields noted_in(jobs::job_fields history) const;
  /// For clients.
  [[nodiscard]] http::ordered_json json() const;

  friend bool operator==(const attempt_notes&, const attempt_notes&) = default;
};

}  // namespace foliot::program
