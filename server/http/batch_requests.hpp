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

/// Executes the entries of the array `jobs`: puts, and operations on jobs that are there. The response has one outcome
/// for each, in their order: one that fails keeps no other from being executed. Entries about the same job are executed
/// in their order. Of a batch with `atomic`, which has only puts, all are put or none.
[[nodiscard]] task<response> execute_batch(call& by);

}  // namespace foliot::program::http
