#include "primary.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>

namespace foliot::jobs::detail {

namespace {

/// How long one connection may take.
constexpr duration connect_patience = std::chrono::seconds(2);

/// The name of the file that the log is being written to begins with the timeline.
constexpr const char* look =
    "SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()";

primary_connection connect(const target::arguments& with, const target& to, const exchange_step& at_step) {
  const instant deadline = monotonic_clock::instance().now() + connect_patience;
  primary_connection made;
  made.over = std::make_unique<database_connection>(with.keywords(), with.values(), deadline, at_step);
  const reply found =
      made.over->execute_text("SET search_path = pg_catalog; " + std::string(no_time_limits) + look, deadline);
  made.server.database = to.to_string();
  made.server.cluster = found.bytes(0, 0);
  made.server.place = made.over->place();
  made.server.timeline = std::stoll(std::string(found.bytes(0, 1)), nullptr, 16);
  timelines::of_process().add(made.server);
  return made;
}

std::string why_refused(const reached_server& server) {
  return server.place + " is on timeline " + std::to_string(server.timeline) + ", but timeline " +
         std::to_string(timelines::of_process().highest(server)) + " was seen: another server has replaced it";
}

void tell_refusal(const reached_server& server, const std::function<void(std::string_view)>& warn) {
  if (!warn || !timelines::of_process().begins_refusal(server)) return;
  warn("the database " + why_refused(server) + ". It accepts writes, which would be lost: stop it");
}

primary_connection connect_to_newest(target& to, const exchange_step& at_step,
                                     const std::function<void(std::string_view)>& warn) {
  std::vector<std::pair<std::size_t, primary_connection>> all;  // with their hosts
  std::vector<std::string> reasons;
  const auto note = [&](const std::string& reason) {
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  };
  for (std::size_t host = 0; host < to.hosts(); ++host) {
    try {
      all.emplace_back(host, connect(to.only(host), to, at_step));
    } catch (const connect_failure& error) {
      for (const std::string& each : error.reasons()) note(each);
    } catch (const database_failure& error) {
      note(error.what());
    }
  }
  primary_connection newest;
  for (auto& [host, each] : all) {
    if (timelines::of_process().is_replaced(each.server)) {
      tell_refusal(each.server, warn);
      note(why_refused(each.server));
    } else if (newest.over == nullptr) {
      newest = std::move(each);
      to.go_on_behind(host);  // if this server is lost, another one is asked first
    }
  }
  if (newest.over == nullptr) throw connect_failure(std::move(reasons));
  return newest;
}

}  // namespace

primary_connection connect_to_primary(target& to, const exchange_step& at_step,
                                      const std::function<void(std::string_view)>& warn) {
  if (to.hosts() > 1 && !timelines::of_process().has(to.to_string())) return connect_to_newest(to, at_step, warn);
  primary_connection made = connect(to.next(), to, at_step);
  if (timelines::of_process().is_replaced(made.server)) {
    tell_refusal(made.server, warn);
    throw database_failure("", why_refused(made.server));
  }
  return made;
}

}  // namespace foliot::jobs::detail
