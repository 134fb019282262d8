// What a job has to do with the policy of its tube: its group and its own expiry, which come with its put; its failed
// tries, which its history keeps; and the reason and the worker of a release or a bury.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <optional>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "call.hpp"
#include "inputs.hpp"
#include "json.hpp"

namespace foliot::program::http {

/// The time after which the job of a put is of no use, as a length from now on, if the request names one.
[[nodiscard]] std::optional<jobs::milliseconds> expiry_length_of(inputs& in);
/// Reads `group`, `expires` and `expires_in` into the fields of a job. Its other fields and its due time must be set.
/// Throws wrong_input.
void read_policy_fields(inputs& in, jobs::put& into);

/// Why a job is given back or buried, as the history of that operation has it; nothing if the request does not say it.
[[nodiscard]] std::optional<jobs::job_fields> read_reason(inputs& in);
/// Adds the worker of the request, if there is a reason, or if any tube has a policy: that of the job is not known
/// here, and the store keeps it where there is a policy or a reason.
void note_worker(const call& by, std::optional<jobs::job_fields>& history);

/// Adds what a job has: `group`, `expires` and `tries`, with all workers. O(bytes of its history).
void show_policy_fields(ordered_json& to, const jobs::job& what);
/// Leaves out what the client of the call may not see of the tries: the workers of others, unless it may administer;
/// and of those in tubes that are out of its rights, from which the job was moved, all but when and how they ended.
void hide_what_is_others(ordered_json& from, const call& by);

}  // namespace foliot::program::http
