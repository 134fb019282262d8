#include "requests.hpp"

#include <string>
#include <string_view>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>

#include "problem.hpp"

namespace foliot::program::http {

task<response> tell_health(call& by) {
  by.in.expect_no_others();
  co_return respond_json(200, {{"status", "ok"}});
}

namespace {

/// Why the server cannot work, as it stands; empty: it can.
std::string_view what_is_missing(const api_state& state) {
  if (state.draining) return "the server drains: it takes no new jobs until its next start";
  if (!state.access.is_good()) return "the file of access tokens has a mistake: those of before are in force";
  const jobs::broker_counters counters = state.counters();
  if (counters.is_unavailable) return "the database does not answer";
  if (counters.lacks_room) return "there is no room for new jobs";
  if (state.policies != nullptr && state.policies->lacks_some())
    return "the policy of a tube cannot be read, so a part of it is not in force: the log names it";
  return {};
}

response respond_not_ready(std::string_view why, const authorized_client& to) {
  const bool may_know = to.allowed().has_all_tubes() && to.allowed().may(scope::look);
  return respond(problem{503, std::string(may_know ? why : "the server is not ready")});
}

}  // namespace

task<response> tell_readiness(call& by) {
  by.in.expect_no_others();
  bool may_answer = !by.state.counters().is_unavailable;
  if (may_answer) {
    // A job that is never there: a look of constant time, by which the store shows that it answers, and has room.
    try {
      auto looking = by.client.execute_for_server(jobs::peek{jobs::job_id{0}, false});
      const jobs::peek_answer seen = co_await looking;
      static_cast<void>(seen);
    } catch (const jobs::store_unavailable&) {
      may_answer = false;
    }
  }
  const std::string_view why = may_answer ? what_is_missing(by.state) : "the database does not answer";
  if (!why.empty()) co_return respond_not_ready(why, by.client);
  co_return respond_json(200, {{"status", "ready"}});
}

}  // namespace foliot::program::http
