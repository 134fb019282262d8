// The requests about single jobs: put, show, cancel, reschedule, fire now. A job is named by its id, or by its tube and
// its key.
//
// Each function answers one call, which must outlive the task, or throws: wrong_input for a request that is wrong, and
// what the broker throws.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// Puts a job. One with the key of another job changes nothing, unless the request says what shall happen.
[[nodiscard]] task<response> put_job(call& by);
/// The same, for a job with a key, which replaces the one that has it.
[[nodiscard]] task<response> put_or_replace_job(call& by);
[[nodiscard]] task<response> show_job(call& by);
[[nodiscard]] task<response> cancel_job(call& by);
[[nodiscard]] task<response> reschedule_job(call& by);
[[nodiscard]] task<response> fire_job(call& by);

/// The response to an operation that changes a job, with a word for what has happened if it is done.
[[nodiscard]] response respond_to_change(const jobs::change_answer& done, std::string_view outcome);
/// The name of the job that the call is about.
[[nodiscard]] jobs::job_name job_name_of(inputs& in);
/// The due time that a call asks for, as a time or as a delay; nothing if it asks for none.
[[nodiscard]] std::optional<jobs::due_at> due_of(inputs& in);
/// A tube that the call names, which clients of all protocols can name.
[[nodiscard]] std::string tube_of(inputs& in);
/// A job as JSON, with its body or without. `now`: the store's time, of the same clock as the job's times.
[[nodiscard]] ordered_json shown(const jobs::job& what, jobs::utc_time now, bool with_body);
/// The memory that a job as JSON takes, if its body is of this size: an escape of JSON has up to six bytes.
[[nodiscard]] constexpr std::size_t memory_of_shown(std::size_t body) noexcept { return 6 * body + 2048; }

}  // namespace foliot::program::http
