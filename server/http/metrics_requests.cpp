#include "requests.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <foliot/jobs/job_store.hpp>

#include "problem.hpp"
#include "server/access/authorized_client.hpp"
#include "server/metrics/exposition.hpp"
#include "server/metrics/schedule_survey.hpp"
#include "server/metrics/server_metrics.hpp"
#include "server/metrics/tube_survey.hpp"

namespace foliot::program::http {

namespace {

/// What the page and the survey take at the most besides the series of tubes, of which the counts of 5,000 tubes with
/// names of up to 200 bytes are most; and for each tube with series: six of them, and what the survey has read of it.
constexpr std::size_t memory_of_page = std::size_t{4} << 20;
constexpr std::size_t memory_of_tube = 4096;

task<std::optional<surveyed>> survey(call& by) {
  by.client.check_scope(scope::look);
  if (by.state.counters().is_unavailable) co_return std::nullopt;
  try {
    auto looking = by.state.survey.look(by.client, by.state.has_other_nodes());
    surveyed seen = co_await looking;
    co_return std::optional<surveyed>(std::move(seen));
  } catch (const jobs::store_unavailable&) {
    co_return std::nullopt;
  }
}

task<std::optional<surveyed_schedules>> survey_schedules(call& by) {
  if (by.state.counters().is_unavailable) co_return std::nullopt;
  try {
    auto looking = by.state.schedules.look(by.client, by.state.has_other_nodes());
    const surveyed_schedules seen = co_await looking;
    co_return std::optional<surveyed_schedules>(seen);
  } catch (const jobs::store_unavailable&) {
    co_return std::nullopt;
  }
}

}  // namespace

task<response> show_metrics(call& by) {
  by.in.expect_no_others();
  by.client.check_scope(scope::look);
  const std::size_t bytes = memory_of_page + by.state.survey.choice().shown * memory_of_tube;
  const bool has_room = co_await by.side.take_room(bytes);
  if (!has_room) co_return respond_without_memory();
  auto surveying = survey(by);
  const std::optional<surveyed> seen = co_await surveying;
  exposition page;
  append_jobs(page, seen);
  if (by.client.allowed().has_all_tubes()) {
    auto looking = survey_schedules(by);
    const std::optional<surveyed_schedules> of_schedules = co_await looking;
    append_schedules(page, of_schedules, by.state.sources.schedules);
    server_status now;
    now.counters = by.state.counters();
    now.flow = by.state.flow();
    now.is_draining = by.state.draining.load(seam::relaxed);
    if (by.state.access.has_tokens()) now.tokens_are_good = by.state.access.is_good();
    append_server(page, now, by.state.sources);
    if (by.state.deliveries != nullptr) append_webhooks(page, by.state.deliveries->figures());
    append_process(page);
  }
  response made{200, std::string(exposition::media_type)};
  made.body = page.take();
  co_return made;
}

}  // namespace foliot::program::http
