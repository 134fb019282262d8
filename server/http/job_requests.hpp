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
#include <utility>

#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"
#include "problem.hpp"

namespace foliot::program::http {

/// What clients are told of an operation on a job that was done: the `outcome` of its answer, alone or in a batch.
template <class Operation>
inline constexpr std::string_view word_when_done = {};  // of an operation that has another answer

template <>
inline constexpr std::string_view word_when_done<jobs::cancel> = "cancelled";
template <>
inline constexpr std::string_view word_when_done<jobs::reschedule> = "rescheduled";
template <>
inline constexpr std::string_view word_when_done<jobs::fire_now> = "ready";
template <>
inline constexpr std::string_view word_when_done<jobs::kick_job> = "ready";
template <>
inline constexpr std::string_view word_when_done<jobs::finish> = "finished";
template <>
inline constexpr std::string_view word_when_done<jobs::release> = "released";
template <>
inline constexpr std::string_view word_when_done<jobs::touch> = "touched";
template <>
inline constexpr std::string_view word_when_done<jobs::bury> = "buried";

/// Puts a job. One with the key of another job changes nothing, unless the request says what shall happen.
[[nodiscard]] task<response> put_job(call& by);
/// The same, for a job with a key, which replaces the one that has it.
[[nodiscard]] task<response> put_or_replace_job(call& by);
[[nodiscard]] task<response> show_job(call& by);
[[nodiscard]] task<response> cancel_job(call& by);
[[nodiscard]] task<response> reschedule_job(call& by);
[[nodiscard]] task<response> fire_job(call& by);

/// The job that a request, or an entry of a batch, wants to put. `from` is the request; if it is raw, its body is moved
/// into the job. `otherwise`: what happens where the key is taken, unless the request says so.
[[nodiscard]] jobs::put read_put(const api_state& state, inputs& in, request& from, bool is_raw,
                                 jobs::on_existing otherwise);

/// What has become of a job, as the members of an object of JSON. `outcome` is a word.
[[nodiscard]] std::string outcome_members(jobs::job_id id, std::string_view outcome);

/// What has become of a put, for clients.
struct put_outcome {
  int status;
  std::string_view word = {};                       ///< of one that was done
  problem_outcome refusal = problem_outcome::none;  ///< of one that was refused
  std::string_view detail = {};                     ///< the same: why nothing was put

  [[nodiscard]] bool is_refused() const noexcept { return refusal != problem_outcome::none; }
};
[[nodiscard]] put_outcome outcome_of(const jobs::put_answer& done, bool only_if_absent) noexcept;
/// Precondition: it is refused.
[[nodiscard]] problem problem_of(const put_outcome& refused);

/// The version that a change expects of its job, by If-Match, perhaps one that no job can have; 0: the request has no
/// such condition, or `*`. Throws wrong_input.
[[nodiscard]] jobs::job_version expected_version(const request& head);
/// What is wrong with a request about a job that is not there.
[[nodiscard]] problem problem_of_missing();
/// The response to a request about a job that is not there.
[[nodiscard]] response respond_to_missing();
/// What is wrong, if a change of a job was refused.
[[nodiscard]] std::optional<problem> problem_of(const jobs::change_answer& done);
/// The response to an operation that changes a job, with a word for what has happened if it is done.
[[nodiscard]] response respond_to_change(const jobs::change_answer& done, std::string_view outcome);
/// Changes a job, if it has the version that the request expects.
template <class Change>
[[nodiscard]] task<response> change_job(call& by, Change what) {
  what.expected = expected_version(by.what);
  auto changing = by.client.execute(std::move(what));
  const jobs::change_answer done = co_await changing;
  co_return respond_to_change(done, word_when_done<Change>);
}
/// The name of the job that the call is about.
[[nodiscard]] jobs::job_name job_name_of(inputs& in);
/// What a request, or an entry of a batch, wants of the job that it names. The version that the job must have is not
/// among the values that these read.
[[nodiscard]] jobs::cancel read_cancel(inputs& in);
[[nodiscard]] jobs::reschedule read_reschedule(inputs& in);
[[nodiscard]] jobs::fire_now read_fire(inputs& in);
/// The due time that a call asks for, as a time or as a delay; nothing if it asks for none.
[[nodiscard]] std::optional<jobs::due_at> due_of(inputs& in);
/// A tube that the call names, which clients of all protocols can name.
[[nodiscard]] std::string tube_of(inputs& in);
[[nodiscard]] std::string_view text_of(jobs::job_state state) noexcept;
/// A job as JSON, with its body or without, and with its version if that is known. `now`: the store's time, of the same
/// clock as the job's times.
[[nodiscard]] ordered_json shown(const jobs::job& what, jobs::utc_time now, bool with_body,
                                 jobs::job_version version = 0);
/// Adds what the fields and the history of a job tell: its group and expiry, its failed tries and deliveries.
void show_notes(ordered_json& to, const jobs::job& what);
/// Adds who has reserved a job, if it is reserved, if this server knows that, and if the client of the call may see it.
void show_holder(ordered_json& to, const call& by, const jobs::job& what);
/// The memory that a job as JSON takes, if its body is of this size: an escape of JSON has up to six bytes.
[[nodiscard]] constexpr std::size_t memory_of_shown(std::size_t body) noexcept { return 6 * body + 2048; }

}  // namespace foliot::program::http
