// The requests of workers: reserve, and what the holder of a reservation does with it; kick, pause and clear.
//
// Any connection may use a reservation, by its token, until its TTR ends. Until the answer to a reserve
// has been sent it belongs to the connection: if the client goes away before that, its jobs are given back, and no
// failed try is counted.
//
// Each function answers one call, which must outlive the task, or throws: wrong_input for a request that is wrong, and
// what the broker throws.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "inputs.hpp"
#include "message.hpp"
#include "problem.hpp"

namespace foliot::program::http {

/// So many jobs does one request kick or cancel at most.
inline constexpr std::uint64_t most_changed = 10'000;

/// Reserves jobs; waits until there is one. The jobs belong to the client of the call until it parts with them, which
/// it must do when the response has been sent.
[[nodiscard]] task<response> reserve_jobs(call& by);
[[nodiscard]] task<response> finish_job(call& by);
[[nodiscard]] task<response> release_job(call& by);
[[nodiscard]] task<response> touch_job(call& by);
[[nodiscard]] task<response> bury_job(call& by);
[[nodiscard]] task<response> kick_tube(call& by);
[[nodiscard]] task<response> kick_one_job(call& by);
[[nodiscard]] task<response> pause_tube(call& by);
/// Cancels jobs of a tube, but none that a worker has.
[[nodiscard]] task<response> clear_tube(call& by);

/// What a request, or an entry of a batch, wants of the job or the tube that it names. The version that the job of a
/// kick must have is not among the values that these read.
[[nodiscard]] jobs::finish read_finish(inputs& in);
[[nodiscard]] jobs::release read_release(inputs& in);
[[nodiscard]] jobs::touch read_touch(inputs& in);
[[nodiscard]] jobs::bury read_bury(inputs& in);
[[nodiscard]] jobs::kick read_kick_of_tube(inputs& in);
[[nodiscard]] jobs::kick_job read_kick_of_job(inputs& in);
/// What is wrong, if a word of a holder, or a kick, was refused.
[[nodiscard]] std::optional<problem> problem_of(const jobs::holder_answer& done);
[[nodiscard]] std::optional<problem> problem_of(const jobs::bulk_answer& done);
/// What has happened, for the holder of a reservation, as the members of an object of JSON.
[[nodiscard]] std::string outcome_members(const jobs::holder_answer& done, std::string_view outcome);

/// A reservation token as clients show it: 17-5f3a9c0e11d2b847-2, the job's id, the opening of the store in hexadecimal
/// digits, and the attempt.
[[nodiscard]] std::string text_of(const jobs::reservation& token);
/// Nothing if the text is not exactly that of a token.
[[nodiscard]] std::optional<jobs::reservation> parse_reservation(std::string_view text);

}  // namespace foliot::program::http
