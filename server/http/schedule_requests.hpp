// The requests about schedules: make and change, look, end, pause and resume, skip, run by hand, backfill. A schedule
// is named by its tube and its name, in the path, or in the query of the paths that have no names.
//
// A change can expect a version: `If-Match` has the tag of a look, or `*` for any; `If-None-Match: *` makes a schedule
// only if there is none. Each change of the plan gives another version.
//
// None takes an `Idempotency-Key`: a put, a pause, a resume and a delete that are repeated come to the same, and a skip
// that names its instant does; whether a run or a backfill has happened whose answer was lost is told by a look.
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

/// Makes a schedule, or changes its plan: the body is the plan.
[[nodiscard]] task<response> put_schedule(call& by);
/// What a plan means, and when it would make its next occurrences: the body is the plan. Stores nothing.
[[nodiscard]] task<response> preview_schedule(call& by);
/// All that is known of a schedule, and the next occurrences.
[[nodiscard]] task<response> show_schedule(call& by);
/// A page of the schedules of a tube, or of all tubes with a prefix.
[[nodiscard]] task<response> list_schedules(call& by);
/// Ends a schedule, and tells what has become of its occurrences.
[[nodiscard]] task<response> delete_schedule(call& by);
[[nodiscard]] task<response> pause_schedule(call& by);
[[nodiscard]] task<response> resume_schedule(call& by);
/// Leaves out exactly one occurrence.
[[nodiscard]] task<response> skip_occurrence(call& by);
/// Makes an occurrence by hand.
[[nodiscard]] task<response> run_schedule(call& by);
/// Makes the occurrences of a stretch of the past, or counts them.
[[nodiscard]] task<response> backfill_schedule(call& by);

}  // namespace foliot::program::http
