// The requests about actions: changes of many jobs that a filter names. An action is counted first, then run by another
// request, which repeats the number; server/actions does the rest.
//
// All of them need the scope `change`, for a client that may not change jobs has no actions; an action that searches in
// bodies needs `look` besides, for its count tells what is in them. An action that does not exist for the rights of a
// request is answered as one that was never made.
//
// As look_requests.hpp says.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// Makes an action, which begins to count.
[[nodiscard]] task<response> make_action(call& by);
/// All actions of the client.
[[nodiscard]] task<response> list_actions(call& by);
[[nodiscard]] task<response> show_action(call& by);
/// Starts an action, with the number that it has counted.
[[nodiscard]] task<response> run_action(call& by);
[[nodiscard]] task<response> stop_action(call& by);
/// Forgets an action that neither counts nor runs.
[[nodiscard]] task<response> forget_action(call& by);

}  // namespace foliot::program::http
