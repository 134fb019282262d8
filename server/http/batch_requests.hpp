// The requests for many jobs at once.
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

/// Puts the jobs of the array `jobs`, all in one batch of the broker where it has room. The response has one outcome
/// for each, in their order: a job that cannot be put keeps no other from being put.
[[nodiscard]] task<response> put_jobs(call& by);

}  // namespace foliot::program::http
