#include "list_requests.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

#include "inputs.hpp"
#include "job_requests.hpp"
#include "pages.hpp"
#include "problem.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program::http {

namespace {

jobs::list_jobs page_of(inputs& in) {
  jobs::list_jobs page;
  std::optional<std::string> tube = in.part_of_name("tube", jobs::longest_tube_name);
  std::optional<std::string> prefix = in.part_of_name("prefix", jobs::longest_tube_name);
  if (tube && prefix) in.refuse("prefix", "`tube` and `prefix` exclude each other");
  if (tube && tube->empty()) in.refuse("tube", "`tube` must not be empty: leave it out for all tubes");
  if (tube) page.tube = std::move(*tube);
  if (prefix) page.prefixes = {std::move(*prefix)};
  page.after = place_of(in);
  page.count = page_size(in);
  return page;
}

task<response> list_page(call& by, jobs::list_jobs page) {
  by.in.expect_no_others();
  const bool has_room = co_await by.side.take_room(page.count * memory_of_shown(0));
  if (!has_room) co_return respond_without_memory();
  auto listing = by.client.execute(std::move(page));
  const jobs::jobs_answer listed = co_await listing;
  ordered_json all = ordered_json::object();
  all["jobs"] = ordered_json::array();
  for (const jobs::listed_job& each : listed.jobs) {
    ordered_json one = shown(each.job, listed.now, false, each.version);
    if (!each.node.empty()) one["node"] = each.node;
    show_holder(one, by, each.job);
    all["jobs"].push_back(std::move(one));
  }
  if (listed.next) all["next"] = cursor_of(*listed.next);
  co_return respond_json(200, all);
}

}  // namespace

task<response> list_jobs(call& by) {
  using enum jobs::job_state;
  jobs::list_jobs page = page_of(by.in);
  constexpr std::array states{delayed, ready, reserved, buried};
  if (const auto asked = by.in.choice("state", {"delayed", "ready", "reserved", "buried"})) page.which = states[*asked];
  const bool needs_tube = page.which && *page.which != reserved;
  if (needs_tube && page.tube.empty()) {
    by.in.refuse("state",
                 "jobs of this state are listed for one `tube`, which is missing; /v1/due has what is due next");
  }
  return list_page(by, std::move(page));
}

task<response> list_reservations(call& by) {
  jobs::list_jobs page = page_of(by.in);
  page.which = jobs::job_state::reserved;
  return list_page(by, std::move(page));
}

}  // namespace foliot::program::http
