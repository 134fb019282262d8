// The requests of load balancers and supervisors: does the server live, and can it work? They need no access token, and
// so they tell nothing else. Who may look at all tubes is told why the server cannot work.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

/// 200 while the server answers requests at all. It does not ask the store: a server must not be started again because
/// its database is away.
[[nodiscard]] task<response> tell_health(call& by);
/// 200 if the store has just answered; 503 if the database does not answer, if there is no room for new jobs, if the
/// server drains, or if the file of access tokens has a mistake.
[[nodiscard]] task<response> tell_readiness(call& by);

}  // namespace foliot::program::http
