#include "batch_requests.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/operations.hpp>

#include "failures.hpp"
#include "job_requests.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program::http {

namespace {

constexpr std::size_t most_jobs = 1000;
/// What an outcome takes, at the most: a problem with the name of a value.
constexpr std::size_t memory_of_outcome = 2048;

/// A put on its way through the broker.
struct running_put {
  template <class Client>
  running_put(Client& by, jobs::put what) : answer(by.execute(std::move(what))) {}

  jobs::in_flight<jobs::put> answer;
};

/// A job of the batch.
struct entry {
  std::optional<running_put> putting;
  std::optional<problem> wrong;  ///< why it was not put
};

/// The problem with a value in the body, for a body that has the values in its array of jobs.
problem within(problem what, std::size_t place) {
  if (what.place == where::nothing || what.place == where::body) {
    what.name = fmt::format("/jobs/{}{}", place, what.place == where::body ? what.name : "");
    what.place = where::body;
  }
  return what;
}

const json& jobs_of(inputs& in) {
  const json* const all = in.member("jobs");
  if (all == nullptr || !all->is_array() || all->empty() || all->size() > most_jobs) {
    in.refuse("jobs", fmt::format("`jobs` must be an array of 1 to {} jobs", most_jobs));
  }
  if (in.flag("atomic").value_or(false)) {
    in.refuse("atomic", "a batch that takes all or none is not supported: leave `atomic` out", 501);
  }
  in.expect_no_others();
  return *all;
}

void begin_put(call& by, const json& job, entry& into) {
  if (!job.is_object()) throw wrong_input(problem{400, "a job must be an object of JSON", where::body, ""});
  request none;  // the fields of the request are about no job
  const std::vector<parameter> no_query;
  inputs in({}, no_query, job, none);
  into.putting.emplace(by.client, read_put(by.state, in, none, false, jobs::on_existing::keep));
}

/// Waits for the put, if there is one.
task<> finish_put(entry& what, ordered_json& into) {
  if (what.wrong) co_return;
  jobs::in_flight<jobs::put>& putting = what.putting->answer;
  const jobs::put_answer done = co_await putting;
  const put_outcome outcome = outcome_of(done, false);
  if (outcome.is_refused()) {
    what.wrong = problem_of(outcome);
    co_return;
  }
  into["status"] = outcome.status;
  into["id"] = std::to_string(done.id);
  into["outcome"] = outcome.word;
}

}  // namespace

task<response> put_jobs(call& by) {
  const json& given = jobs_of(by.in);
  const bool has_room = co_await by.side.take_room(by.what.body.size() + given.size() * memory_of_outcome);
  if (!has_room) co_return respond(problem{503, "the server has no memory for the batch at present: try again"});
  std::deque<entry> entries(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    try {
      begin_put(by, given[i], entries[i]);
    } catch (const access_refused& error) {
      if (error.why() != access_refused::reason::no_tube) throw;  // no job of the batch may be put
      entries[i].wrong = within({403, error.what(), where::nothing, "", "no_tube"}, i);
    } catch (...) {
      entries[i].wrong = within(problem_of_exception(), i);
    }
  }
  bool all_done = true;
  ordered_json all;
  all["results"] = ordered_json::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ordered_json result;
    try {
      auto finishing = finish_put(entries[i], result);
      co_await finishing;
    } catch (...) {
      entries[i].wrong = within(problem_of_exception(), i);
    }
    if (entries[i].wrong) {
      all_done = false;
      result = value_of(*entries[i].wrong);
    }
    all["results"].push_back(std::move(result));
  }
  co_return respond_json(all_done ? 200 : 207, all);
}

}  // namespace foliot::program::http
