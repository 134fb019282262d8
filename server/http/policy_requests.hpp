// The requests about policies of tubes: make and change, look, remove. A policy is named by its tube, in the path, or
// in the query of the path that has no name.
//
// A change can expect a version: `If-Match` has the tag of a look, or `*` for any; `If-None-Match: *` makes a policy
// only if there is none. Each change gives another version.
//
// None takes an `Idempotency-Key`: a put or a delete that is repeated comes to the same.
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

/// Makes the policy of a tube, or replaces it: the body is the policy.
[[nodiscard]] task<response> put_policy(call& by);
[[nodiscard]] task<response> show_policy(call& by);
/// A page of the policies of all tubes, or of those with a prefix.
[[nodiscard]] task<response> list_policies(call& by);
[[nodiscard]] task<response> delete_policy(call& by);

}  // namespace foliot::program::http
