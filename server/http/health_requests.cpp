#include "health_requests.hpp"

#include <foliot/jobs/operations.hpp>

#include "problem.hpp"

namespace foliot::program::http {

task<response> tell_health(call& by) {
  by.in.expect_no_others();
  co_return respond_json(200, {{"status", "ok"}});
}

task<response> tell_readiness(call& by) {
  by.in.expect_no_others();
  if (by.state.draining)
    co_return respond(problem{503, "the server drains: it takes no new jobs until its next start"});
  if (!by.state.access.is_good()) {
    co_return respond(problem{503, "the file of access tokens has a mistake: those of before are in force"});
  }
  if (by.state.counters().is_unavailable) co_return respond(problem{503, "the database does not answer"});
  // A job that is never there: a look of constant time, by which the store shows that it answers.
  auto looking = by.client.execute_for_server(jobs::peek{jobs::job_id{0}, false});
  const jobs::peek_answer seen = co_await looking;
  static_cast<void>(seen);
  co_return respond_json(200, {{"status", "ready"}});
}

}  // namespace foliot::program::http
