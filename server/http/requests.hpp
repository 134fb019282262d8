// The functions that answer requests and have nothing else for others: the table of routes in api.cpp names them. Those
// about single jobs, of workers and for events are in job_requests.hpp, work_requests.hpp and event_requests.hpp.
//
// Each function answers one call, which must outlive the task, or throws: wrong_input for a request that is wrong, and
// what the broker throws.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <string_view>

#include <foliot/runtime/task.hpp>

#include "call.hpp"
#include "message.hpp"

namespace foliot::program::http {

// Of people who look: tubes, lists of jobs, what is due next, why a job waits, statistics (look_requests.cpp).

/// Adds which process has answered, by a random number of its own, and which node, where several share a store. Behind
/// a balancer the next answer may be of another one, whose counters are others. Any task.
void add_process(ordered_json& to, const api_state& state);
/// A page of the tubes that have jobs, by name, with their counts.
[[nodiscard]] task<response> show_tubes(call& by);
[[nodiscard]] task<response> show_tube(call& by);
/// Why no worker has a job at present, or until when one has it.
[[nodiscard]] task<response> explain_job(call& by);
/// A page of the delayed jobs, the soonest first.
[[nodiscard]] task<response> show_due(call& by);
/// How many of the soonest delayed jobs are due in each piece of the next minute, hour and day. Reads a bounded number
/// of jobs.
[[nodiscard]] task<response> count_due(call& by);
/// What the request may do: the scopes and tubes of what it shows. It needs no scope.
[[nodiscard]] task<response> show_access(call& by);
/// The counts of the store, and the counters of this server.
[[nodiscard]] task<response> show_statistics(call& by);
/// A page of the jobs of a tube, or of all of them.
[[nodiscard]] task<response> list_jobs(call& by);
/// A page of the reserved jobs of a tube, or of all of them. It shows no reservation token, by which its reader could
/// end the job.
[[nodiscard]] task<response> list_reservations(call& by);

// For many jobs at once (batch_requests.cpp).

/// Executes the entries of the array `jobs`: puts, and operations on jobs that are there. The response has one outcome
/// for each, in their order: one that fails keeps no other from being executed. Entries about the same job are executed
/// in their order. Of a batch with `atomic`, which has only puts, all are put or none.
[[nodiscard]] task<response> execute_batch(call& by);

// About actions: changes of many jobs that a filter names (action_requests.cpp). An action is counted first, then run
// by another request, which repeats the number; server/actions does the rest.
//
// All of them need the scope `change`, for a client that may not change jobs has no actions; an action that searches in
// bodies needs `look` besides, for its count tells what is in them. An action that does not exist for the rights of a
// request is answered as one that was never made.

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

// Of load balancers and supervisors: does the server live, and can it work (health_requests.cpp)? They need no access
// token, and so they tell nothing else. Who may look at all tubes is told why the server cannot work.

/// 200 while the server answers requests at all. It does not ask the store: a server must not be started again because
/// its database is away.
[[nodiscard]] task<response> tell_health(call& by);
/// 200 if the store has just answered; 503 if the database does not answer, if there is no room for new jobs, if the
/// server drains, or if the file of access tokens has a mistake.
[[nodiscard]] task<response> tell_readiness(call& by);

// Of Prometheus (metrics_requests.cpp). It needs the scope `look`. Who may look at some tubes only gets what these
// have, and nothing of the server. A page costs the same whatever is stored: see tube_survey.hpp. While the store does
// not answer, the page has what the server itself knows.

/// A page of metrics in Prometheus' text format.
[[nodiscard]] task<response> show_metrics(call& by);

// For what the program itself has: the page that people look at, with its files (server/page), and the description of
// the interface in OpenAPI 3.1, for tools and generators of clients (page_requests.cpp). openapi.json has each row of
// the table of routes.

/// `/`
[[nodiscard]] task<response> show_page(call& by);
/// `/page/FILE`
[[nodiscard]] task<response> show_page_file(call& by);
/// The description.
[[nodiscard]] task<response> show_openapi(call& by);
/// Its text. Any task.
[[nodiscard]] std::string_view openapi_text() noexcept;

}  // namespace foliot::program::http
