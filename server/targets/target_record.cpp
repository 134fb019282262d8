#include "target_record.hpp"

#include <algorithm>
#include <deque>
#include <expected>
#include <utility>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>

#include "server/access/server_tubes.hpp"
#include "server/http/json.hpp"

namespace foliot::program {

namespace {

constexpr std::uint64_t format_of_targets = 1;
/// So many records are read at once.
constexpr std::size_t most_read_together = 32;

std::int64_t record_milliseconds(jobs::utc_time time) noexcept { return time.time_since_epoch().count(); }

jobs::utc_time record_time(const http::json& of, std::string_view name) noexcept {
  const http::json* const found = of.find(name);
  if (found == nullptr || !found->is_number()) return {};
  return jobs::utc_time(jobs::milliseconds(static_cast<std::int64_t>(found->number())));
}

std::string record_text(const http::json& of, std::string_view name) {
  const http::json* const found = of.find(name);
  return found != nullptr && found->is_text() ? std::string(found->text()) : std::string();
}

bool record_flag(const http::json& of, std::string_view name, bool otherwise) noexcept {
  const http::json* const found = of.find(name);
  return found != nullptr && found->is_boolean() ? found->boolean() : otherwise;
}

void read_target_state(const http::json& from, target_state& into) {
  into.is_enabled = record_flag(from, "enabled", false);
  into.made = record_time(from, "made");
  into.since = record_time(from, "since");
  into.by = record_text(from, "by");
  into.why = record_text(from, "why");
}

template <class Executor>
task<std::vector<seen_target>> look_at_targets_by(Executor& by, const std::vector<seen_target>& known) {
  jobs::list_jobs all;
  all.tube = tube_of_targets;
  all.which = jobs::job_state::delayed;
  all.count = most_targets;
  std::vector<seen_target> seen;
  for (bool has_more = true; has_more;) {
    auto listing = by.execute(all);
    const jobs::jobs_answer listed = co_await listing;
    for (const jobs::listed_job& each : listed.jobs) seen.push_back({each.job.key, each.version, std::nullopt});
    has_more = listed.next.has_value();
    if (has_more) all.after = *listed.next;
  }
  std::ranges::sort(seen, {}, &seen_target::tube);
  std::vector<seen_target*> unread;
  for (seen_target& each : seen) {
    const auto before = std::ranges::lower_bound(known, each.tube, {}, &seen_target::tube);
    const bool is_known = before != known.end() && before->tube == each.tube && before->version == each.version;
    if (!is_known) unread.push_back(&each);
  }
  for (std::size_t begin = 0; begin < unread.size(); begin += most_read_together) {
    std::deque<jobs::in_flight<jobs::peek>> looks;
    const std::size_t end = std::min(begin + most_read_together, unread.size());
    for (std::size_t i = begin; i < end; ++i)
      looks.emplace_back(by, jobs::peek{jobs::job_key{std::string(tube_of_targets), unread[i]->tube}, true});
    for (std::size_t i = begin; i < end; ++i) {
      jobs::in_flight<jobs::peek>& one = looks[i - begin];
      const jobs::peek_answer found = co_await one;
      if (!found.job) continue;  // it was removed meanwhile: the next look tells
      unread[i]->version = found.version;
      unread[i]->record = target_record::in(*found.job, found.version);
    }
  }
  co_return seen;
}

}  // namespace

target_record target_record::in(const jobs::job& record, jobs::job_version version) {
  target_record read;
  read.tube = record.key;
  read.version = version;
  const auto document = http::parse_json(record.body);
  const http::json* const format = document && document->root().is_object() ? document->root().find("format") : nullptr;
  if (format == nullptr || !format->is_number()) {
    read.fault = "the record of the target is no JSON of foliot's: put the target again, or delete it";
    return read;
  }
  if (format->number() != format_of_targets) {
    read.fault = "a later version of the program has written the target";
    return read;
  }
  if (const http::json* const state = document->root().find("state")) read_target_state(*state, read.state);
  const http::json* const plan = document->root().find("target");
  auto made = plan == nullptr ? std::unexpected(target_fault{"", "it has no plan"}) : target_plan::read(*plan);
  if (made) {
    read.plan = *std::move(made);
  } else {
    read.fault = fmt::format("the record of the target cannot be followed: {}{}{}", made.error().pointer,
                             made.error().pointer.empty() ? "" : ": ", made.error().detail);
  }
  return read;
}

jobs::put put_of_target(std::string tube, const target_plan& plan, const target_state& state,
                        jobs::job_version expected) {
  http::ordered_json all = http::ordered_json::object();
  all["format"] = format_of_targets;
  all["target"] = plan.json();
  http::ordered_json& shown = all["state"] = http::ordered_json::object();
  shown["enabled"] = state.is_enabled;
  shown["made"] = record_milliseconds(state.made);
  shown["since"] = record_milliseconds(state.since);
  shown["by"] = state.by;
  shown["why"] = state.why;
  jobs::put record;
  record.tube = tube_of_targets;
  record.key = std::move(tube);
  record.body = http::json_text(all);
  record.due = jobs::latest_due();
  record.existing = expected == 0 ? jobs::on_existing::refuse : jobs::on_existing::replace;
  record.expected = expected;
  return record;
}

task<std::vector<seen_target>> look_at_targets(jobs::client& by, const std::vector<seen_target>& known) {
  return look_at_targets_by(by, known);
}

task<std::vector<seen_target>> look_at_targets(jobs::broker& by, const std::vector<seen_target>& known) {
  return look_at_targets_by(by, known);
}

}  // namespace foliot::program
