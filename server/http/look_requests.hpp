// The requests of people who look: tubes, what is due next, why a job waits, statistics.
//
// Each function answers one call, which must outlive the task, or throws: wrong_input for a request that is wrong, and
// what the broker throws.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// A page of the tubes that have jobs, by name, with their counts.
[[nodiscard]] task<response> show_tubes(call& by);
[[nodiscard]] task<response> show_tube(call& by);
/// Why no worker has a job at present, or until when one has it.
[[nodiscard]] task<response> explain_job(call& by);
/// A page of the delayed jobs, the soonest first.
[[nodiscard]] task<response> show_due(call& by);
/// How many of the soonest delayed jobs are due in each piece of the next minute, hour and day. Reads a bounded number
/// of jobs.
[[nodiscard]] task<response> count_due(call& by);
/// What the request may do: the scopes and tubes of what it shows. It needs no scope.
[[nodiscard]] task<response> show_access(call& by);
/// The counts of the store, and the counters of this server.
[[nodiscard]] task<response> show_statistics(call& by);

}  // namespace foliot::program::http
