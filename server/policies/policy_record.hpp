// The policy of a tube as JSON, and the record that keeps it: a job of the server's own tube `tube_of_policies`, whose
// key is the tube and whose body is the policy. It is due as late as a job can be, so that nobody gets it.
//
//   {"tries": 5, "counts_releases": true, "counts_timeouts": true,
//    "delay": {"first": "10s", "factor": 2, "most": "1h", "jitter": 0.1}, "dead_letters": "mail-dead",
//    "expires": "1d", "most_reserved": 10, "most_reserved_of_group": 1, "most_per_second": 100, "burst": 20}
//
// All members may be left out. `delay` may also be one length, "10s", or a list of them: ["1s", "10s", "1m"]; an object
// has a list as its member `listed`, in the place of `first`, `factor` and `most`. Lengths are texts, or numbers of
// seconds. jobs::tube_policy has the meaning of each member, and what it is by default.
//
// What is wrong is named by a JSON pointer, with what would be right; a member that there is not, with the nearest one.
//
// Thread safety: pure functions. O(bytes).
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/tube_policy.hpp>

#include "server/http/json.hpp"

namespace foliot::program {

/// What is wrong with a policy.
struct policy_error {
  std::string pointer = {};  ///< to the value: `/delay/factor`; empty: the policy as a whole
  std::string detail = {};   ///< what is wrong and what would be right, as a sentence without its full stop

  friend bool operator==(const policy_error&, const policy_error&) = default;
};
/// As one sentence.
[[nodiscard]] std::string sentence_of(const policy_error& wrong);

/// The policy of this tube that the value describes.
[[nodiscard]] std::expected<jobs::tube_policy, policy_error> read_policy(const http::json& from, std::string_view tube);
/// The same of a text of JSON.
[[nodiscard]] std::expected<jobs::tube_policy, policy_error> read_policy(std::string_view text, std::string_view tube);

/// The members that are right, of a text that read_policy() refuses: each stands by itself, but for `dead_letters` and
/// `burst`, which need another one that is right. The others, and those that there are not, are as if they were left
/// out.
[[nodiscard]] jobs::tube_policy read_right_members(std::string_view text, std::string_view tube);

/// The policy as JSON, in one form for all that mean the same: without the members that have what is usual.
/// Precondition: it is right.
[[nodiscard]] http::ordered_json json_of(const jobs::tube_policy& it);

/// The record with this policy.
[[nodiscard]] jobs::put put_of_policy(std::string_view tube, const jobs::tube_policy& it);

}  // namespace foliot::program
