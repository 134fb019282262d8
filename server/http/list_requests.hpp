// The requests for lists of jobs: those of a tube or of all, in one state or in any, and the reserved ones.
//
// As look_requests.hpp says.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// A page of the jobs of a tube, or of all of them.
[[nodiscard]] task<response> list_jobs(call& by);
/// A page of the reserved jobs of a tube, or of all of them. It shows no reservation token, by which its reader could
/// end the job.
[[nodiscard]] task<response> list_reservations(call& by);

}  // namespace foliot::program::http
