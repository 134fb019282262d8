// The requests about targets of tubes, to which the server delivers their jobs: make and change, look, end, enable and
// disable, try out, and look at the last deliveries. A target is named by its tube, in the path, or in the query of the
// paths that have no names. To deliver a job again by hand is a kick or a fire of the job.
//
// A change can expect a version: `If-Match` has the tag of a look, or `*` for any; `If-None-Match: *` makes a target
// only if there is none. All of them need the scope `administer`.
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

/// Makes a target, or changes its plan: the body is the plan.
[[nodiscard]] task<response> put_webhook(call& by);
[[nodiscard]] task<response> show_webhook(call& by);
[[nodiscard]] task<response> list_webhooks(call& by);
[[nodiscard]] task<response> delete_webhook(call& by);
[[nodiscard]] task<response> enable_webhook(call& by);
[[nodiscard]] task<response> disable_webhook(call& by);
/// Delivers a message of the server's own, and answers with what came of it.
[[nodiscard]] task<response> test_webhook(call& by);
/// The last deliveries of this node, the latest first.
[[nodiscard]] task<response> show_deliveries(call& by);

}  // namespace foliot::program::http
